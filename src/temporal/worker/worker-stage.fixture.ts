/** A cluster for a suite, and for each test a folder of workflows, whose workers poll a task queue of their own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, Connection, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { DevServer } from '../../../test/temporal/dev-server.js';
import type { Log } from '../../core/log.js';
import type { WorkerSupervisor } from '../../worker/supervision/supervisor.js';
import { type StartTemporalWorkersOptions, startTemporalWorkers } from './supervisor.js';

export const WORKFLOW = `
import { workflow, sleep, condition, defineSignal, defineUpdate, getExternalWorkflowHandle, setHandler, log, CancellationScope, isCancellation, z } from 'perdure';
import * as steps from './steps.js';

export const greets = workflow({
  name: 'greets',
  aliases: ['hello'],
  inputSchema: z.object({ name: z.string(), times: z.number().default(1) }),
  outputSchema: z.object({ greeting: z.string() }),
  fn: async ({ name, times }) => ({ greeting: (await steps.greet(name)).repeat(times) }),
});
export const fails = workflow({ name: 'fails', fn: async () => {
  throw Object.assign(new RangeError('too far'), { code: 'E_FAR' });
} });
export const says = workflow({ name: 'says', fn: async () => {
  log.info('before', { at: 1 });
  console.warn('in between');
  await steps.greet('x');
  log.info('after');
} });
export const waits = workflow({ name: 'waits', fn: async () => {
  const seen = [];
  await sleep(10);
  setHandler(defineSignal('add'), (value) => { seen.push(value); });
  setHandler(defineUpdate('set'), (value) => { seen.push(value); return seen.length; }, {
    validator: (value) => { if (value < 0) throw new Error('not below zero'); },
  });
  await condition(() => seen.includes('end'));
  return seen;
} });
export const cleansUp = workflow({ name: 'cleansUp', fn: async () => {
  try {
    await steps.waitsForAbort();
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() => steps.greet('cleaned'));
    throw error;
  }
} });
export const leavesBehind = workflow({ name: 'leavesBehind', fn: async ({ other }) => {
  void getExternalWorkflowHandle(other).signal('add', 'end');
  void greets({ name: 'detached' }, { workflowId: other + '-child', detached: true });
  return 'left';
} });
export const blocks = workflow({ name: 'blocks', fn: (firstMs) => steps.blocks(firstMs) });
export const slow = workflow({ name: 'slow', fn: () => steps.slow() });
export const beats = workflow({ name: 'beats', fn: () => steps.beats() });
`;
export const STEPS = `
import { step, stepContext } from 'perdure';
import { setTimeout as sleep } from 'node:timers/promises';
export const greet = step({ name: 'greet', fn: async (name) => 'Hello, ' + name });
export const slow = step({ name: 'slow', fn: async () => { await sleep(1_500); return stepContext().attempt; } });
export const blocks = step({ name: 'blocks', options: { retry: { initialInterval: 1 } }, fn: async (firstMs) => {
  const { attempt, heartbeat, lastHeartbeat } = stepContext();
  if (attempt > 1) return { attempt, lastHeartbeat };
  heartbeat('under way');
  for (const until = Date.now() + firstMs; Date.now() < until; );
  return { attempt };
} });
export const waitsForAbort = step({ name: 'waitsForAbort', options: { cancellationType: 'WAIT_CANCELLATION_COMPLETED' }, fn: async () => {
  const { signal } = stepContext();
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  throw signal.reason;
} });
export const beats = step({ name: 'beats', options: { retry: { initialInterval: 1 } }, fn: async () => {
  const { attempt, heartbeat, lastHeartbeat } = stepContext();
  if (attempt > 1) return { attempt, lastHeartbeat };
  heartbeat({ done: 1 });
  heartbeat({ done: 2 });
  throw new Error('half way');
} });
`;

interface Line {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

export class WorkerStage {
  server!: DevServer;
  client!: Client;
  /** Where the workflows are. */
  root!: string;
  catalog!: string;
  workers: WorkerSupervisor | undefined;
  /** What the workers have logged. */
  lines: Line[] = [];
  #connection: Connection | undefined;
  #count = 0;
  readonly #log = Object.fromEntries(
    (['debug', 'info', 'warn', 'error'] as const).map((level) => [
      level,
      (fields: Record<string, unknown>, message: string) => this.lines.push({ level, fields, message }),
    ]),
  ) as unknown as Log;

  constructor() {
    beforeAll(async () => {
      this.server = await DevServer.start();
      this.#connection = Connection.lazy({ address: this.server.address });
      this.client = new Client({ connection: this.#connection });
    });
    afterAll(async () => {
      await this.#connection?.close();
      await this.server?.stop();
    });
    beforeEach(() => this.prepare());
    afterEach(async () => {
      await this.workers?.stop(100);
      this.workers = undefined;
      rmSync(this.root, { recursive: true, force: true });
    });
  }

  prepare(): void {
    this.root = mkdtempSync(join(tmpdir(), 'perdure-temporal-worker-'));
    this.lines = [];
    this.catalog = `catalog-${++this.#count}`;
    this.write({ 'flow/workflow.js': WORKFLOW, 'flow/steps.js': STEPS });
  }

  write(files: Record<string, string>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      writeFileSync(join(this.root, path), text);
    }
  }

  begin(options: Partial<StartTemporalWorkersOptions> = {}): WorkerSupervisor {
    const { address, namespace } = this.server;
    this.workers = startTemporalWorkers({
      directory: this.root,
      temporal: { address, namespace },
      catalog: this.catalog,
      count: 1,
      resultFormat: 'current',
      log: this.#log,
      ...options,
    });
    return this.workers;
  }

  async redeploy(options?: Partial<StartTemporalWorkersOptions>): Promise<void> {
    await this.workers?.stop(100);
    await this.begin(options).ready;
  }

  start(type: string, input?: unknown, workflowId = `${type}-${++this.#count}`): Promise<WorkflowHandle> {
    const args = input === undefined ? [] : [input];
    return this.client.workflow.start(type, { taskQueue: this.catalog, workflowId, args });
  }

  async run(type: string, input?: unknown): Promise<unknown> {
    return (await this.start(type, input)).result();
  }
}

export async function failureOf(handle: WorkflowHandle): Promise<Error & Record<string, unknown>> {
  const error = await handle.result().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  return (error as WorkflowFailedError).cause as never;
}
