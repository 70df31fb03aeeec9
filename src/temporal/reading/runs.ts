/**
 * Single runs, as the cluster knows them at this moment: always asked of the run itself, never of the visibility
 * store, which lags behind.
 *
 * Registrations and the keepers of keys are workflows to Temporal. To callers they do not exist.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { temporal } from '@temporalio/proto';
import { PerdureError } from '../../core/errors.js';
import type { EventOf } from '../../core/history/event.js';
import { invariant } from '../../core/invariant.js';
import { isPauseSignal, type Paused, pausedAfter, pausedOf } from '../../core/run/pause.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { Payload } from '../../core/values/json.js';
import type { RunDescription, RunRef, RunSelector, RunSummary } from '../../engine.js';
import { BoundedMap } from '../cluster/bounded-map.js';
import type { CallOptions, Cluster } from '../cluster/connection.js';
import { HIDDEN_WORKFLOW_TYPES, MEMO } from '../cluster/conventions.js';
import { CODE, errorOfRun, isClosing, isRefused, notFound, unavailable } from '../cluster/errors.js';
import { versionOfBuild } from '../translate/build-id.js';
import { eventFromProto, type ProtoEvent } from '../translate/event.js';
import { decoded, fromPayloads, type ProtoPayload } from '../translate/payload.js';
import { instant, int, statusFromProto } from '../translate/proto.js';
import { readable } from '../translate/turn-failure.js';

export type Memo = Readonly<Record<string, ProtoPayload>>;
type Described = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;

export interface KnownRun extends RunSummary {
  historyLength: number;
  memo: Memo;
  /** Of its chain. */
  firstRunId?: string;
  /** The run that a reset has made of this one. */
  resetRunId?: string;
  /** Of the code that made its last turn. */
  version?: CodeVersion;
  /** The turn that is due or under way. */
  pendingTurn?: PendingTurn;
  /** Steps that have not ended. */
  pendingSteps: readonly PendingStep[];
  /** Children that have not ended. */
  pendingChildren: readonly PendingChild[];
  /** It was asked to stop. */
  isStopping: boolean;
  /** When a run that follows a failed one makes its first turn. */
  firstTurnAt: number;
}

export interface PendingTurn {
  /** How often it was tried. */
  attempt: number;
  scheduledAt: number;
  /** When a worker was given it; undefined while none has it. */
  startedAt?: number;
}

export type PendingStep = temporal.api.workflow.v1.IPendingActivityInfo;
export type PendingChild = temporal.api.workflow.v1.IPendingChildExecutionInfo;

export interface FirstEvent {
  attributes: EventOf<'WORKFLOW_EXECUTION_STARTED'>['attributes'];
  memo: Memo;
  header: Memo;
}

/** Numbers of Temporal's EventType enum. */
const TURN_COMPLETED = 7;
const TURN_FAILED = 9;
const TURN_EVENTS: ReadonlySet<number> = new Set([TURN_COMPLETED, 8, TURN_FAILED]);
/** How many runs of a chain a message follows that each close before it comes. */
const MAX_RUNS = 20;
/** Most runs that are about to close have done so after this. */
const CLOSES_WITHIN_MS = 50;
/** A page of the history, from its end: it counts what was written together, and that may be large. */
const LAST_EVENTS = 50;
/** Of how many runs it is known up to which event they were read: what came without a turn may be thousands of messages. */
const RUNS_READ = 1_000;
/** Sizes of the first pages where little is expected. */
const FEW_AT_FIRST = [1, 1, 2, 4];
/** Of WorkflowTaskFailedCause: what is repeated at once and says nothing about the code. */
const PASSING_CAUSES: ReadonlySet<number> = new Set([1, 13, 17, 18, 20, 31]);

export function isHidden(run: { workflowType: string; workflowId: string; catalog: string }): boolean {
  const { workflowType, workflowId, catalog } = run;
  return (
    HIDDEN_WORKFLOW_TYPES.includes(workflowType) ||
    // Registrations of other makers have types of their own.
    workflowId === catalog
  );
}

/** What the events up to one of them have said. */
interface ReadUpTo<T> {
  /** Of a message, which keeps its number: that of a turn under way may become another event's. */
  eventId: number;
  said: T;
}

export class Runs {
  readonly #pausesRead = new BoundedMap<string, ReadUpTo<Paused | undefined>>(RUNS_READ);
  readonly #turnsRead = new BoundedMap<string, ReadUpTo<ProtoEvent | undefined>>(RUNS_READ);

  constructor(private readonly cluster: Cluster) {}

  /** @throws WorkflowNotFoundError */
  async look(selector: RunSelector, options?: CallOptions): Promise<KnownRun> {
    const run = await this.lookAny(selector, options);
    if (!run || isHidden(run)) throw notFound(selector);
    return run;
  }

