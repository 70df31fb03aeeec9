/** Worker processes under a supervisor, with an engine that is played: what the tests here share. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Log } from '../../core/log.js';
import type { FromWorker, StepTask, ToWorker, TurnTask } from '../../core/task.js';
import type { TaskSource } from '../../engine.js';
import { attachWorkerLink, type WorkerLink } from '../../link/server.js';
import { type StartWorkersOptions, startWorkers, type WorkerSupervisor } from './supervisor.js';

export const WORKFLOW = `
import { workflow, step } from 'perdure';
import * as steps from './steps.js';
export default workflow({ name: 'fine', fn: async () => [await steps.echo(1)] });
export const endless = workflow({ name: 'endless', fn: async () => { for (;;); } });
`;
export const STEPS = `
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
export const long = define('long', async () => { process.stdout.write('unfinished'); stepContext().log.error('long', { token: 'x'.repeat(100_000) }); });
export const env = define('env', async () => ({ env: process.env, argv: process.argv, send: typeof process.send }));
export const slow = define('slow', async () => { await sleep(300); return 'in time'; });
export const stubborn = define('stubborn', async () => { await sleep(60_000); });
export const polite = define('polite', async () => { await sleep(60_000, undefined, { signal: stepContext().signal }); });
`;

export let root: string;
let server: Server;
let link: WorkerLink;
export let source: FakeEngine;
export let supervisor: WorkerSupervisor | undefined;
export let lines: { level: string; fields: object; message: string }[];
export const log = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map((level) => [
    level,
    (fields: object, message: string) => lines.push({ level, fields, message }),
  ]),
) as unknown as Log;

export interface Session {
  send(message: ToWorker): void;
  received: FromWorker[];
  gone: boolean;
}

/** Plays the engine: knows its sessions, and lets a test wait for what they say. */
export class FakeEngine implements TaskSource {
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

export const step = (stepName: string, timeoutMs = 60_000): StepTask => ({
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
export const stepWithNext = (workflowType: string): StepTask => ({
  ...step('echo'),
  runId: 'the-run',
  workflowType,
  next: { turnId: 2, activityId: '1', sentAt: 1_000, continueAsNewSuggested: false },
});

export const turn = (workflowType: string): TurnTask => ({
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

/** For every test of the file: a folder of workflows, an engine that is played, and what was started is stopped. */
export function prepareSupervision(): void {
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
}

export const write = (name: string, text: string) => {
  mkdirSync(join(root, name, '..'), { recursive: true });
  writeFileSync(join(root, name), text);
};

export const optionsOf = (more: Partial<StartWorkersOptions> = {}): StartWorkersOptions => ({
  directory: root,
  serverUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  token: 'secret',
  catalog: 'main',
  count: 1,
  spares: 0,
  resultFormat: 'current',
  log,
  ...more,
});

export function supervise(more: Partial<StartWorkersOptions> = {}): WorkerSupervisor {
  supervisor = startWorkers(optionsOf(more));
  return supervisor;
}

export async function start(more: Partial<StartWorkersOptions> = {}): Promise<Session> {
  await supervise(more).ready;
  return source.worker();
}

/** The server goes, and comes back on the same port. */
export async function restartServer(): Promise<void> {
  const { port } = server.address() as AddressInfo;
  await link.close();
  await new Promise((resolve) => server.close(resolve));
  server = createServer();
  link = attachWorkerLink(server, source, { authorize: () => true, log });
  server.listen(port, '127.0.0.1');
}

export const said = (text: RegExp) => lines.find(({ message }) => text.test(message));

export async function expectWorks(session: Session): Promise<void> {
  session.received.length = 0;
  session.send(step('echo'));
  expect(await source.answer(session)).toMatchObject({
    kind: 'stepCompleted',
    result: expect.stringContaining('"input":"in"'),
  });
}
