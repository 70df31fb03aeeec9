/** What the program does with the streams that it is given: sockets, pipes that nobody reads, terminals that can do little. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { type Answerer, ScriptedServer } from '../../src/client/scripted-server.fixture.js';
import { freePort } from '../recovery/service.js';
import { takeOneIn } from '../share.js';
import { beginInTerminal, call, hasTerminal, MAIN, Running } from './shell.js';

takeOneIn(2);

const RUN = '01900000-0000-7000-8000-000000000001';
const EVIL = 'a\u001b[2J\u001b]0;gone\u0007\u009b31m\u202eb';
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through
const RAW = /\u001b\[2J|\u001b\]|\u0007|\u009b|\u202e/;

const started = '2026-01-01T00:00:00.000Z';
const entry = (workflowId: string) => ({
  ...{ workflowId, runId: RUN, workflowType: EVIL, catalog: 'default', status: 'running' },
  ...{ startedAt: started, completedAt: null, historyLength: 1, summary: EVIL },
});
const event = (eventId: number, eventTypeName: string, key: string, attributes: object) => ({
  ...{ eventId: String(eventId), eventTypeName, eventTime: started, [`${key}EventAttributes`]: attributes },
});
const events = [
  event(1, 'ACTIVITY_TASK_SCHEDULED', 'activityTaskScheduled', { stepName: EVIL }),
  event(2, 'ACTIVITY_TASK_FAILED', 'activityTaskFailed', {
    scheduledEventId: '1',
    failure: { type: EVIL, message: EVIL },
  }),
  event(3, 'WORKFLOW_EXECUTION_SIGNALED', 'workflowExecutionSignaled', { signalName: EVIL }),
  event(4, 'WORKFLOW_EXECUTION_FAILED', 'workflowExecutionFailed', {}),
];

const BODIES: [target: RegExp, body: unknown][] = [
  [
    /^\/workflow\/runs/,
    { runs: Array.from({ length: 5_000 }, (_, n) => entry(`${EVIL}-${n}`)), nextCursor: null },
  ],
  [/^\/workflow\/catalog/, { catalog: EVIL, workflows: [{ ...schemas(), name: 'echo', description: EVIL }] }],
  [/\/start$/, { workflowId: EVIL, runId: RUN }],
  [/\/status/, { ...entry(EVIL), startedAt: 0, paused: { reason: EVIL, by: 'operator', since: started } }],
  [
    /\/why/,
    { ...entry(EVIL), since: null, isStuck: true, reasons: [{ code: 'timer', message: EVIL, action: EVIL }] },
  ],
  [/\/history/, { runId: RUN, events, nextPageToken: null }],
  [
    /\/result/,
    {
      v: '2',
      workflowId: EVIL,
      runId: RUN,
      status: 'failed',
      output: null,
      error: { name: EVIL, message: EVIL },
    },
  ],
];

function schemas() {
  return { aliases: [], inputSchema: null, signals: [], queries: [], updates: [] };
}

const answer: Answerer = (response, { target }) => {
  response.setHeader('x-request-id', '1');
  if (target.includes('/stream')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`id: ${RUN}/4\nevent: history\ndata: ${JSON.stringify(events)}\n\n`);
    return;
  }
  const [, body] = BODIES.find(([pattern]) => pattern.test(target)) ?? [];
  response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? { error: 'NotFoundError', message: `${EVIL} ${target}` }));
};

let server: ScriptedServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = (await new ScriptedServer().listen()).script(answer);
  env = { PERDURE_SERVER: server.url, PATH: process.env.PATH ?? '' };
});
afterAll(() => server.close());

const perdure = (args: string[], more: Record<string, string> = {}) =>
  call(args, { env: { ...env, ...more } });

function inTerminal(context: TestContext, args: string[], more: Record<string, string> = {}) {
  if (!hasTerminal()) context.skip('there is no `script` on this machine, which gives a program a terminal');
  return beginInTerminal(args, { env: { ...env, ...more } }).ended;
}

describe('standard input', () => {
  /** As programs start others: Node gives a socket, not a pipe. */
  const fromProgram = (args: string[]) =>
    new Running(spawn(process.execPath, [MAIN, ...args], { cwd: tmpdir(), env, stdio: 'pipe' }));
  const lastInput = () => server.received.findLast(({ target }) => target.endsWith('/start'))?.body;

  it('may be a socket', async () => {
    const running = fromProgram(['start', 'echo']);
    running.child.stdin!.end('{"from":"a socket"}');
    expect((await running.ended).code).toBe(0);
    expect(lastInput()).toMatchObject({ input: { from: 'a socket' } });
  });

  it('may be a socket with nothing in it', async () => {
    const running = fromProgram(['start', 'echo']);
    running.child.stdin!.end();
    expect((await running.ended).code).toBe(0);
    expect(lastInput()).toMatchObject({ input: null });
  });

  it('is not waited for without a word, nor where the input was given', async () => {
    const given = fromProgram(['start', 'echo', '1']);
    expect((await given.ended).code).toBe(0);
    const waits = fromProgram(['start', 'echo']);
    waits.child.stdin!.write('2');
    await expect
      .poll(() => waits.stderr, { timeout: 20_000 })
      .toMatch(/waiting for the end of standard input/);
    waits.child.stdin!.end('3');
    expect((await waits.ended).code).toBe(0);
    expect(lastInput()).toMatchObject({ input: 23 });
  });

  it('is not waited for where a program has left it open and says nothing', async () => {
    const { code, stderr } = await fromProgram(['start', 'echo']).ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/nothing came on standard input/);
    expect(lastInput()).toMatchObject({ input: null });
  });
});

