/** Who of a pool works, and who stands by for those that are lost or stuck and for what has to be tried apart. */
import type { TaskNeed } from './task-need.js';
import { anyone, isFit, isOpen } from './worker-choice.js';
import type { WorkerConnection } from './worker-connection.js';

/** A worker that stands by is there again after a second or two; suspects do not wait for it much longer. */
const MAX_WAIT_FOR_RESERVE_MS = 10_000;

/** How many of the pool do not stand by, and suit. */
export function working(workers: Iterable<WorkerConnection>, poolId: string, suits = anyone): number {
  let count = 0;
  for (const worker of workers) {
    if (worker.pool?.id === poolId && !worker.isReserve && suits(worker)) count++;
  }
  return count;
}

function someoneWorks(workers: Iterable<WorkerConnection>): boolean {
  for (const worker of workers) if (isFit(worker) && isOpen(worker)) return true;
  return false;
}

/**
 * Makes up for workers that are lost or stuck, and lets one stand by again when they are back. Where somebody else still
 * works and suspects wait, the one that stands by is theirs. One whose suspects have proven harmless works on with them,
 * and the next that has nothing to do stands by instead.
 */
export function balance(
  workers: ReadonlySet<WorkerConnection>,
  hasUnproven: boolean,
  hasSuspects: boolean,
): void {
  for (const worker of workers) {
    const isHarmless = !worker.isIdle && worker.probation.size === 0 && worker.sole === undefined;
    if (worker.isReserve && isHarmless && !hasUnproven) worker.isReserve = false;
  }
  const isForSuspects = hasSuspects && someoneWorks(workers);
  for (const reserve of workers) {
    const { pool } = reserve;
    if (!pool || !reserve.isReserve || !isFit(reserve) || reserve.sole !== undefined) continue;
    if (isForSuspects) continue;
    if (working(workers, pool.id, isFit) < pool.size) reserve.isReserve = false;
  }
  for (const worker of workers) {
    const { pool } = worker;
    if (!pool || worker.isReserve || !worker.isIdle || !isFit(worker)) continue;
    if (working(workers, pool.id, isFit) > pool.size) worker.isReserve = true;
  }
}

/** Whether it is worth waiting for a worker that stands by, or will. */
export function isReserveAwaited(
  workers: ReadonlySet<WorkerConnection>,
  need: TaskNeed,
  waitedMs: number,
): boolean {
  if (waitedMs > MAX_WAIT_FOR_RESERVE_MS) return false;
  for (const worker of workers) {
    if (worker.pool !== undefined && worker.pool.spares > 0 && worker.has(need)) return true;
  }
  return false;
}
