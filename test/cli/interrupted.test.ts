/** Every command that waits, ended by Ctrl-C, by a signal or with its terminal: what it says, what it leaves, and that it ends. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type TestContext } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { type Answerer, json, ScriptedServer, silence } from '../../src/client/scripted-server.fixture.js';
import { isAlive } from '../is-alive.js';
import { takeOneIn } from '../share.js';
import { begin, beginProgramInTerminal, hasTerminal, MAIN, type Running, withoutEscapes } from './shell.js';

takeOneIn(3);

const RUN = '01900000-0000-7000-8000-000000000001';
const WITHIN = { timeout: 60_000 };
const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

const status = {
  ...{ workflowId: 'w', runId: RUN, workflowType: 'adds', catalog: 'default', status: 'running' },
  ...{ startedAt: 0, completedAt: null, historyLength: 1 },
};
const OURS = { 'x-request-id': '1' };

/** Answers what comes first, and then the one call that is waited for is not answered any more. */
const answer: Answerer = (response, received) => {
  const { target } = received;
  const ok = (body: object) => json(200, body, OURS)(response, received);
  if (target.endsWith('/status')) return ok(status);
  if (target.startsWith('/workflow/catalog'))
    return ok({ catalog: 'default', workflows: [{ name: 'adds', aliases: [], inputSchema: null }] });
  if (target === '/workflow/start' && (received.body as { workflowId?: string }).workflowId !== 'unanswered')
    return ok({ workflowId: 'w', runId: RUN });
  if (target.startsWith('/workflow/first/')) return ok({ workflowId: 'first', runId: RUN, terminated: true });
  if (target.startsWith('/workflow/runs'))
    return ok({ runs: [{ ...status, startedAt: '2026-01-01T00:00:00.000Z' }], nextCursor: null });
  if (target === '/backup') {
    response.writeHead(200, { ...OURS, 'content-length': '1000' }).write('the beginning');
    return;
  }
  if (target.endsWith('/stream') || target.includes('/stream?')) {
    response.writeHead(200, { ...OURS, 'content-type': 'text/event-stream' });
    response.write('event: workflow\ndata: {}\n\n');
    return;
  }
  return silence(response, received);
};

const GOES_ON = /^perdure: interrupted; w goes on\. `perdure (watch|result|history --follow) w` .* again$/m;

/** The call that it waits in, and what it says when it is ended. */
const COMMANDS: [args: string[], waitsIn: RegExp, says: RegExp][] = [
  [['run', 'adds', '1'], /\/stream/, GOES_ON],
  [['watch', 'w'], /\/stream/, GOES_ON],
  [['result', 'w'], /\/result/, GOES_ON],
  [['history', 'w', '--follow'], /\/stream/, GOES_ON],
  [
    ['start', 'adds', '1', '--id', 'unanswered'],
    /\/start$/,
    /^perdure: interrupted while adds was started: it may be running, look with `perdure status unanswered`/m,
  ],
  [['query', 'w', 'got', '--no-check'], /\/query\//, /^perdure: interrupted$/m],
  [
    ['update', 'w', 'push', '1', '--no-check'],
    /\/update\//,
    /^perdure: interrupted; the update may have been taken: look with `perdure history w` before/m,
  ],
  [
    ['signal', 'w', 'go', '1', '--no-check'],
    /\/signal\//,
    /^perdure: interrupted; the signal may have been taken: look with `perdure history w` before/m,
  ],
  [
    ['terminate', 'first', 'second', 'third'],
    /\/second\/.*terminate/,
    /^perdure: interrupted; 1 of 3 terminated, second may be, and those after it are as they were$/m,
  ],
  [['backup', 'file.db'], /\/backup/, /^perdure: interrupted; there is no backup$/m],
];

let server: ScriptedServer;
let folder: string;
beforeAll(async () => {
  server = (await new ScriptedServer().listen()).script(answer);
});
afterAll(() => server.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-interrupted-'));
  server.received.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const env = () => ({ PERDURE_SERVER: server.url });

/** A status of `second` is asked for before it is terminated. */
const isIn = (pattern: RegExp) => () => server.received.some(({ target }) => pattern.test(target));

async function hasBegun(args: string[], waitsIn: RegExp): Promise<void> {
  await expect.poll(isIn(waitsIn), WITHIN).toBe(true);
  // What is written is there under a name of its own, until it is complete.
  if (args[0] === 'backup') await expect.poll(() => readdirSync(folder), WITHIN).toHaveLength(1);
}

describe.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s', (signal, code) => {
  it.each(COMMANDS)(`ends %j with ${code}`, WITHIN, async (args, waitsIn, says) => {
    const running = begin(args, { env: env(), cwd: folder });
    await hasBegun(args, waitsIn);
    running.child.kill(signal);
    const ended = await running.ended;
    expect(ended.stderr).toMatch(says);
    expect(ended.code).toBe(code);
    expect(readdirSync(folder)).toEqual([]);
  });

  it(`ends a look at the machine with ${code}, and takes away what it was made with`, WITHIN, async () => {
    const temporary = join(folder, 'temporary');
    const workflows = join(folder, 'workflows', 'slow');
    mkdirSync(temporary);
    mkdirSync(workflows, { recursive: true });
    writeFileSync(join(workflows, 'workflow.ts'), 'await new Promise((done) => setTimeout(done, 600_000));');
    const running = begin(['doctor', '--port', '0'], { env: { TMPDIR: temporary }, cwd: folder });
    const trials = () => readdirSync(temporary).filter((name) => name.startsWith('perdure-doctor-'));
    await expect.poll(trials, WITHIN).toHaveLength(1);
    running.child.kill(signal);
    expect((await running.ended).code).toBe(code);
    expect(trials()).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(['temporary', 'workflows']);
  });
});

