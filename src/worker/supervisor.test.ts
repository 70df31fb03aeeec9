import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log } from '../core/log.js';
import type { FromWorker, StepTask, ToWorker, TurnTask } from '../core/task.js';
import type { TaskSource } from '../engine.js';
import { attachWorkerLink, type WorkerLink } from '../link/server.js';
import { LoadError } from './load-error.js';
import { type StartWorkersOptions, startWorkers, type WorkerSupervisor } from './supervisor.js';

const WORKFLOW = `
import { workflow, step } from 'perdure';
import * as steps from './steps.js';
export default workflow({ name: 'fine', fn: async () => [await steps.echo(1)] });
export const endless = workflow({ name: 'endless', fn: async () => { for (;;); } });
`;
const STEPS = `
import { step, stepContext } from 'perdure';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const define = (name, fn) => step({ name, fn });
export const echo = define('echo', async (input) => ({ input, pid: process.pid }));
export const exit = define('exit', async () => process.exit(0));
export const die = define('die', async () => process.kill(process.pid, 'SIGKILL'));
export const abort = define('abort', async () => process.abort());
export const loop = define('loop', async () => { for (;;); });
export const block = define('block', async () => { writeFileSync(new URL('./blocked', import.meta.url), ''); for (;;); });
export const microtasks = define('microtasks', async () => { for (;;) await null; });
export const heap = define('heap', async () => { const all = []; for (;;) all.push(new Array(10_000).fill({})); });
export const buffers = define('buffers', async () => { const all = []; for (;;) { all.push(Buffer.alloc(2 ** 20, 1)); await sleep(1); } });
export const reject = define('reject', async () => { void Promise.reject(new Error('nobody caught me')); await sleep(60_000); });
export const late = define('late', async () => { setTimeout(() => { throw new Error('after the end'); }, 20); return 'done'; });
export const flood = define('flood', async () => { for (let i = 0; i < 200; i++) console.log('x'.repeat(1_000_000)); return 'flooded'; });
export const say = define('say', async () => { console.log('on stdout'); console.error('on stderr'); stepContext().log.info('in the log', { a: 1 }); });
export const env = define('env', async () => ({ env: process.env, argv: process.argv, send: typeof process.send }));
export const slow = define('slow', async () => { await sleep(300); return 'in time'; });
export const stubborn = define('stubborn', async () => { await sleep(60_000); });
export const polite = define('polite', async () => { await sleep(60_000, undefined, { signal: stepContext().signal }); });
`;

let root: string;
let server: Server;
let link: WorkerLink;
let source: FakeEngine;
let supervisor: WorkerSupervisor | undefined;
let lines: { level: string; fields: object; message: string }[];
const log = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map((level) => [
    level,
    (fields: object, message: string) => lines.push({ level, fields, message }),
  ]),
) as unknown as Log;

interface Session {
  send(message: ToWorker): void;
  received: FromWorker[];
  gone: boolean;
}

/** Plays the engine: knows its sessions, and lets a test wait for what they say. */
class FakeEngine implements TaskSource {
  readonly sessions: Session[] = [];
  #wake: (() => void)[] = [];
  connect(send: (message: ToWorker) => void) {
    const session: Session = { send, received: [], gone: false };
    this.sessions.push(session);
    return {
      receive: (message: FromWorker) => {
        session.received.push(message);
        this.#changed();
      },
      disconnected: () => {
        session.gone = true;
        this.#changed();
      },
    };
  }
  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
  async until<T>(find: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== false) return found;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
  /** A worker that is connected and registered. */
  worker(except?: Session): Promise<Session> {
    return this.until(() =>
      this.sessions.find((s) => s !== except && !s.gone && s.received[0]?.kind === 'register'),
    );
  }
  answer(session: Session): Promise<FromWorker> {
    return this.until(() => session.received.find(({ kind }) => /^(step|turn)/.test(kind)));
  }
}

const step = (stepName: string, timeoutMs = 60_000): StepTask => ({
  kind: 'step',
  runId: 'run',
  workflowId: 'fine-1',
  workflowType: 'fine',
  stepName,
  scheduledEventId: 5,
  attempt: 1,
  input: ['"in"'],
  timeoutMs,
  idempotencyKey: 'key',
});

/** The step of the run of `turn`, with the turn that follows it. */
const stepWithNext = (workflowType: string): StepTask => ({
  ...step('echo'),
  runId: 'the-run',
  workflowType,
  next: { turnId: 2, activityId: '1', sentAt: 1_000, continueAsNewSuggested: false },
});

