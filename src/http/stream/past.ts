/**
 * What the tail of a run does not have any more, in pages, for readers who have fallen behind it.
 *
 * 1. Those who stand at about the same place share a page: what a crowd was too slow for is read and encoded once.
 * 2. A page is kept only while somebody is about to read.
 */
import { STREAM_PAGE_BYTES } from '../../core/bounds/limits.js';
import type { HistoryEvent } from '../../core/history/event.js';
import { invariant } from '../../core/invariant.js';
import type { Engine, RunRef } from '../../engine.js';
import { type NamedSteps, nameSteps } from '../wire/events.js';
import { Batch } from './frames.js';

export interface PastPage {
  batch: Batch;
  /** The event that closed the run, if that is its last one. */
  terminal: HistoryEvent | undefined;
}

export class Past {
  #readers = 0;
  #latest: PastPage | undefined;
  readonly #reads = new Map<number, Promise<PastPage>>();

  constructor(
    private readonly engine: Engine,
    private readonly run: RunRef,
  ) {}

  /** Somebody is about to read; followed by `leave` when it has read. */
  enter(): void {
    this.#readers++;
  }

  leave(): void {
    if (--this.#readers === 0) this.#latest = undefined;
  }

  /** One that holds the event after `cursor`. If it has to be read, then with that many events, and with names added to `steps`. */
  async pageAfter(cursor: number, limit: number, steps: NamedSteps): Promise<PastPage> {
    if (this.#latest?.batch.holds(cursor)) return this.#latest;
    let read = this.#reads.get(cursor);
    if (!read) {
      read = this.#read(cursor, limit, steps).finally(() => this.#reads.delete(cursor));
      this.#reads.set(cursor, read);
    }
    return read;
  }

  async #read(cursor: number, limit: number, steps: NamedSteps): Promise<PastPage> {
    const { engine, run } = this;
    const page = await engine.history(run, { afterEventId: cursor, limit, maxBytes: STREAM_PAGE_BYTES });
    const { events, ended } = page;
    invariant(events.length > 0, `run ${run.runId} has no event after ${cursor}`);
    await nameSteps(engine, run, page, steps);
    const read = { batch: new Batch(run.runId, events, steps), terminal: ended ? events.at(-1) : undefined };
    if (this.#readers > 0) this.#latest = read;
    return read;
  }

  /** Whether a page is kept. */
  get isKept(): boolean {
    return this.#latest !== undefined;
  }
}