it('the end of its terminal ends a service as any other signal does', WITHIN, async () => {
  const workplace = new Workplace();
  try {
    const services: [args: string[], ready: RegExp][] = [
      [['serve', '--port', '0', '--data', 'serve'], /perdure is ready/],
      [['dev', WORKFLOWS, '--port', '0', '--data', 'dev'], /http:\/\/\S+:\d+/],
      [['worker', WORKFLOWS, '--server', 'http://127.0.0.1:1', '--workers', '1'], /"level"/],
    ];
    const codes = services.map(async ([args, ready]) => {
      const program = workplace.perdure(args);
      await program.says(ready);
      program.child.kill('SIGHUP');
      return program.exited;
    });
    expect(await Promise.all(codes)).toEqual([0, 0, 0]);
  } finally {
    await workplace.clear();
  }
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends a replay whose code does not load, and leaves nothing',
  WITHIN,
  async (signal) => {
    const workflows = join(folder, 'workflows', 'slow');
    mkdirSync(workflows, { recursive: true });
    const begun = join(folder, 'begun');
    const code = `require('node:fs').writeFileSync(${JSON.stringify(begun)}, ''); for (;;);`;
    writeFileSync(
      join(workflows, 'workflow.ts'),
      `import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\n${code}`,
    );
    writeFileSync(join(folder, 'history.json'), '[]');
    const running = begin(['replay', 'history.json'], { cwd: folder });
    await expect.poll(() => existsSync(begun), WITHIN).toBe(true);
    running.child.kill(signal);
    const { stdout, stderr } = await running.ended;
    expect([running.child.signalCode, stdout, stderr]).toEqual([signal, '', '']);
    expect(readdirSync(folder).sort()).toEqual(['begun', 'history.json', 'workflows']);
  },
);

describe('in a terminal', () => {
  const REPORT = 'trap : INT; echo "pid $$"; "$@"; code=$?; stty -a; exit $code';
  function inTerminal(context: TestContext, args: string[], script = REPORT): Running {
    if (!hasTerminal())
      context.skip('there is no `script` on this machine, which gives a program a terminal');
    const program = ['sh', '-c', script, 'sh', process.execPath, MAIN, ...args];
    return beginProgramInTerminal(program, { env: env(), cwd: folder, columns: 200 });
  }

  it.for(COMMANDS)(
    'Ctrl-C ends %j, and leaves it as it was',
    WITHIN,
    async ([args, waitsIn, says], context) => {
      const running = inTerminal(context, args);
      await hasBegun(args, waitsIn);
      running.child.stdin!.write('\u0003');
      const { code, stdout } = await running.ended;
      // The terminal shows the key as well.
      const text = withoutEscapes(stdout)
        .replaceAll('^C', '')
        .replaceAll(/\r+\n|\r/g, '\n');
      expect(text).toMatch(says);
      expect(code).toBe(130);
      // Lines and echo as before, a cursor, and the screen that was there.
      expect(stdout).toMatch(/[^-]icanon/);
      expect(stdout).toMatch(/[^-]echo\b/);
      expect(stdout.lastIndexOf('\u001b[?25l')).toBeLessThanOrEqual(stdout.lastIndexOf('\u001b[?25h'));
      expect(stdout).not.toContain('\u001b[?1049');
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it.for<[string[], RegExp]>([
    ...COMMANDS.map(([args, waitsIn]): [string[], RegExp] => [args, waitsIn]),
    [['terminate', '--filter', 'workflowType=adds'], /\/runs/],
  ])('the end of the terminal ends %j', WITHIN, async ([args, waitsIn], context) => {
    const running = inTerminal(context, args, 'echo "pid $$"; exec "$@"');
    await hasBegun(args, waitsIn);
    const pid = Number(/pid (\d+)/.exec(running.stdout)![1]);
    running.child.kill('SIGKILL');
    await expect.poll(() => isAlive(pid), WITHIN).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });
});
