/** One workflow that is there: everything that can be asked of it and done to it. */
import { segmentOfId } from '../core/values/id-segment.js';
import { bound, pause, untilAborted } from './bounded.js';
import {
  ApiError,
  afterSending,
  type ClientError,
  isOutcome,
  outputOf,
  WorkflowAlreadyClosedError,
} from './errors.js';
import { follow, type RunEvent } from './follow.js';
import {
  type Call,
  type CallOptions,
  callOptions,
  isText,
  limited,
  limitsOf,
  nextAfter,
  requireText,
  segment,
  type Transport,
} from './transport.js';
import type { AnyWorkflow, InputThen, MessageName, PayloadOf, ReplyOf, WorkflowOutputOf } from './types.js';
import type {
  CostPageQuery,
  Costs,
  HistoryPage,
  HistoryPageQuery,
  LegacyWorkflowResult,
  RunBudget,
  RunRef,
  RunStatus,
  StatusRecord,
  Stopped,
  StreamTicket,
  Terminated,
  TraceLog,
  Why,
  WorkflowInput,
  WorkflowResult,
} from './wire.js';

export interface OutcomeOptions extends CallOptions {
  /** How long to wait for the end of an open run, in milliseconds; 0 for not at all. Default: until it ends. */
  waitMs?: number;
}

export interface HistoryOptions extends CallOptions {
  /** Whether to go on with events as they happen, until the run has ended. */
  follow?: boolean;
  /** Whether events carry what user code gave and threw. */
  includePayloads?: boolean;
  /** Only with `follow`: goes on after this event, `<runId>/<eventId>`. */
  lastEventId?: string;
}

export type ResetOptions = CallOptions & { reason?: string } & (
    | {
        /** The new run goes on after the completion of this step. */
        stepName: string;
        /** Which execution of the step, from 1; the last completed one if not given. */
        occurrence?: number;
        toStart?: undefined;
      }
    | {
        /** The new run begins anew, with the same input. */
        toStart: true;
        stepName?: undefined;
        occurrence?: undefined;
      }
  );

/** What one wait may take at the server; longer ones are cut by what stands between. */
const WAIT_MS = 30_000;
/** Between two questions, where the server does not wait. */
const UNHURRIED_MS = 250;
const PAGE_SIZE = 500;

type Result = WorkflowResult | LegacyWorkflowResult;

export const isRunRef = ({ workflowId, runId }: RunRef): boolean => isText(workflowId) && isText(runId);

/**
 * Speaks to the latest run of its id, whichever that is, unless it is bound to one run. Signals, queries, updates and
 * feedback always go to the latest.
 */
export class WorkflowHandle<W extends AnyWorkflow = AnyWorkflow> {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #runPath: string;

  constructor(
    transport: Transport,
    readonly workflowId: string,
    /** The run that it is bound to. */
    readonly runId?: string,
    /** The run that was started, of a handle that `start` gave. */
    readonly startedRunId?: string,
  ) {
    requireText(workflowId, 'the id of a workflow');
    // Its address would be that of a catalog.
    if (workflowId === 'catalog') throw new TypeError('no workflow can have the id "catalog"');
    this.#transport = transport;
    this.#path = `/workflow/${segmentOfId(workflowId)}`;
    this.#runPath = runId === undefined ? this.#path : this.#pathOf(runId);
  }

  status(options: CallOptions = {}): Promise<StatusRecord> {
    return this.#transport.json(this.#read('status', options), 'runId');
  }

  /** What the workflow was first started with; of a handle that is bound to a run, that run's own input. */
  input(options: CallOptions = {}): Promise<WorkflowInput> {
    return this.#transport.json(this.#read('input', options), 'input');
  }

  /** What the workflow returned, waiting for its end. @throws WorkflowFailedError and its like */
  async result(options: OutcomeOptions = {}): Promise<WorkflowOutputOf<W>> {
    return outputOf(await this.outcome(options)) as WorkflowOutputOf<W>;
  }

