/** The built program as people and scripts call it: in a pipe, and in a terminal of some size. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CallOptions {
  env?: Record<string, string>;
  /** What is in standard input; without it there is none. */
  input?: string;
  cwd?: string;
}

const environment = (env: Record<string, string> = {}) => ({ PATH: process.env.PATH ?? '', ...env });

export class Running {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Outcome>;

  constructor(readonly child: ChildProcess) {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(child, 'close').then(([code]) => ({
      ...{ code: code as number | null, stdout: this.stdout, stderr: this.stderr },
    }));
  }
}

/** Begins a call whose output goes into pipes. */
export function begin(args: string[], { env, input, cwd = tmpdir() }: CallOptions = {}): Running {
  // A shell gives a command a pipe; spawn would give it a socket.
  const command = input === undefined ? 'exec "$@"' : 'printf %s "$INPUT" | "$@"';
  const child = spawn('sh', ['-c', command, 'sh', process.execPath, MAIN, ...args], {
    ...{ cwd, env: environment({ ...env, ...(input !== undefined && { INPUT: input }) }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Running(child);
}

export const call = (args: string[], options?: CallOptions): Promise<Outcome> => begin(args, options).ended;

/** Whether this machine can give a program a terminal. */
export const hasTerminal = (): boolean => spawnSync('script', ['--version']).status === 0;

export interface TerminalOptions {
  env?: Record<string, string>;
  cwd?: string;
  columns?: number;
  /** What is typed; the program reads it when it asks. */
  typed?: string;
}

/** Begins a call in a terminal: everything it writes is in `stdout`. */
export const beginInTerminal = (args: string[], options?: TerminalOptions): Running =>
  beginProgramInTerminal([process.execPath, MAIN, ...args], options);

export function beginProgramInTerminal(
  program: string[],
  { env, cwd = tmpdir(), columns = 80, typed }: TerminalOptions = {},
): Running {
  const quoted = program.map((each) => `'${each.replaceAll("'", `'\\''`)}'`).join(' ');
  const command = `stty cols ${columns} rows 24; exec ${quoted}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    ...{
      cwd,
      env: environment({ TERM: 'xterm', SHELL: '/bin/sh', ...env }),
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  });
  if (typed !== undefined) child.stdin!.write(typed);
  return new Running(child);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes begin with one
export const withoutEscapes = (text: string): string => text.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
