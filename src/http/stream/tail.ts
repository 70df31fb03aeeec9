/**
 * The end of one run's history, read once for all who follow it.
 *
 * 1. However many readers a run has, each new batch is read from the engine once and encoded once per form.
 * 2. Only the latest batch is kept, and only until the last reader has it. Who needs older events reads them (past.ts).
 * 3. Without readers there is no tail: the wait in the engine ends with the last of them.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { STREAM_PAGE_BYTES } from '../../core/bounds/limits.js';
import { TimeSlices } from '../../core/bounds/time-slices.js';
import { systemScheduler } from '../../core/clock.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { Engine, RunRef } from '../../engine.js';
import { type NamedSteps, nameSteps } from '../wire/events.js';
import { Batch } from './frames.js';
import { Past } from './past.js';

/** Events of one read, and so of one batch. */
const PAGE_EVENTS = 200;
/** After this time the engine is asked again; it bounds nothing that a caller sees. */
const WAIT_MS = 60_000;
/** Names kept between batches; beyond, those that are needed are looked up again. */
const MAX_NAMED_STEPS = 5_000;

export interface Follower {
  /** The last event that it has. */
  readonly cursor: number;
  /** There is more, or an end. */
  wake(): void;
}

export class Tail {
  readonly #followers = new Set<Follower>();
  readonly #abort = new AbortController();
  readonly past: Past;
  #steps: NamedSteps = new Map();
  #position: number;
  latest: Batch | undefined;
  /** The event that closed the run, once the tail has come to it. */
  terminal: HistoryEvent | undefined;
  failure: unknown;

  constructor(
    private readonly engine: Engine,
    private readonly run: RunRef,
    { historyLength, isOpen }: { historyLength: number; isOpen: boolean },
    readonly slices: TimeSlices,
    private readonly onEmpty: () => void,
  ) {
    this.past = new Past(engine, run);
    this.#position = historyLength;
    if (isOpen) void this.#follow();
  }

  /** The last event that is known to exist. */
  get position(): number {
    return this.#position;
  }

  join(follower: Follower): void {
    this.#followers.add(follower);
  }

  leave(follower: Follower): void {
    if (!this.#followers.delete(follower) || this.#followers.size > 0) return;
    this.#abort.abort();
    this.onEmpty();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    try {
      while (!signal.aborted && this.terminal === undefined) {
        const page = await this.engine.history(this.run, {
          afterEventId: this.#position,
          limit: PAGE_EVENTS,
          maxBytes: STREAM_PAGE_BYTES,
          waitMs: WAIT_MS,
          abort: signal,
        });
        const { events, ended, isCut } = page;
        if (events.length > 0) {
          // A new map: the batch before may still need the old one.
          if (this.#steps.size > MAX_NAMED_STEPS) this.#steps = new Map();
          await nameSteps(this.engine, this.run, page, this.#steps);
        }
        if (signal.aborted) return;
        await this.#take(events, ended ? (events.at(-1) ?? (await this.#lastEvent())) : undefined);
        // Readers whose socket was full for a moment get their turn before the next batch takes the place of this one.
        if (isCut || events.length === PAGE_EVENTS) await nextRound();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.failure = error;
      await this.#wakeAll();
    }
  }

  async #lastEvent(): Promise<HistoryEvent> {
    const page = await this.engine.history(this.run, { afterEventId: this.#position - 1, limit: 1 });
    return page.events[0]!;
  }

  async #take(events: HistoryEvent[], terminal: HistoryEvent | undefined): Promise<void> {
    if (events.length === 0 && !terminal) return;
    if (events.length > 0) {
      this.latest = new Batch(this.run.runId, events, this.#steps);
      this.#position = this.latest.last;
    }
    this.terminal = terminal;
    await this.#wakeAll();
    for (const { cursor } of this.#followers) if (cursor < this.#position) return;
    this.latest = undefined;
  }

  async #wakeAll(): Promise<void> {
    // One that has left meanwhile takes nothing.
    await Promise.all([...this.#followers].map((follower) => this.slices.take().then(() => follower.wake())));
  }
}

/** The tails of all runs that somebody follows. */
export class Tails {
  readonly #byRun = new Map<string, Tail>();
  readonly #slices = new TimeSlices(systemScheduler);

  constructor(private readonly engine: Engine) {}

  /** `known` is what is known of the run, for the first who follows it. */
  of(run: RunRef, known: { historyLength: number; isOpen: boolean }): Tail {
    let tail = this.#byRun.get(run.runId);
    if (!tail) {
      tail = new Tail(this.engine, run, known, this.#slices, () => this.#byRun.delete(run.runId));
      this.#byRun.set(run.runId, tail);
    }
    return tail;
  }

  get size(): number {
    return this.#byRun.size;
  }
}
