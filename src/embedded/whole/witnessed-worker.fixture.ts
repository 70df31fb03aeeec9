/** An engine for each test, and workers whose witnesses say what has ended them. */
import { afterEach, beforeEach } from 'vitest';
import type { Limits } from '../../core/bounds/limits.js';
import type { Culprit, StepAttempt, WorkerPool } from '../../core/task.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, Folder, ScriptedWorker } from '../scripted-worker.fixture.js';

export type WitnessedWorker = ScriptedWorker & { id: string };

let folder: Folder;
export let engine: EmbeddedEngine;
let count = 0;

beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
});
afterEach(() => folder.remove());

/** Before the first worker of a test. */
export async function reopen(limits: Partial<Limits>): Promise<void> {
  await engine.close();
  engine = folder.open({ limits });
}

export const pool = { id: 'pool', size: 1, spares: 1 };
/** A worker of the pool, which comes when the end of the one before has been dealt with. */
export async function join(isSilent = false): Promise<WitnessedWorker> {
  return joinOf(pool, 'v1', isSilent);
}
export async function joinOf(
  pool: WorkerPool | undefined,
  codeId: string,
  isSilent = false,
): Promise<WitnessedWorker> {
  await new Promise(setImmediate);
  const workerId = `worker-${++count}`;
  return Object.assign(new ScriptedWorker(engine, { pool, workerId, codeId, isSilent }), { id: workerId });
}

export const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });

/** The worker ends, and its witness says why. */
export const lastWords = (worker: WitnessedWorker, culprit?: Culprit, started: StepAttempt[] = []): void => {
  const witness = engine.connect(() => {});
  witness.receive({ kind: 'lastWords', workerId: worker.id, culprit, started, reason: 'a test' });
  worker.lose();
};

export const attemptOf = ({ runId, scheduledEventId, attempt }: StepAttempt) => ({
  ...{ runId, scheduledEventId, attempt },
});

export const retryOnce = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 2,
  nonRetryableErrorTypes: [],
};