  /** Those that callers do not see as well; undefined when there is none. */
  async lookAny({ workflowId, runId }: RunSelector, options?: CallOptions): Promise<KnownRun | undefined> {
    const { namespace } = this.cluster;
    try {
      return knownRun(
        await this.cluster.call(
          (service) => service.describeWorkflowExecution({ namespace, execution: { workflowId, runId } }),
          options,
        ),
      );
    } catch (error) {
      if (isRefused(error, CODE.NOT_FOUND)) return undefined;
      throw error;
    }
  }

  /** @throws WorkflowNotFoundError, WorkflowAlreadyClosedError with `what` the run was to take */
  async lookOpen(selector: RunSelector, what: string): Promise<KnownRun> {
    const run = await this.look(selector);
    if (run.status !== 'running') throw closed(run, what);
    return run;
  }

  /**
   * What `act` comes to with the run that is open. Temporal knows what was asked before only within one run, so `act`
   * names that run; when it has closed before it could be reached, the one that has taken its place is next, unless
   * the selector names the run.
   * @throws WorkflowNotFoundError, WorkflowAlreadyClosedError with `what` the run was to take
   */
  async onOpen<T>(selector: RunSelector, what: string, act: (run: KnownRun) => Promise<T>): Promise<T> {
    for (let tries = 1; tries <= MAX_RUNS; tries++) {
      const run = await this.lookOpen(selector, what);
      try {
        return await act(run);
      } catch (error) {
        // Temporal says "not found" of closed runs as well.
        if (!isRefused(error, CODE.NOT_FOUND) && !isClosing(error)) throw errorOfRun(error, run);
        if (isClosing(error)) await sleep(CLOSES_WITHIN_MS);
      }
    }
    throw unavailable('the run goes on as another one again and again; try again', 1);
  }

  async describe(selector: RunSelector, { withInput = true } = {}): Promise<RunDescription> {
    const run = await this.look(selector);
    // Clusters that do not tell it otherwise have it in the first event, as the input is.
    const isFirstWanted = withInput || run.firstRunId === undefined;
    const [first, heldBack, paused] = await Promise.all([
      isFirstWanted ? this.firstEvent(run) : undefined,
      this.heldBack(run),
      this.paused(run),
    ]);
    const { workflowId, runId, workflowType, catalog, status, startedAt, completedAt, historyLength } = run;
    return {
      ...{ workflowId, runId, workflowType, catalog, status, startedAt, completedAt, historyLength },
      input: first?.attributes.input[0],
      firstRunId: run.firstRunId ?? first!.attributes.firstExecutionRunId,
      ...(heldBack && { heldBack }),
      ...(paused && { paused }),
      ...(run.version && { version: run.version }),
    };
  }

  /** @throws WorkflowNotFoundError */
  async firstEvent({ workflowId, runId }: RunRef): Promise<FirstEvent> {
    const { namespace } = this.cluster;
    try {
      const { history } = await this.cluster.call((service) =>
        service.getWorkflowExecutionHistory({
          namespace,
          execution: { workflowId, runId },
          maximumPageSize: 1,
        }),
      );
      const proto = history?.events?.[0];
      invariant(proto?.workflowExecutionStartedEventAttributes, `run ${runId} does not begin with its start`);
      const { memo, header } = proto.workflowExecutionStartedEventAttributes;
      const event = eventFromProto(proto, new Map()) as EventOf<'WORKFLOW_EXECUTION_STARTED'>;
      return { attributes: event.attributes, memo: memo?.fields ?? {}, header: header?.fields ?? {} };
    } catch (error) {
      throw errorOfRun(error, { workflowId, runId });
    }
  }

  /** Why an open run does not go on: its last turn failed and is tried again and again. */
  async heldBack(run: KnownRun): Promise<RunDescription['heldBack']> {
    if (run.status !== 'running' || (run.pendingTurn?.attempt ?? 1) <= 1) return undefined;
    const failed = await this.#lastOfTurns(run);
    const attributes = failed?.workflowTaskFailedEventAttributes;
    if (!failed || !attributes || PASSING_CAUSES.has(attributes.cause ?? 0)) return undefined;
    const reason = readable(attributes.failure?.message) || 'its last turn failed';
    return { reason, since: instant(failed.eventTime) };
  }

