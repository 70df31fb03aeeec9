/**
 * Single runs, as the cluster knows them at this moment: always asked of the run itself, never of the visibility
 * store, which lags behind.
 *
 * Registrations and the keepers of idempotency keys are workflows to Temporal. To callers they do not exist.
 */
import type { temporal } from '@temporalio/proto';
import { PerdureError } from '../core/errors.js';
import type { EventOf } from '../core/event.js';
import { invariant } from '../core/invariant.js';
import type { RunDescription, RunRef, RunSelector, RunSummary } from '../engine.js';
import type { CallOptions, Cluster } from './connection.js';
import { CATALOG_WORKFLOW_TYPE, IDEMPOTENCY_WORKFLOW_TYPE } from './conventions.js';
import { CODE, errorOfRun, isRefused, notFound } from './errors.js';
import { eventFromProto, type ProtoEvent } from './translate/event.js';
import type { ProtoPayload } from './translate/payload.js';
import { instant, int, statusFromProto } from './translate/proto.js';
import { readable } from './translate/turn-failure.js';

export type Memo = Readonly<Record<string, ProtoPayload>>;
type Described = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;

export interface KnownRun extends RunSummary {
  historyLength: number;
  memo: Memo;
  /** The run that a reset has made of this one. */
  resetRunId?: string;
  /** Since when and how often the turn that is due was tried. */
  pendingTurn?: { attempt: number };
}

export interface FirstEvent {
  attributes: EventOf<'WORKFLOW_EXECUTION_STARTED'>['attributes'];
  memo: Memo;
  header: Memo;
}

/** Numbers of Temporal's EventType enum. */
const TURN_FAILED = 9;
const TURN_EVENTS: ReadonlySet<number> = new Set([7, 8, TURN_FAILED]);
/** How many of the last events may be newer than the turn that failed. */
const LAST_EVENTS = 50;
/** Of WorkflowTaskFailedCause: what is repeated at once and says nothing about the code. */
const PASSING_CAUSES: ReadonlySet<number> = new Set([1, 13, 17, 18, 20, 31]);

export function isHidden(run: { workflowType: string; workflowId: string; catalog: string }): boolean {
  const { workflowType, workflowId, catalog } = run;
  return (
    workflowType === CATALOG_WORKFLOW_TYPE ||
    workflowType === IDEMPOTENCY_WORKFLOW_TYPE ||
    // Registrations of other makers have types of their own.
    workflowId === catalog
  );
}

export class Runs {
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

  async describe(selector: RunSelector): Promise<RunDescription> {
    const run = await this.look(selector);
    const [{ attributes }, heldBack] = await Promise.all([this.firstEvent(run), this.heldBack(run)]);
    const { workflowId, runId, workflowType, catalog, status, startedAt, completedAt, historyLength } = run;
    return {
      ...{ workflowId, runId, workflowType, catalog, status, startedAt, completedAt, historyLength },
      input: attributes.input[0],
      firstRunId: attributes.firstExecutionRunId,
      ...(heldBack && { heldBack }),
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
    const failed = (await this.#lastEvents(run)).find(({ eventType }) => TURN_EVENTS.has(eventType ?? 0));
    const attributes = failed?.workflowTaskFailedEventAttributes;
    if (!failed || !attributes || PASSING_CAUSES.has(attributes.cause ?? 0)) return undefined;
    const reason = readable(attributes.failure?.message) || 'its last turn failed';
    return { reason, since: instant(failed.eventTime) };
  }

  /** Newest first. */
  async #lastEvents({ workflowId, runId }: RunRef): Promise<ProtoEvent[]> {
    const { namespace } = this.cluster;
    const { history } = await this.cluster.call((service) =>
      service.getWorkflowExecutionHistoryReverse({
        namespace,
        execution: { workflowId, runId },
        maximumPageSize: LAST_EVENTS,
      }),
    );
    return history?.events ?? [];
  }
}

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
  const attempt = described.pendingWorkflowTask?.attempt;
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
    ...(resetRunId && { resetRunId }),
    ...(attempt && { pendingTurn: { attempt } }),
  };
}
