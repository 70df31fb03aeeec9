/** Closed runs leave after their time, a few at a commit, so that removal never holds up other work. */
import type { Machine } from './machine.js';

/** How often closed runs are looked for when there were none to remove. */
const INTERVAL_MS = 60_000;

/** Between two batches, so that others get the writer in between. */
const PAUSE_MS = 20;

export class Retention {
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(private readonly machine: Machine) {}

  start(): void {
    this.#schedule(Math.min(INTERVAL_MS, this.machine.limits.retentionMs));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(afterMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.#remove(), afterMs);
    this.#timer.unref();
  }

  #remove(): void {
    const { retentionMs, retentionBatch } = this.machine.limits;
    const expired = this.machine.tables.expiredRuns(this.machine.clock.now() - retentionMs, retentionBatch);
    if (expired.length === 0) {
      this.#schedule(Math.min(INTERVAL_MS, retentionMs));
      return;
    }
    for (const { key, runId } of expired) {
      this.machine.commit.write(() => this.machine.tables.deleteRun(key));
      this.machine.commit.afterCommit(() => this.machine.listeners.removed(runId));
    }
    this.machine.commit.afterCommit(() => this.#schedule(PAUSE_MS));
  }
}