const turn = (workflowType: string): TurnTask => ({
  kind: 'turn',
  turnId: 1,
  runId: 'the-run',
  workflowId: 'w',
  workflowType,
  catalog: 'main',
  startedAt: 0,
  historyLength: 2,
  continueAsNewSuggested: false,
  updates: [],
  queries: [],
  readOnly: false,
  events: [
    {
      id: 1,
      at: 0,
      type: 'WORKFLOW_EXECUTION_STARTED',
      attributes: {
        workflowType,
        workflowId: 'w',
        catalog: 'main',
        input: [],
        attempt: 1,
        firstExecutionRunId: 'the-run',
        originalExecutionRunId: 'the-run',
      },
    },
    { id: 2, at: 0, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
  ],
});

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'perdure-workers-'));
  write('workflow.js', WORKFLOW);
  write('steps.js', STEPS);
  lines = [];
  source = new FakeEngine();
  server = createServer();
  link = attachWorkerLink(server, source, {
    authorize: ({ headers }) => headers.authorization === 'Bearer secret',
    log,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  await supervisor?.stop(0);
  supervisor = undefined;
  await link.close();
  await new Promise((resolve) => server.close(resolve));
  rmSync(root, { recursive: true, force: true });
});

const write = (name: string, text: string) => {
  mkdirSync(join(root, name, '..'), { recursive: true });
  writeFileSync(join(root, name), text);
};

const optionsOf = (more: Partial<StartWorkersOptions> = {}): StartWorkersOptions => ({
  directory: root,
  serverUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  token: 'secret',
  catalog: 'main',
  count: 1,
  resultFormat: 'current',
  log,
  ...more,
});

