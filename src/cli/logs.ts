/** Logs: JSON lines for machines that collect them, and short coloured lines for a person at a terminal. */
import { pino } from 'pino';
import type { Log } from '../core/log.js';
import { err as colors } from './colours.js';
import { LogOutput } from './log-output.js';
import { type Look, sentenceOf } from './sentences.js';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** No line names these on purpose. Should one do so by mistake, the values stay out all the same. */
const SECRETS = [
  'authorization',
  'cookie',
  'token',
  'ticket',
  'password',
  'apiKey',
  'clientKey',
  'payload',
  'input',
  'output',
  'result',
];

const LOST_LINES = 'lines of the log were lost: for a while nobody read it, or it could not be written';

export function jsonLog(level: LogLevel): Log {
  const log: Log = pino(
    {
      level,
      base: { pid: process.pid },
      redact: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
    },
    // Where only errors are logged, errors are what was lost.
    new LogOutput(process.stdout, (lines) =>
      log[level === 'error' ? 'error' : 'warn']({ lines }, LOST_LINES),
    ),
  );
  return log;
}

export function prettyLog(look: Look = () => undefined): Log {
  const output = new LogOutput(process.stderr, (lines) => log.warn({ lines }, LOST_LINES));
  const write = (mark: string) => (fields: object, message: string) => {
    const time = colors.dim(new Date().toTimeString().slice(0, 8));
    const sentence = sentenceOf(message, fields, look);
    const hint = sentence?.hint === undefined ? '' : ` ${colors.dim(`· ${sentence.hint}`)}`;
    const text = sentence ? `${sentence.text}${hint}` : `${message}${describeFields(fields)}`;
    output.write(`${time} ${mark} ${text}\n`);
  };
  const log: Log = {
    debug() {},
    info: write(colors.green('•')),
    warn: write(colors.yellow('!')),
    error: write(colors.red('✗')),
  };
  return log;
}

function describeFields(fields: object): string {
  const parts: string[] = [];
  let stack = '';
  for (const [key, value] of Object.entries(fields)) {
    if (value instanceof Error) {
      parts.push(`${key}=${JSON.stringify(value.message)}`);
      stack = `\n${colors.dim(value.stack ?? '')}`;
    } else if (value !== undefined) {
      // JSON escapes what could move a terminal's cursor or forge a line.
      parts.push(`${key}=${JSON.stringify(value)}`);
    }
  }
  return (parts.length > 0 ? ` ${colors.dim(parts.join(' '))}` : '') + stack;
}
