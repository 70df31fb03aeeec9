/**
 * Traces leave with their runs. The local file goes last: as long as it is there, the object in the store is owed a removal,
 * also after a crash, and so are those that were too many or refused too often. They are looked for at the start, and from
 * time to time where there may be any.
 */
import type { TraceLimits } from '../core/bounds/limits.js';
import type { Log } from '../core/log.js';
import type { RunWatch } from '../engine.js';
import type { TraceFiles } from './files.js';
import type { ObjectStore } from './object-store.js';
import type { Retries } from './retries.js';
import type { OneAtATime, SomeAtATime } from './turnstile.js';

export interface DeparturesParts {
  isRetained: RunWatch['isRetained'];
  files: TraceFiles;
  store: ObjectStore | undefined;
  perRun: OneAtATime;
  chores: SomeAtATime;
  retries: Retries;
  limits: TraceLimits;
  log: Log;
}

export class Departures {
  #swept: Promise<void>;
  readonly #watch: NodeJS.Timeout;
  #areOwed = false;
  #isClosed = false;

  constructor(private readonly parts: DeparturesParts) {
    this.#swept = this.#sweep();
    this.#watch = setInterval(() => {
      if (this.#areOwed) this.#swept = this.#swept.then(() => this.#sweep());
    }, parts.limits.expireEveryMs).unref();
  }

  /** Never rejects. */
  async remove(runId: string): Promise<void> {
    const { retries, chores, limits } = this.parts;
    retries.forget(runId);
    const givenUp = () => {
      this.#areOwed = true;
    };
    if (chores.waiting >= limits.waitingRetries) return givenUp();
    const act = () => this.#remove(runId);
    try {
      await act();
    } catch (error) {
      const failed = 'the trace of a run that has left could not be removed';
      if (!this.#isClosed) retries.later(runId, { failed, act, givenUp }, error);
    }
  }

  /** Once the store is closed: what is under way ends then. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    await this.#swept;
  }

  #remove(runId: string): Promise<void> {
    const { chores, perRun, files, store } = this.parts;
    return chores.with(() =>
      perRun.with(runId, async () => {
        if (this.#isClosed) return;
        if (store && (await files.has(runId))) await store.remove(runId);
        await files.remove(runId);
      }),
    );
  }

  async #sweep(): Promise<void> {
    const { files, isRetained, log } = this.parts;
    this.#areOwed = false;
    try {
      for await (const runId of files.runs()) {
        if (this.#isClosed) return;
        if (!isRetained(runId)) await this.remove(runId);
      }
    } catch (error) {
      log.warn({ err: error }, 'the folder of traces could not be swept');
    }
  }
}
