/**
 * Histories, page by page.
 *
 * Temporal pages by tokens, callers by event numbers. A reader that goes on where a page ended goes on with the token
 * of that place, which is remembered; anybody else is brought there from the first event, without keeping what lies
 * before. Nothing else is kept between reads, so another server reads the same.
 */
import type { Abort } from '../../core/abort.js';
import { CLOSE_EVENTS, type HistoryEvent } from '../../core/history/event.js';
import type { HistoryOptions, HistoryPage, RunRef, RunSelector } from '../../engine.js';
import { BoundedMap } from '../cluster/bounded-map.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, errorOfRun, isRefused, unavailable } from '../cluster/errors.js';
import { eventFromProto, type ProtoEvent } from '../translate/event.js';
import { followSteps, type OpenStep } from '../translate/open-steps.js';
import type { KnownRun, Runs } from './runs.js';

/** Where the events after a number are found: the token of the page that has the first of them. */
interface Place {
  token: Uint8Array | undefined;
  /** The event before that page. */
  at: number;
  /** How much of it was asked for: the same again gives the same page, and the token after it. */
  pageSize?: number;
  /** The time of that event: as on the embedded engine, no event is older than the one before it. */
  lastAt: number;
  /** Those that are open where the page begins. */
  steps: ReadonlyMap<number, OpenStep>;
}

interface ServerPage {
  /** It was waited for. */
  isPolled: boolean;
  pageSize: number;
  events: ProtoEvent[];
  nextToken: Uint8Array | undefined;
}

const START: Place = { token: undefined, at: 0, lastAt: 0, steps: new Map() };
/** Places, and the steps that are open there: some hundred bytes each. */
const REMEMBERED = 50_000;
/** What a cluster gives at once by default. */
const MAX_PAGE = 256;
/** The cluster ends a poll by itself after 20 s. */
const POLL_MS = 30_000;
const PAGE_TIMEOUT_MS = 10_000;

/** By run and event. A token that was given to somebody who waits gives nothing to those who do not. */
interface Places {
  plain: BoundedMap<string, Place>;
  polled: BoundedMap<string, Place>;
}

const rememberedPlaces = () => new BoundedMap<string, Place>(REMEMBERED, ({ steps }) => 10 + steps.size);

export class Histories {
  readonly #places: Places = { plain: rememberedPlaces(), polled: rememberedPlaces() };

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
  ) {}

  async read(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    const { afterEventId, limit, waitMs = 0, abort } = options;
    const deadline = performance.now() + waitMs;
    // Who is known to be there and waits needs no look first: the poll itself answers when there is something.
    const isOnTheWay =
      selector.runId !== undefined &&
      placeOf(this.#places, keyOf(selector.runId, afterEventId), true) !== undefined;
    const run = waitMs > 0 && isOnTheWay ? undefined : await this.runs.look(selector);
    const ref = { workflowId: selector.workflowId, runId: run?.runId ?? selector.runId! };
    if (run && afterEventId >= run.historyLength) {
      if (run.status !== 'running') return { runId: ref.runId, events: [], ended: true };
      if (waitMs === 0) return { runId: ref.runId, events: [], ended: false };
    }
    const isPolling = run === undefined || afterEventId >= run.historyLength;
    const reading = new Reading(ref.runId, afterEventId, limit, this.#places, isPolling);
    for (;;) {
      // Only up to here there is something to read for sure; beyond, the call waits.
      const isThere = run !== undefined && reading.position < run.historyLength;
      const leftMs = deadline - performance.now();
      if (abort?.aborted || (!isThere && (reading.events.length > 0 || leftMs <= 0))) break;
      const page = await this.#page(ref, reading, {
        // A cluster lets only so many wait, so whoever need not does not.
        polls: !isThere || reading.isPastSnapshot,
        timeoutMs: isThere ? PAGE_TIMEOUT_MS : Math.min(leftMs, POLL_MS),
        abort,
      });
      if (page) reading.take(page);
      else if (isThere && !abort?.aborted)
        throw unavailable('the cluster did not give what the run has, in time', 1);
      if (reading.isFull || reading.hasEnded) break;
    }
    return this.#told(reading, ref, run);
  }

  /** Undefined when nothing came in the time of a poll. */
  async #page(
    { workflowId, runId }: RunRef,
    { place, wanted }: Reading,
    { polls, timeoutMs, abort }: { polls: boolean; timeoutMs: number; abort: Abort | undefined },
  ): Promise<ServerPage | undefined> {
    const { namespace } = this.cluster;
    for (let pageSize = place.pageSize ?? Math.min(wanted, MAX_PAGE); ; pageSize = Math.ceil(pageSize / 8)) {
      try {
        const { history, nextPageToken } = await this.cluster.call(
          (service) =>
            service.getWorkflowExecutionHistory({
              namespace,
              execution: { workflowId, runId },
              maximumPageSize: pageSize,
              nextPageToken: place.token,
              waitNewEvent: polls,
            }),
          { timeoutMs, isPoll: polls, abort },
        );
        return {
          isPolled: polls,
          pageSize,
          events: history?.events ?? [],
          nextToken: nextPageToken && nextPageToken.length > 0 ? nextPageToken : undefined,
        };
      } catch (error) {
        if (abort?.aborted || isRefused(error, CODE.DEADLINE_EXCEEDED)) return undefined;
        // Events with large payloads: fewer of them at a time fit into a message.
        if (isRefused(error, CODE.RESOURCE_EXHAUSTED) && pageSize > 1) continue;
        throw errorOfRun(error, { workflowId, runId });
      }
    }
  }

  /** A run that was reset says so in its description; its last event is where callers look for the new run. */
  async #told(reading: Reading, ref: RunRef, run: KnownRun | undefined): Promise<HistoryPage> {
    const { events, steps, hasEnded } = reading;
    const last = events.at(-1);
    if (last?.type === 'WORKFLOW_EXECUTION_TERMINATED') {
      const { resetRunId } = run?.resetRunId ? run : await this.runs.look(ref);
      if (resetRunId) last.attributes.newExecutionRunId = resetRunId;
    }
    return { runId: ref.runId, events, ended: hasEnded, ...(steps.size > 0 && { steps }) };
  }
}

