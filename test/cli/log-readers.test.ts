/** Whoever reads the log may stop reading it: a collector that hangs, a pager, a terminal that is paused. The service goes on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { freePort, plainEnvironment, temporaryFolder } from '../recovery/service.js';
import { hasTerminal, MAIN } from './shell.js';

const LOGS = fileURLToPath(new URL('../../dist/cli/logs.js', import.meta.url));
const WITHIN = { timeout: 90_000 };
/** With a line of two thousand characters for each, more than any pipe, socket or terminal holds. */
const CALLS = 300;
/** So much is also more than the service keeps. */
const MANY_CALLS = 1_000;

let data: ReturnType<typeof temporaryFolder>;
let port: number;
let program: ChildProcess;
beforeEach(async () => {
  data = temporaryFolder();
  port = await freePort();
});
afterEach(async () => {
  if (program.exitCode === null && program.signalCode === null) {
    const { pid } = program;
    process.kill(-pid!, 'SIGKILL');
    await once(program, 'exit');
  }
  data.remove();
});

/** In a group of its own, so that all of it can be ended. */
function serve(wrap: (command: string[]) => string[]): void {
  const flags = ['serve', '--data', data.path, '--port', String(port), '--log-level', 'debug'];
  const [file, ...args] = wrap([process.execPath, MAIN, ...flags]);
  const env = { ...plainEnvironment(), TERM: 'xterm', SHELL: '/bin/sh' };
  program = spawn(file!, args, { cwd: tmpdir(), env, stdio: 'pipe', detached: true });
  program.stderr!.resume();
}

const call = async (path: string) => {
  const signal = AbortSignal.timeout(5_000);
  return (await fetch(`http://127.0.0.1:${port}${path}`, { signal })).status;
};
const answers = () => expect.poll(() => call('/health').catch(() => 0), { timeout: 30_000 }).toBe(200);

async function sayMuch(calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) await call(`/${'x'.repeat(1_900)}`);
}

it('answers and ends while nobody reads its log', WITHIN, async () => {
  serve((command) => command);
  await answers();
  await sayMuch(CALLS);
  expect(await call('/health')).toBe(200);
  program.kill('SIGTERM');
  const [code] = (await once(program, 'exit')) as [number];
  expect(code).toBe(0);
});

it('does so in a pipe, and goes on with its log when that is read again', WITHIN, async () => {
  const readsWhenTold = 'exec 3<&0; "$@" < /dev/null 3<&- | { read -r go <&3; cat; }';
  serve((command) => ['sh', '-c', readsWhenTold, 'sh', ...command]);
  let log = '';
  program.stdout!.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await answers();
  await sayMuch(MANY_CALLS);
  expect(log).toBe('');
  program.stdin!.write('go\n');
  await expect.poll(() => log, { timeout: 20_000 }).toMatch(/"lines":\d+,"msg":"lines of the log were lost/);
  expect(await call('/afterwards')).toBe(404);
  await expect.poll(() => log).toContain('/afterwards');
  for (const line of log.trimEnd().split('\n')) JSON.parse(line);
});

it(
  'does so when a program that shares the pipe has ended, after which writes to it wait again',
  WITHIN,
  async () => {
    const over = `${data.path}-over`;
    const other = `"$0" -e 'process.stdout; setTimeout(() => {}, 500)'; : > ${over}`;
    serve((command) => [
      'sh',
      '-c',
      `{ { ${other}; } & exec "$@"; } | sleep 60`,
      process.execPath,
      ...command,
    ]);
    await answers();
    await expect.poll(() => existsSync(over), { timeout: 20_000 }).toBe(true);
    rmSync(over);
    await sayMuch(CALLS);
    expect(await call('/health')).toBe(200);
  },
);

const LEVELS = ['info', 'error'];
it.each(LEVELS)('tells at the end of the program what was lost of level %s', WITHIN, async (level) => {
  const args = ['--input-type=module', '-e', TALKS_AND_ENDS, LOGS, level];
  program = spawn(process.execPath, args, { stdio: 'pipe' });
  let log = '';
  // Somebody who is slow, and not gone.
  program.stderr!.once('data', () =>
    program.stdout!.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    }),
  );
  await once(program, 'close');
  expect(log.trimEnd().split('\n').at(-1)).toMatch(/"lines":\d+,"msg":"lines of the log were lost/);
});

const TALKS_AND_ENDS = `
  const { jsonLog } = await import(process.argv[1]);
  const level = process.argv[2];
  const log = jsonLog(level);
  for (let line = 0; line < 20_000; line++) log[level]({ line }, 'more than is kept');
  (await import('node:fs')).writeSync(2, 'said');
  process.exit(0);
`;

it('does so in a terminal that is paused', WITHIN, async (context) => {
  if (!hasTerminal()) context.skip('there is no `script` on this machine, which gives a program a terminal');
  serve((command) => ['script', '--quiet', '--command', command.join(' '), '/dev/null']);
  await answers();
  await sayMuch(CALLS);
  expect(await call('/health')).toBe(200);
});
