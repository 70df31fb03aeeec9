/**
 * Traces of runs that have just closed, written beside the work of the engine: one at a time, and after each a rest
 * as long as it took, so that at most half of a core and half of the disk's attention go into traces. Runs that come
 * faster than that are let go; they get their trace when it is first asked for.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../core/clock.js';
import type { Log } from '../core/log.js';
import type { RunSummary } from '../engine.js';

export class Background {
  readonly #waiting = new Map<string, RunSummary>();
  readonly #closing = new AbortController();
  #underWay: Promise<void> | undefined;
  #letGo = 0;

  constructor(
    private readonly write: (run: RunSummary) => Promise<void>,
    private readonly capacity: number,
    private readonly log: Log,
  ) {}

  /** Called where runs close: no more than a note. */
  add(run: RunSummary): void {
    if (this.#closing.signal.aborted) return;
    if (this.#waiting.size >= this.capacity) {
      this.#letGo++;
      return;
    }
    this.#waiting.set(run.runId, run);
    this.#underWay ??= this.#work();
  }

  forget(runId: string): void {
    this.#waiting.delete(runId);
  }

  async close(): Promise<void> {
    this.#waiting.clear();
    this.#closing.abort();
    await this.#underWay;
  }

  async #work(): Promise<void> {
    const { signal } = this.#closing;
    // Not in the same breath as the commit that closed the run.
    await rest(1, signal);
    for (const [runId, run] of this.#waiting) {
      this.#waiting.delete(runId);
      const began = monotonicMs();
      try {
        await this.write(run);
      } catch (error) {
        if (!signal.aborted) this.log.warn({ runId, err: error }, 'the trace of a run could not be written');
      }
      await rest(monotonicMs() - began, signal);
    }
    this.#underWay = undefined;
    if (this.#letGo > 0) {
      const fields = { runs: this.#letGo };
      this.log.info(fields, 'runs closed faster than traces are written; theirs are written when asked for');
      this.#letGo = 0;
    }
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal, ref: false }).catch(() => {});
}