/** One read under way. */
class Reading {
  readonly events: HistoryEvent[] = [];
  readonly steps = new Map<number, OpenStep>();
  /** The run is closed, and all its events were read. */
  hasEnded = false;
  /**
   * A token of a plain read leads to the end that the history had when the first page was asked for, and no further.
   * To one who waits it gives the rest as well.
   */
  isPastSnapshot = false;
  position: number;
  place: Place;

  constructor(
    private readonly runId: string,
    private readonly afterEventId: number,
    private readonly limit: number,
    private readonly places: Places,
    isPolling: boolean,
  ) {
    const found = placeOf(places, keyOf(runId, afterEventId), isPolling);
    this.place = found ?? START;
    this.position = found ? afterEventId : 0;
  }

  /** Events from where the next page begins to the last one that is of use. */
  get wanted(): number {
    return this.afterEventId + this.limit - this.place.at;
  }

  get isFull(): boolean {
    return this.events.length >= this.limit;
  }

  take({ events, nextToken, pageSize, isPolled }: ServerPage): void {
    const steps = new Map(this.place.steps);
    let { lastAt } = this.place;
    let isClosed = false;
    for (const proto of events) {
      const event = eventFromProto(proto, steps);
      // The start of a step is recorded with its end, and Temporal keeps the time at which it was.
      event.at = Math.max(event.at, lastAt);
      lastAt = event.at;
      isClosed = CLOSE_EVENTS.has(event.type);
      const step =
        'scheduledEventId' in event.attributes ? steps.get(event.attributes.scheduledEventId) : undefined;
      followSteps(steps, event);
      // A page that was read before begins before the place where the reader stands.
      if (event.id <= this.position) continue;
      if (this.isFull) {
        this.#remember({ ...this.place, pageSize }, isPolled);
        return;
      }
      this.position = event.id;
      if (event.id <= this.afterEventId) continue;
      this.events.push(event);
      if (step) this.steps.set((event.attributes as { scheduledEventId: number }).scheduledEventId, step);
    }
    // Whoever waits is always given a token, unless there is nothing more to come; others only while there is more.
    this.hasEnded = isClosed || (isPolled && nextToken === undefined);
    this.isPastSnapshot ||= !isPolled && nextToken === undefined;
    if (nextToken !== undefined) this.place = { token: nextToken, at: this.position, lastAt, steps };
    this.#remember(nextToken === undefined ? { ...this.place, pageSize } : this.place, isPolled);
  }

  /** Where to go on after the last event that was read. */
  #remember(place: Place, isPolled: boolean): void {
    this.places[isPolled ? 'polled' : 'plain'].set(keyOf(this.runId, this.position), place);
  }
}

/** A token of a plain read serves those who wait as well. */
function placeOf({ plain, polled }: Places, key: string, isPolling: boolean): Place | undefined {
  return (isPolling ? polled.get(key) : undefined) ?? plain.get(key);
}

const keyOf = (runId: string, eventId: number): string => `${runId}/${eventId}`;