  /** How the workflow ended, whichever way, waiting for that. @throws WorkflowNotCompletedError after `waitMs` */
  outcome({ waitMs = Number.POSITIVE_INFINITY, ...options }: OutcomeOptions = {}): Promise<Result> {
    return limited(callOptions(options), async (signal) => {
      const until = performance.now() + waitMs;
      for (let hasAsked = false; ; hasAsked = true) {
        const askedAt = performance.now();
        const wait = Math.max(0, Math.min(WAIT_MS, Math.round(until - askedAt)));
        try {
          const call = this.#read('result', { signal }, wait === 0 ? {} : { wait });
          return await this.#transport.json<Result>({ ...call, waitMs: wait }, isOutcome);
        } catch (error) {
          const isOpen = (error as ClientError).name === 'WorkflowNotCompletedError';
          if (!isOpen || performance.now() >= until) throw hasAsked ? afterSending(error) : error;
        }
        // A server that stops does not wait as long as it was asked to.
        const early = askedAt + wait - performance.now();
        if (early > 0) await pause(Math.min(early, UNHURRIED_MS), signal);
      }
    });
  }

  /** The trace of a closed run. `inline` asks for a trace in a local file to be sent as well. */
  traceLog({ inline, ...options }: CallOptions & { inline?: boolean } = {}): Promise<TraceLog> {
    return this.#transport.json(this.#read('trace-log', options, { inline }), 'source');
  }

  /** Why the run is where it is, in words, and what to do about it. */
  why(options: CallOptions = {}): Promise<Why> {
    return this.#transport.json(this.#read('why', options), 'reasons');
  }

  /** What the run has spent so far; with `scope`, all runs of its chain or of its tree. */
  cost({ signal, timeoutMs, ...query }: CallOptions & CostPageQuery = {}): Promise<Costs> {
    return this.#transport.json(this.#read('cost', { signal, timeoutMs }, query), 'totals');
  }

