/**
 * Which worker a task goes to: of those that may take it the one that has least to do.
 *
 * A step goes to the code that asked for it while a worker of that code could take it sooner or later. When all slots of
 * that code stay taken, other code that has the step is better than none, should it not refuse the input.
 */
import type { TaskNeed } from './task-need.js';
import type { WorkerConnection } from './worker-connection.js';

/** So long a step waits for a slot of the code that asked for it. */
const MAX_WAIT_FOR_SLOT_MS = 30_000;

type Test = (worker: WorkerConnection) => boolean;

/**
 * The least loaded of the workers that may take the task and that it is `offered` to. `counts`: whose being there keeps a
 * step for the code that asked for it.
 */
export function workerFor(
  workers: Iterable<WorkerConnection>,
  need: TaskNeed,
  offered: Test,
  counts = offered,
): WorkerConnection | undefined {
  const isKept = need.codeId !== undefined && hasCodeFor(workers, need, counts);
  let chosen: WorkerConnection | undefined;
  for (const worker of workers) {
    if (!offered(worker) || !mayTake(worker, need)) continue;
    if (isKept && worker.version.id !== need.codeId) continue;
    if (!chosen || worker.load < chosen.load) chosen = worker;
  }
  return chosen;
}

/** The same for a step that has waited so long. */
export function workerAfter(
  waitedMs: number,
  workers: Iterable<WorkerConnection>,
  need: TaskNeed,
  offered: Test,
  counts = offered,
): WorkerConnection | undefined {
  const chosen = workerFor(workers, need, offered, counts);
  if (chosen || need.codeId === undefined || waitedMs < MAX_WAIT_FOR_SLOT_MS) return chosen;
  return workerFor(workers, { ...need, codeId: undefined }, offered);
}

function hasCodeFor(workers: Iterable<WorkerConnection>, need: TaskNeed, counts: Test): boolean {
  for (const worker of workers) {
    if (worker.version.id === need.codeId && counts(worker) && couldTake(worker, need)) return true;
  }
  return false;
}

/** Whether somebody who is here, and stays, has what the task needs. */
export function isAttended(workers: Iterable<WorkerConnection>, need: TaskNeed): boolean {
  for (const worker of workers) if (stays(worker) && suits(worker, need)) return true;
  return false;
}

/** Now. */
export const mayTake = (worker: WorkerConnection, need: TaskNeed): boolean =>
  couldTake(worker, need) && takenOf(worker, need) < slotsOf(worker, need);

/** When it has a free slot. */
const couldTake = (worker: WorkerConnection, need: TaskNeed): boolean => isFit(worker) && suits(worker, need);

const suits = (worker: WorkerConnection, need: TaskNeed): boolean =>
  slotsOf(worker, need) > 0 && worker.has(need);

const slotsOf = ({ slots }: WorkerConnection, { stepName }: TaskNeed): number =>
  stepName === undefined ? slots.turns : slots.steps;
const takenOf = ({ turns, steps }: WorkerConnection, { stepName }: TaskNeed): number =>
  stepName === undefined ? turns.size : steps.size;

/** It may be busy or blocked, but is not about to go. */
export const stays: Test = (worker) => !worker.isDraining && !worker.isEnding;
export const isFit: Test = (worker) => stays(worker) && !worker.isStuck;
/** For everything that nothing is held against. */
export const isOpen: Test = (worker) => !worker.isReserve;
export const anyone: Test = () => true;
/** Another suspect, beside those that it has. */
export const mayJoin: Test = (worker) =>
  worker.sole === undefined && (worker.probation.size === 0 || worker.batch.left > 0);
