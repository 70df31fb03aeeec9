/** Logs: JSON lines for machines that collect them, and short coloured lines for a person at a terminal. */
import pc from 'picocolors';
import { pino } from 'pino';
import type { Log } from '../core/log.js';

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

export function jsonLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      redact: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
    },
    // Synchronous, so that the last words of a process that ends are not lost.
    pino.destination({ dest: 1, sync: true }),
  );
}

export function prettyLog(): Log {
  const write = (mark: string) => (fields: object, message: string) => {
    const time = pc.dim(new Date().toTimeString().slice(0, 8));
    console.error(`${time} ${mark} ${message}${describeFields(fields)}`);
  };
  return {
    debug() {},
    info: write(pc.green('•')),
    warn: write(pc.yellow('!')),
    error: write(pc.red('✗')),
  };
}

function describeFields(fields: object): string {
  const parts: string[] = [];
  let stack = '';
  for (const [key, value] of Object.entries(fields)) {
    if (value instanceof Error) {
      parts.push(`${key}=${JSON.stringify(value.message)}`);
      stack = `\n${pc.dim(value.stack ?? '')}`;
    } else if (value !== undefined) {
      // JSON escapes what could move a terminal's cursor or forge a line.
      parts.push(`${key}=${JSON.stringify(value)}`);
    }
  }
  return (parts.length > 0 ? ` ${pc.dim(parts.join(' '))}` : '') + stack;
}
