/**
 * Histories, page by page.
 *
 * Temporal pages by tokens, callers by event numbers. A reader that goes on where a page ended goes on with the token
 * of that place, which is remembered; anybody else is brought there from the first event, without keeping what lies
 * before. Nothing else is kept between reads, so another server reads the same.
 */
import { CLOSE_EVENTS, type HistoryEvent } from '../core/event.js';
import { invariant } from '../core/invariant.js';
import type { HistoryOptions, HistoryPage, RunRef, RunSelector } from '../engine.js';
import { BoundedMap } from './bounded-map.js';
import type { Cluster } from './connection.js';
import { CODE, errorOfRun, isRefused } from './errors.js';
import type { KnownRun, Runs } from './runs.js';
import { eventFromProto, type ProtoEvent } from './translate/event.js';
import { followSteps, type OpenStep } from './translate/open-steps.js';

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
  pageSize: number;
  events: ProtoEvent[];
  nextToken: Uint8Array | undefined;
}

const START: Place = { token: undefined, at: 0, lastAt: 0, steps: new Map() };
const REMEMBERED_PLACES = 5_000;
/** What a cluster gives at once by default. */
const MAX_PAGE = 256;
/** The cluster ends a poll by itself after 20 s. */
const POLL_MS = 30_000;
const PAGE_TIMEOUT_MS = 10_000;

export class Histories {
  readonly #places = new BoundedMap<string, Place>(REMEMBERED_PLACES);

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
  ) {}

  async read(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    const { afterEventId, limit, waitMs = 0, abort } = options;
    const deadline = Date.now() + waitMs;
    // Who is known to be there and waits needs no look first: the poll itself answers when there is something.
    const isOnTheWay =
      selector.runId !== undefined && this.#places.get(keyOf(selector.runId, afterEventId)) !== undefined;
    const run = waitMs > 0 && isOnTheWay ? undefined : await this.runs.look(selector);
    const ref = { workflowId: selector.workflowId, runId: run?.runId ?? selector.runId! };
    if (run && afterEventId >= run.historyLength) {
      if (run.status !== 'running') return { runId: ref.runId, events: [], ended: true };
      if (waitMs === 0) return { runId: ref.runId, events: [], ended: false };
    }
    const reading = new Reading(ref.runId, afterEventId, limit, this.#places);
    for (;;) {
      // Only up to here there is something to read for sure; beyond, the call waits.
      const isThere = run !== undefined && reading.position < run.historyLength;
      const leftMs = deadline - Date.now();
      if (abort?.aborted || (!isThere && (reading.events.length > 0 || leftMs <= 0))) break;
      const page = await this.#page(ref, reading, isThere ? undefined : Math.min(leftMs, POLL_MS), abort);
      if (page) {
        invariant(
          !isThere || page.events.length > 0 || page.nextToken,
          `run ${ref.runId} has no event after ${reading.position}`,
        );
        reading.take(page);
      }
      if (reading.isFull || reading.hasEnded) break;
    }
    return this.#told(reading, ref, run);
  }

  /** Undefined when nothing came in the time of a poll. */
  async #page(
    { workflowId, runId }: RunRef,
    { place, wanted }: Reading,
    pollMs: number | undefined,
    abort: AbortSignal | undefined,
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
              // A token for more comes only to those who would wait for it.
              waitNewEvent: true,
            }),
          { timeoutMs: pollMs ?? PAGE_TIMEOUT_MS, isPoll: pollMs !== undefined, abort },
        );
        return {
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
  position: number;
  place: Place;

  constructor(
    private readonly runId: string,
    private readonly afterEventId: number,
    private readonly limit: number,
    private readonly places: BoundedMap<string, Place>,
  ) {
    const found = places.get(keyOf(runId, afterEventId));
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

  take({ events, nextToken, pageSize }: ServerPage): void {
    const steps = new Map(this.place.steps);
    let { lastAt } = this.place;
    for (const proto of events) {
      const event = eventFromProto(proto, steps);
      // The start of a step is recorded with its end, and Temporal keeps the time at which it was.
      event.at = Math.max(event.at, lastAt);
      lastAt = event.at;
      const step =
        'scheduledEventId' in event.attributes ? steps.get(event.attributes.scheduledEventId) : undefined;
      followSteps(steps, event);
      // A page that was read before begins before the place where the reader stands.
      if (event.id <= this.position) continue;
      if (this.isFull) {
        this.#remember({ ...this.place, pageSize });
        return;
      }
      this.position = event.id;
      if (event.id <= this.afterEventId) continue;
      this.events.push(event);
      if (step) this.steps.set((event.attributes as { scheduledEventId: number }).scheduledEventId, step);
    }
    // Whoever would wait is always given a token, unless there is nothing more to come.
    const last = this.events.at(-1);
    this.hasEnded = nextToken === undefined || (last !== undefined && CLOSE_EVENTS.has(last.type));
    if (nextToken !== undefined) this.place = { token: nextToken, at: this.position, lastAt, steps };
    this.#remember(this.place);
  }

  /** Where to go on after the last event that was read. */
  #remember(place: Place): void {
    this.places.set(keyOf(this.runId, this.position), place);
  }
}

const keyOf = (runId: string, eventId: number): string => `${runId}/${eventId}`;