  /**
   * While it is paused, by whom and why. Its last turn has written that into the memo; what has come since is in the
   * history.
   */
  async paused(run: KnownRun): Promise<Paused | undefined> {
    if (run.status !== 'running' || run.isStopping) return undefined;
    const isUpToDate = !run.pendingTurn && run.firstTurnAt <= Date.now();
    if (isUpToDate) return run.paused;
    // What it began with is no message, and has the whole input in it.
    const beginning = run.firstTurnAt > Date.now() ? 1 : 2;
    if (run.historyLength <= beginning) return run.paused;
    const read = this.#pausesRead.get(run.runId);
    let before = run.paused;
    let newest: number | undefined;
    const messages: { signalName: string; input: Payload[] }[] = [];
    // However many messages came after the one that paused it: nobody would resume a run that seems not to be paused.
    for await (const event of this.eventsBackwards(run, FEW_AT_FIRST)) {
      const eventId = int(event.eventId);
      // Of a turn that has ended since the run was looked at, the memo in hand does not know.
      if (event.eventType === TURN_COMPLETED && eventId <= run.historyLength) break;
      if (eventId === read?.eventId) {
        before = read.said;
        break;
      }
      const { signalName, input } = event.workflowExecutionSignaledEventAttributes ?? {};
      if (signalName) newest ??= eventId;
      if (signalName && isPauseSignal(signalName)) messages.push({ signalName, input: fromPayloads(input) });
      if (eventId <= beginning + 1) break;
    }
    const paused = messages.reduceRight(
      (paused: Paused | undefined, { signalName, input }) => pausedAfter(paused, signalName, input),
      before,
    );
    if (newest !== undefined) this.#pausesRead.set(run.runId, { eventId: newest, said: paused });
    return paused;
  }

  async #lastOfTurns(run: RunRef): Promise<ProtoEvent | undefined> {
    const read = this.#turnsRead.get(run.runId);
    let said: ProtoEvent | undefined;
    let newest: number | undefined;
    for await (const event of this.eventsBackwards(run)) {
      const eventId = int(event.eventId);
      if (event.workflowExecutionSignaledEventAttributes) newest ??= eventId;
      const isRead = eventId === read?.eventId;
      if (isRead) said = read.said;
      else if (TURN_EVENTS.has(event.eventType ?? 0)) said = event;
      if (isRead || said) break;
    }
    if (newest !== undefined) this.#turnsRead.set(run.runId, { eventId: newest, said });
    return said;
  }

  /** All of them, newest first. */
  async *eventsBackwards(
    { workflowId, runId }: RunRef,
    pageSizes: readonly number[] = [],
  ): AsyncGenerator<ProtoEvent> {
    const { namespace } = this.cluster;
    let token: Uint8Array | null | undefined;
    let page = 0;
    do {
      const maximumPageSize = pageSizes[page++] ?? LAST_EVENTS;
      const { history, nextPageToken } = await this.cluster.call((service) =>
        service.getWorkflowExecutionHistoryReverse({
          namespace,
          execution: { workflowId, runId },
          maximumPageSize,
          nextPageToken: token,
        }),
      );
      yield* history?.events ?? [];
      token = nextPageToken;
    } while (token?.length);
  }
}

/** What comes during a turn is in the history when that has ended: until then nobody can see whether it is there. */
export const mayHaveMessages = ({ pendingTurn }: KnownRun): boolean => pendingTurn?.startedAt !== undefined;

export function closed({ workflowId, runId, status }: RunSummary, what: string): PerdureError {
  return new PerdureError(
    'WorkflowAlreadyClosedError',
    `run ${runId} is closed (${status}) and cannot take ${what}`,
    { workflowId, runId },
  );
}

function knownRun({ workflowExecutionInfo: info, ...described }: Described): KnownRun {
  const status = statusFromProto(info?.status);
  const resetRunId = described.workflowExtendedInfo?.resetRunId;
  const paused = pausedIn(info?.memo?.fields ?? {});
  const version = versionOfBuild(info?.mostRecentWorkerVersionStamp?.buildId);
  return {
    workflowId: info?.execution?.workflowId ?? '',
    runId: info?.execution?.runId ?? '',
    workflowType: info?.type?.name ?? '',
    catalog: info?.taskQueue ?? '',
    status,
    startedAt: instant(info?.startTime),
    completedAt: status === 'running' ? null : instant(info?.closeTime),
    historyLength: int(info?.historyLength),
    memo: info?.memo?.fields ?? {},
    ...(info?.firstRunId && { firstRunId: info.firstRunId }),
    ...(resetRunId && { resetRunId }),
    ...(paused && { paused }),
    ...(described.pendingWorkflowTask && { pendingTurn: pendingTurn(described.pendingWorkflowTask) }),
    pendingSteps: described.pendingActivities ?? [],
    pendingChildren: described.pendingChildren ?? [],
    isStopping: described.workflowExtendedInfo?.cancelRequested === true,
    firstTurnAt: instant(info?.executionTime),
    ...(version && { version }),
  };
}

function pendingTurn(task: temporal.api.workflow.v1.IPendingWorkflowTaskInfo): PendingTurn {
  const { attempt, scheduledTime, startedTime } = task;
  return {
    attempt: attempt ?? 1,
    scheduledAt: instant(scheduledTime),
    ...(startedTime && { startedAt: instant(startedTime) }),
  };
}

/** As the run itself has recorded it. */
export function pausedIn(memo: Memo): Paused | undefined {
  const written = decoded(memo[MEMO.paused]);
  return typeof written === 'object' && written !== null
    ? pausedOf(written as Record<string, unknown>)
    : undefined;
}