  /** Changes what the run and all that belong to it may spend; where it now suffices, they go on. */
  setBudget(amount: number | string, options: CallOptions = {}): Promise<RunBudget> {
    return this.#onRun(options, (path, call) =>
      this.#transport.json<RunBudget>(
        { ...call, method: 'PATCH', path: `${path}/budget`, body: { amount }, isRepeatable: true },
        'budget',
      ),
    );
  }

  /** Cancels: cleanup runs. Does nothing to a run that has ended. */
  async stop(options: CallOptions = {}): Promise<Stopped> {
    return this.#onRun(options, async (path, call, isSuperseded) => {
      const answer = await this.#transport.json<Stopped>(
        { ...call, method: 'PATCH', path: `${path}/stop`, isRepeatable: true },
        'runId',
      );
      // The run that was the latest has made way for another one in between.
      return isSuperseded(answer.status) ? undefined : answer;
    });
  }

  /** Ends the run at once, without cleanup. */
  async terminate({ reason, ...options }: CallOptions & { reason?: string } = {}): Promise<Terminated> {
    return this.#onRun(options, async (path, call, isSuperseded) => {
      let isUnclear = false;
      const isFinal = (error: unknown) => {
        isUnclear ||= !(error instanceof ApiError && error.status < 500);
        return false;
      };
      try {
        return await this.#transport.json<Terminated>(
          {
            ...{ ...call, method: 'POST', path: `${path}/terminate`, body: { reason } },
            ...{ isRepeatable: true, isFinal },
          },
          'runId',
        );
      } catch (error) {
        if (!(error instanceof WorkflowAlreadyClosedError)) throw error;
        const asking = this.#transport.json<StatusRecord>(
          { ...call, method: 'GET', path: `${path}/status`, isRepeatable: true },
          'runId',
        );
        const { workflowId, runId, status } = await asking.catch((lost) => {
          throw afterSending(lost);
        });
        // It was an earlier try of this very call that closed the run, and its answer got lost.
        if (isUnclear && status === 'terminated') return { workflowId, runId, terminated: true };
        if (isSuperseded(status)) return undefined;
        throw error;
      }
    });
  }

  /** Nothing new of the run is started until it is resumed. Does nothing to one that is paused. */
  pause({ reason, ...options }: CallOptions & { reason?: string } = {}): Promise<RunRef> {
    return this.#toRun('pause', options, { reason });
  }

  /** Lets a paused run go on. */
  resume(options: CallOptions = {}): Promise<RunRef> {
    return this.#toRun('resume', options);
  }

  /** What may be asked for again and again. */
  #toRun(action: string, options: CallOptions, body?: object): Promise<RunRef> {
    return this.#onRun(options, (path, call) =>
      this.#transport.json<RunRef>(
        { ...call, method: 'POST', path: `${path}/${action}`, body, isRepeatable: true },
        'runId',
      ),
    );
  }

  /** Starts a new run that goes on after a completed step, or from the beginning; an open run is terminated. */
  async reset({ signal, timeoutMs, ...point }: ResetOptions): Promise<WorkflowHandle<W>> {
    const { workflowId, runId } = await this.#onRun({ signal, timeoutMs }, (path, call) =>
      // A second one would make a second run.
      this.#transport.json<RunRef>(
        { ...call, method: 'POST', path: `${path}/reset`, body: point, isRepeatable: false },
        isRunRef,
      ),
    );
    return new WorkflowHandle<W>(this.#transport, workflowId, undefined, runId);
  }

  /**
   * Acts on the run that the handle is bound to, else on the latest one by its id, so that a repeat can only ever hit
   * the same run. `act` answers undefined when that run has been continued as new, and then the next one is taken.
   */
  #onRun<T>(
    options: CallOptions,
    act: (
      path: string,
      options: CallOptions,
      /** Whether the run was the latest, and is not any more. */
      isSuperseded: (status: RunStatus | undefined) => boolean,
    ) => Promise<T | undefined>,
  ): Promise<T> {
    return limited(callOptions(options), async (signal) => {
      for (let left: string | undefined; ; ) {
        try {
          const runId = this.runId ?? (await this.status({ signal })).runId;
          // One that is still the latest has nobody to take its place, as where that one has left retention first.
          const mayHaveNext = this.runId === undefined && runId !== left;
          const answer = await act(
            this.#pathOf(runId),
            { signal },
            (status) => mayHaveNext && status === 'continued_as_new',
          );
          if (answer !== undefined) return answer;
          left = runId;
        } catch (error) {
          throw left === undefined ? error : afterSending(error);
        }
      }
    });
  }

  /**
   * The events of the run, oldest first. With `follow` it goes on as they happen, over connections that break and over
   * continue-as-new (unless the handle is bound to one run), until the end; no event comes twice and none is lost.
   */
  history(options: HistoryOptions = {}): AsyncGenerator<RunEvent, void, void> {
    const { follow, includePayloads, lastEventId, ...others } = options;
    const limits = callOptions(others);
    if (follow !== true && lastEventId !== undefined)
      throw new TypeError('lastEventId goes with follow: true');
    return this.#history({ follow, includePayloads, lastEventId }, limits);
  }

  async *#history(options: HistoryOptions, limits: CallOptions): AsyncGenerator<RunEvent, void, void> {
    // Over all of it: as long as the caller takes the events, not as long as one answer takes.
    const limit = bound(limitsOf(limits));
    try {
      yield* untilAborted(this.#events(options, limit.signal), limit.signal);
    } finally {
      limit.release();
    }
  }

  #events(
    { follow: isLive, includePayloads, lastEventId }: HistoryOptions,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<RunEvent, void, void> {
    if (!isLive) return this.#pages({ includePayloads, signal });
    const { runId: pinnedRunId, startedRunId } = this;
    // From the run that was started, also when another one has taken over meanwhile.
    const beginning = startedRunId && `${startedRunId}/0`;
    return follow(this.#transport, {
      path: `${this.#runPath}/history/stream`,
      pinnedRunId,
      lastEventId: lastEventId ?? beginning,
      includePayloads,
      signal,
    });
  }

  async *#pages(options: CallOptions & { includePayloads?: boolean }): AsyncGenerator<RunEvent, void, void> {
    let pageToken: string | undefined;
    do {
      const page = await this.historyPage({ ...options, pageSize: PAGE_SIZE, pageToken });
      for (const event of page.events) yield { ...event, runId: page.runId };
      pageToken = nextAfter(page.nextPageToken, pageToken);
    } while (pageToken !== undefined);
  }

  /** One page of events, as the API gives it; with `longPollTimeoutMs` it waits for new ones. */
  historyPage({ signal, timeoutMs, ...query }: CallOptions & HistoryPageQuery = {}): Promise<HistoryPage> {
    const waitMs = Math.min(query.longPollTimeoutMs ?? 0, 60_000);
    return this.#transport.json({ ...this.#read('history', { signal, timeoutMs }, query), waitMs }, 'events');
  }

  /** Resolves once the signal is on disk. Never sent twice: when it is unclear whether it arrived, it throws. */
  signal<Name extends MessageName<W, 'signals'>>(
    name: Name,
    ...[payload, options]: InputThen<PayloadOf<W, 'signals', Name>, CallOptions>
  ): Promise<RunRef> {
    return this.#transport.json(
      this.#message(`signal/${segment(name, 'a name')}`, payload, options),
      'runId',
    );
  }

  /** What the handler answers, of an open or a closed run. */
  query<Name extends MessageName<W, 'queries'>>(
    name: Name,
    ...[payload, options]: InputThen<PayloadOf<W, 'queries', Name>, CallOptions>
  ): Promise<ReplyOf<W, 'queries', Name>> {
    const call = this.#message(`query/${segment(name, 'a name')}`, payload, options);
    return this.#transport.json({ ...call, isRepeatable: true, waitMs: Number.POSITIVE_INFINITY });
  }

  /** What the handler returns, when it has. Never sent twice: when it is unclear whether it arrived, it throws. */
  update<Name extends MessageName<W, 'updates'>>(
    name: Name,
    ...[payload, options]: InputThen<PayloadOf<W, 'updates', Name>, CallOptions>
  ): Promise<ReplyOf<W, 'updates', Name>> {
    const call = this.#message(`update/${segment(name, 'a name')}`, payload, options);
    return this.#transport.json({ ...call, waitMs: Number.POSITIVE_INFINITY });
  }

  /**
   * Resumes a workflow that waits for a callback: the one that is named, else the request that has waited longest. Never
   * sent twice: when it is unclear whether it arrived, it throws.
   */
  feedback(
    payload?: unknown,
    { callbackId, ...options }: CallOptions & { callbackId?: string } = {},
  ): Promise<RunRef> {
    const call = this.#message('feedback', payload, options);
    const body = callbackId === undefined ? call.body : { payload, callbackId };
    return this.#transport.json({ ...call, body }, 'runId');
  }

  /** With it an EventSource, which cannot send a token, opens one stream of the workflow. */
  streamTicket(options: CallOptions = {}): Promise<StreamTicket> {
    // One that nobody uses is forgotten by itself.
    return this.#transport.json(
      { ...callOptions(options), method: 'POST', path: `${this.#path}/stream-ticket`, isRepeatable: true },
      'ticket',
    );
  }

  #pathOf(runId: string): string {
    return `${this.#path}/runs/${segment(runId, 'the id of a run')}`;
  }

  #read(what: string, options: CallOptions, query?: Call['query']): Call {
    const limits = callOptions(options);
    return { ...limits, method: 'GET', path: `${this.#runPath}/${what}`, query, isRepeatable: true };
  }

  #message(what: string, payload: unknown, options: CallOptions = {}): Call {
    const body = payload === undefined ? undefined : { payload };
    const limits = callOptions(options);
    return { ...limits, method: 'POST', path: `${this.#path}/${what}`, body, isRepeatable: false };
  }
}