describe('an output that nobody reads', () => {
  const unread = async (args: string[], which: 'stdout' | 'stderr') => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: tmpdir(),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const running = new Running(child);
    child[which]!.destroy();
    await once(child, 'exit');
    return { ...(await running.ended), signal: child.signalCode };
  };

  it.each([
    [['list']],
    [['list', '--json']],
    [['history', 'x', '--payloads']],
    [['history', 'x', '--follow']],
    [['catalog']],
    [['doctor']],
  ])('ends %j quietly', async (args) => {
    const { code, stderr } = await unread(args, 'stdout');
    expect([code, stderr]).toEqual([0, '']);
  });

  it('does not make a success of a failure', async () => {
    expect(await unread(['run', 'echo', '1', '--json'], 'stdout')).toMatchObject({ code: 1 });
  });

  it('does no harm to the other one', async () => {
    expect(await unread(['run', 'echo', '1', '--json'], 'stderr')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^\{"v":"2".*\}\n$/),
    });
    expect(await unread(['status', 'x'], 'stderr')).toMatchObject({ code: 0, signal: null });
  });
});

describe('a log that cannot be written', () => {
  it('does not end the service', { timeout: 60_000 }, async (context) => {
    if (!existsSync('/dev/full'))
      context.skip('there is no /dev/full on this machine, which is as a full disk');
    const data = mkdtempSync(join(tmpdir(), 'perdure-full-'));
    const port = await freePort();
    const command = 'exec "$@" > /dev/full';
    const args = [MAIN, 'serve', '--data', data, '--port', String(port)];
    const child = spawn('sh', ['-c', command, 'sh', process.execPath, ...args], { env, stdio: 'pipe' });
    const { ended } = new Running(child);
    try {
      const health = () => fetch(`http://127.0.0.1:${port}/health`).then(({ status }) => status);
      await expect.poll(health, { timeout: 50_000 }).toBe(200);
    } finally {
      child.kill('SIGTERM');
      expect(await ended).toMatchObject({ code: 0, stderr: '' });
      rmSync(data, { recursive: true, force: true });
    }
  });
});

describe('what others wrote', () => {
  it.for([
    ['list', '--limit', '5', '--why'],
    ['catalog'],
    ['catalog', 'echo'],
    ['status', 'x'],
    ['why', 'x'],
    ['history', 'x'],
    ['history', 'x', '--payloads'],
    ['history', 'x', '--follow', '--json'],
    ['start', 'echo', '1'],
    ['run', 'echo', '1'],
    ['run', 'echo', '1', '--json'],
    ['watch', 'x'],
    ['result', 'x'],
    ['signal', 'x', 'go', '1'],
  ])('moves no cursor of the terminal: %j', async (args, context) => {
    const { stdout } = await inTerminal(context, args);
    expect(stdout.length).toBeGreaterThan(0);
    // What is drawn over moves the cursor by itself, from the line's beginning.
    expect(stdout.replaceAll('\r\u001b[J', '')).not.toMatch(RAW);
  });

  it('reaches programs as it is', async () => {
    const { stdout } = await perdure(['list', '--json']);
    expect(JSON.parse(stdout).runs[0].workflowId).toBe(`${EVIL}-0`);
    expect((await perdure(['start', 'echo', '1'])).stdout).toBe(`${EVIL}\n`);
  });
});

describe('colours', () => {
  const ESCAPE = '\u001b[';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes begin with one
  const withoutColours = (text: string) => text.replaceAll(/\u001b\[\d+m/g, '');
  it('are not in a pipe, not even where CI is set', async () => {
    const { stdout, stderr } = await perdure(['run', 'echo', '1'], { CI: 'true' });
    expect(stdout + stderr).not.toContain(ESCAPE);
    expect((await perdure(['list'], { CI: 'true' })).stdout).not.toContain(ESCAPE);
  });

  it('are in a pipe where they are forced, and move nothing', async () => {
    const { stderr } = await perdure(['run', 'echo', '1'], { FORCE_COLOR: '1' });
    expect(stderr).toContain(`${ESCAPE}31m`);
    expect(withoutColours(stderr)).not.toContain(ESCAPE);
  });

  it('are not in a terminal that can do nothing, where changes are lines', async (context) => {
    const { stdout } = await inTerminal(context, ['run', 'echo', '1'], { TERM: 'dumb' });
    expect(stdout).not.toContain(ESCAPE);
    expect(stdout).toMatch(/step .* started\r?\n.*step .* failed/);
  });

  it('are not there with NO_COLOR, and the run is drawn all the same', async (context) => {
    const { stdout } = await inTerminal(context, ['run', 'echo', '1'], { NO_COLOR: '1' });
    expect(withoutColours(stdout)).toBe(stdout);
    expect(stdout).toContain(`${ESCAPE}J`);
  });

  it('go by the output that they are on', async (context) => {
    if (!hasTerminal())
      context.skip('there is no `script` on this machine, which gives a program a terminal');
    const { beginProgramInTerminal } = await import('./shell.js');
    const program = [
      'sh',
      '-c',
      '"$@" 2>&1 >/dev/tty | cat',
      'sh',
      process.execPath,
      MAIN,
      'run',
      'echo',
      '1',
    ];
    const { stdout } = await beginProgramInTerminal(program, { env }).ended;
    expect(stdout).not.toContain(ESCAPE);
  });
});
