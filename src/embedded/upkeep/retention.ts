/**
 * Closed runs leave after their time, a few at a commit, so that removal never holds up other work.
 *
 * 1. What is removed is gone, so a clock that was set is not believed at once (`SettledTime`).
 * 2. The first run of a chain stays as long as a later one does: it has the input that the chain was started with. It goes
 *    with the last of them, or what the chain began with would be taken for what it came to.
 */
import type { Timer } from '../../core/clock.js';
import { faultPoint } from '../../core/fault-point.js';
import type { Kernel } from '../kernel.js';
import type { Damage } from '../life/damage.js';

/** How often closed runs are looked for when there were none to remove. */
const INTERVAL_MS = 60_000;

/** Between two batches, so that others get the writer in between. */
const PAUSE_MS = 20;

export class Retention {
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly damage: Damage,
  ) {}

  start(): void {
    this.#schedule(Math.min(INTERVAL_MS, this.kernel.limits.retentionMs));
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(afterMs: number): void {
    if (this.#isStopped) return;
    const look = () => {
      if (!this.damage.contain(() => this.#remove())) this.#schedule(INTERVAL_MS);
    };
    this.#timer = this.kernel.scheduler.after(afterMs, look, true);
  }

  #remove(): true {
    const { commit, limits, listeners, runs, settledTime, tables } = this.kernel;
    const closedBefore = settledTime.now() - limits.retentionMs;
    const expired = tables.runs.expired(closedBefore, limits.retentionBatch);
    if (expired.length === 0) {
      this.#schedule(Math.min(INTERVAL_MS, limits.retentionMs));
      return true;
    }
    for (const { key, runId, firstRunId } of [
      ...expired,
      ...tables.runs.expiredFirst(expired, closedBefore),
    ]) {
      // A removal that cannot be made is left out of the commit, and the run is still there.
      let isGone = false;
      commit.write(() => {
        isGone = false;
        if (runId === firstRunId && tables.runs.chainKeys(runId).length > 1) return;
        tables.deleteRun(key);
        isGone = true;
        faultPoint('retention');
      });
      commit.afterCommit(() => {
        if (!isGone) return;
        runs.removed(runId);
        listeners.removed(runId);
      });
    }
    commit.afterCommit(() => this.#schedule(PAUSE_MS));
    return true;
  }
}