async function start(more: Partial<StartWorkersOptions> = {}): Promise<Session> {
  supervisor = startWorkers(optionsOf(more));
  await supervisor.ready;
  return source.worker();
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

const said = (text: RegExp) => lines.find(({ message }) => text.test(message));

async function expectWorks(session: Session): Promise<void> {
  session.received.length = 0;
  session.send(step('echo'));
  expect(await source.answer(session)).toMatchObject({
    kind: 'stepCompleted',
    result: expect.stringContaining('"input":"in"'),
  });
}

describe('a worker', () => {
  test('registers, runs turns and steps, and keeps what is the server’s from user code', async () => {
    process.env.API_AUTH_TOKEN = 'canary-token';
    process.env.PERDURE_SOMETHING = 'canary-setting';
    const worker = await start().finally(() => {
      delete process.env.API_AUTH_TOKEN;
      delete process.env.PERDURE_SOMETHING;
    });
    expect(worker.received[0]).toMatchObject({ kind: 'register', catalog: 'main', resultFormat: 'current' });
    worker.received.length = 0;
    worker.send(turn('fine'));
    expect(await source.answer(worker)).toMatchObject({
      kind: 'turnCompleted',
      commands: [{ kind: 'scheduleStep', stepName: 'echo' }],
    });
    await expectWorks(worker);
    worker.received.length = 0;
    worker.send(step('env'));
    const answer = (await source.answer(worker)) as { result: string };
    expect(answer.result).not.toMatch(/canary|secret/);
    expect(JSON.parse(answer.result)).toMatchObject({ send: 'undefined' });
  });

  test('prints into the log', async () => {
    const worker = await start();
    worker.send(step('say'));
    await source.answer(worker);
    await supervisor!.stop(1_000);
    expect(said(/^on stdout$/)).toMatchObject({ level: 'info' });
    expect(said(/^on stderr$/)).toMatchObject({ level: 'warn' });
    expect(said(/^in the log$/)).toMatchObject({
      level: 'info',
      fields: { a: 1, step: 'say', workflowId: 'fine-1' },
    });
  });

  test('may print without end', async () => {
    const worker = await start();
    const before = process.memoryUsage().rss;
    worker.send(step('flood'));
    expect(await source.answer(worker)).toMatchObject({ result: '"flooded"' });
    await supervisor!.stop(1_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
    for (const { message } of lines) expect(message.length).toBeLessThan(10_000);
  });

  test('comes back by itself when the server was away', async () => {
    const worker = await start();
    const port = (server.address() as AddressInfo).port;
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    server = createServer();
    link = attachWorkerLink(server, source, { authorize: () => true, log });
    server.listen(port, '127.0.0.1');
    await expectWorks(await source.worker(worker));
    expect(supervisor!.pids()).toHaveLength(1);
  });
});

test('a worker that was suspended as a whole is not taken for one that hangs', async () => {
  const worker = await start({ watchdog: { hangMs: 500, turnTimeoutMs: 500 } });
  const [pid] = supervisor!.pids();
  process.kill(pid!, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  process.kill(pid!, 'SIGCONT');
  await expectWorks(worker);
  expect(supervisor!.pids()).toEqual([pid]);
});

describe('a worker that user code breaks is replaced', () => {
  const cases: [
    name: string,
    step: string,
    options: Partial<StartWorkersOptions>,
    said: RegExp,
    timeoutMs?: number,
  ][] = [
    ['process.exit', 'exit', {}, /ended \(exit code 0\); another one starts now/],
    ['SIGKILL to itself', 'die', {}, /ended \(signal SIGKILL\)/],
    ['process.abort', 'abort', {}, /ended \(signal SIGABRT\)/],
    ['an unhandled rejection', 'reject', {}, /a promise was rejected and nobody handled it/],
    [
      'an endless loop beyond its time',
      'loop',
      {},
      /watchdog: a step blocks the worker beyond its time: step "loop" of fine fine-1/,
      100,
    ],
    ['endless promises beyond their time', 'microtasks', {}, /watchdog: a step blocks the worker/, 100],
    [
      'an endless loop within its time',
      'loop',
      { watchdog: { hangMs: 500 } },
      /watchdog: something has blocked the worker for 500 ms; running: step "loop"/,
    ],
    ['an exhausted heap', 'heap', { maxHeapMb: 60 }, /heap out of memory|ended \(signal SIGABRT\)/],
    [
      'buffers beyond the limit',
      'buffers',
      { watchdog: { maxRssBytes: 250 * 2 ** 20 } },
      /watchdog: it uses \d+ MiB of memory, more than 250; running: step "buffers"/,
    ],
  ];
  test.each(cases)('%s', async (_name, stepName, options, expected, timeoutMs) => {
    const worker = await start(options);
    const [pid] = supervisor!.pids();
    worker.send(step(stepName, timeoutMs));
    await source.until(() => worker.gone);
    const next = await source.worker(worker);
    expect(worker.received.map(({ kind }) => kind)).toEqual(['register']);
    expect(said(expected)).toBeDefined();
    await expectWorks(next);
    expect(isAlive(pid!)).toBe(false);
    expect(supervisor!.pids()).toHaveLength(1);
  });

  test('an endless turn', async () => {
    const worker = await start({ watchdog: { turnTimeoutMs: 400 } });
    worker.send(turn('endless'));
    await source.until(() => worker.gone);
    await expectWorks(await source.worker(worker));
    expect(said(/watchdog: a turn did not end within 400 ms.*endless w \(run the-run\)/)).toBeDefined();
  });

  test('an endless turn that it began after a step; the result of the step has left before', async () => {
    write(
      'workflow.js',
      `${WORKFLOW}\nexport const after = workflow({ name: 'after', fn: async () => { await steps.echo(1); for (;;); } });`,
    );
    const worker = await start({ watchdog: { turnTimeoutMs: 400 } });
    worker.send(turn('after'));
    await source.until(() => worker.received.some(({ kind }) => kind === 'turnCompleted'));
    worker.send(stepWithNext('after'));
    await source.until(() => worker.gone);
    expect(worker.received.at(-1)).toMatchObject({ kind: 'stepCompleted', begunAt: expect.any(Number) });
    await expectWorks(await source.worker(worker));
  });

  test('an error after its step has ended; the result stands', async () => {
    const worker = await start();
    worker.send(step('late'));
    expect(await source.answer(worker)).toMatchObject({ kind: 'stepCompleted', result: '"done"' });
    await expectWorks(await source.worker(worker));
    expect(said(/an error was thrown outside any step/)).toBeDefined();
  });

  test('one of several; the others go on', async () => {
    await start({ count: 2 });
    const [first, second] = await source.until(() => {
      const registered = source.sessions.filter(({ received }) => received.length > 0);
      return registered.length === 2 && registered;
    });
    first!.send(step('die'));
    await source.until(() => first!.gone);
    await expectWorks(second!);
    await source.until(
      () => source.sessions.filter(({ gone, received }) => !gone && received.length > 0).length === 2,
    );
  });

  test('again and again, ever more slowly', async () => {
    let worker = await start();
    for (let i = 0; i < 4; i++) {
      worker.send(step('exit'));
      worker = await source.worker(worker);
    }
    const waits = lines.flatMap(({ message }) => /another one starts (.*)$/.exec(message)?.[1] ?? []);
    expect(waits).toEqual(['now', 'in 100 ms', 'in 200 ms', 'in 400 ms']);
  });
});

describe('a folder that does not load', () => {
  test('is refused with its problems, and nothing is left running', async () => {
    write('workflow.js', `import 'node:fs';\n${WORKFLOW}`);
    supervisor = startWorkers(optionsOf({ count: 2 }));
    const error = (await supervisor.ready.catch((thrown: unknown) => thrown)) as LoadError;
    expect(error).toBeInstanceOf(LoadError);
    expect(error.problems).toMatchObject([{ file: 'workflow.js', line: 1 }]);
    expect(supervisor.pids()).toEqual([]);
  });

  test('since it ends the process, is refused as well', async () => {
    write('steps.js', `${STEPS}\nprocess.exit(0);`);
    supervisor = startWorkers(optionsOf());
    await expect(supervisor.ready).rejects.toThrow(/ended while it loaded them \(exit code 0\)/);
    expect(supervisor.pids()).toEqual([]);
  });
});

describe('files that change', () => {
  test('are loaded by new workers, which then take over; steps under way end', async () => {
    const old = await start({ watch: true });
    old.send(step('slow'));
    write('workflow.js', `${WORKFLOW}\nexport const added = workflow({ name: 'added', fn: async () => 1 });`);
    const next = await source.worker(old);
    expect(next.received[0]).toMatchObject({ workflows: [{ entry: { name: 'added' } }, {}, {}] });
    expect(await source.answer(old)).toMatchObject({ kind: 'stepCompleted', result: '"in time"' });
    await source.until(() => old.gone);
    expect(old.received.map(({ kind }) => kind)).toContain('draining');
    await expectWorks(next);
    while (supervisor!.pids().length > 1) await new Promise(setImmediate);
  });

  test('and do not load leave the old workers alone', async () => {
    const old = await start({ watch: true });
    write('workflow.js', 'export default workflow({{');
    while (!said(/go on running/)) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(said(/go on running/)!.message).toContain('workflow.js:1:');
    await expectWorks(old);
    write(
      'deeper/workflow.js',
      WORKFLOW.replace(/'fine'|'endless'/g, (name) => name.replace("'", "'deeper_")).replace(
        './steps',
        '../steps',
      ),
    );
    write('workflow.js', WORKFLOW);
    await expectWorks(await source.worker(old));
    await source.until(() => old.gone);
  });
});

describe('the end', () => {
  test('lets steps finish within the grace', async () => {
    const worker = await start();
    worker.send({ ...step('slow'), scheduledEventId: 6 });
    worker.send(step('echo'));
    await source.answer(worker);
    await supervisor!.stop(5_000);
    expect(worker.received.map(({ kind }) => kind)).toEqual([
      'register',
      'stepCompleted',
      'draining',
      'stepCompleted',
    ]);
    expect(supervisor!.pids()).toEqual([]);
  });

  test('aborts steps after the grace, and waits for no step that does not listen', async () => {
    const worker = await start();
    const [pid] = supervisor!.pids();
    worker.send({ ...step('polite'), scheduledEventId: 6 });
    worker.send({ ...step('stubborn'), scheduledEventId: 7 });
    await supervisor!.stop(10);
    expect(worker.received.find(({ kind }) => kind === 'stepFailed')).toMatchObject({
      scheduledEventId: 6,
      failure: { message: expect.stringMatching(/shutting down|aborted/) },
    });
    expect(isAlive(pid!)).toBe(false);
  });

  test('of the parent is the end of its workers, also when user code blocks them', async () => {
    const script = `
      import { startWorkers } from ${JSON.stringify(fileURLToPath(new URL('../../dist/worker/supervisor.js', import.meta.url)))};
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const supervisor = startWorkers({ ...${JSON.stringify(optionsOf({ count: 2 }))}, log });
      await supervisor.ready;
      console.log(JSON.stringify(supervisor.pids()));
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = (await once(parent.stdout, 'data')) as [Buffer];
    const pids = JSON.parse(output.toString()) as number[];
    expect(pids.map(isAlive)).toEqual([true, true]);
    const blocked = await source.worker();
    blocked.send(step('block'));
    while (!existsSync(join(root, 'blocked'))) await new Promise((resolve) => setTimeout(resolve, 10));
    parent.kill('SIGKILL');
    await once(parent, 'close');
    while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});

describe('the turn that follows a step', () => {
  test('is begun as soon as the step has completed, when the run is cached', async () => {
    const worker = await start();
    worker.send(turn('fine'));
    await source.until(() => worker.received.some(({ kind }) => kind === 'turnCompleted'));
    worker.send(stepWithNext('fine'));
    const answer = await source.until(() =>
      worker.received.find((said) => 'turnId' in said && said.turnId === 2),
    );
    expect(answer).toMatchObject({ kind: 'turnCompleted', commands: [{ kind: 'completeRun' }] });
    const completed = worker.received.find((said) => said.kind === 'stepCompleted')!;
    expect(completed.begunAt).toBeGreaterThanOrEqual(1_000);
    expect(worker.received.indexOf(completed)).toBeLessThan(worker.received.indexOf(answer));
  });

  test('is left to the engine when the run is not cached', async () => {
    const worker = await start();
    worker.send(stepWithNext('fine'));
    const completed = await source.answer(worker);
    expect(completed).toMatchObject({ kind: 'stepCompleted' });
    expect(completed).not.toHaveProperty('begunAt');
  });
});
