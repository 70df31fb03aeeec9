/** What attributes of several event types have in common, and the names behind the numbers of Temporal's enums. */
import type { temporal } from '@temporalio/proto';
import type { EventAttributes, Execution, TimeoutType } from '../../core/history/event.js';
import { type Failure, stepTimeoutMessage } from '../../core/history/failure.js';
import { DEPTH_HEADER } from '../cluster/conventions.js';
import { failureFromProto, type ProtoFailure } from './failure.js';
import type { OpenStep } from './open-steps.js';
import { decoded, fromSingle, type ProtoPayloads } from './payload.js';
import { int, type Proto } from './proto.js';
import { asRecorded } from './recorded.js';

// Numbers of Temporal's enums.
export const RETRY_INITIATOR = 2;
export const SIGNAL_COUNT_LIMIT_EXCEEDED = 3;
export const PARENT_CLOSE_POLICIES = [undefined, 'TERMINATE', 'ABANDON', 'REQUEST_CANCEL'] as const;
export const RETRY_STATES = [
  undefined,
  undefined,
  'NON_RETRYABLE_FAILURE',
  'TIMEOUT',
  'MAXIMUM_ATTEMPTS_REACHED',
  'RETRY_POLICY_NOT_SET',
  undefined,
  'CANCEL_REQUESTED',
] as const;
export const TIMEOUT_TYPES: readonly TimeoutType[] = [
  'START_TO_CLOSE',
  'START_TO_CLOSE',
  'SCHEDULE_TO_START',
  'SCHEDULE_TO_CLOSE',
  'HEARTBEAT',
];
/** Those that are told apart; any other says that the worker's answer was no use. */
const TURN_FAILURES: Partial<Record<number, EventAttributes['WORKFLOW_TASK_FAILED']['cause']>> = {
  20: 'RESET_WORKFLOW',
  24: 'NON_DETERMINISTIC_ERROR',
};

export function turnFailureCause(
  cause: number | null | undefined,
): EventAttributes['WORKFLOW_TASK_FAILED']['cause'] {
  return TURN_FAILURES[cause ?? 0] ?? 'WORKFLOW_WORKER_UNHANDLED_FAILURE';
}

export function optional<K extends string>(key: K, value: number | undefined): { [key in K]?: number } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: number });
}

type ProtoExecution = temporal.api.common.v1.IWorkflowExecution | null | undefined;

export function executionOf(proto: ProtoExecution): Execution {
  return { workflowId: proto?.workflowId ?? '', runId: proto?.runId ?? '' };
}

export function parentOf(proto: Proto<'WORKFLOW_EXECUTION_STARTED'>) {
  const { parentWorkflowExecution: parent, rootWorkflowExecution: root, parentInitiatedEventId } = proto;
  const depth = Number(decoded(proto.header?.fields?.[DEPTH_HEADER] ?? undefined) ?? 0);
  return {
    ...executionOf(parent),
    initiatedEventId: int(parentInitiatedEventId),
    // Without our header, Temporal knows the root of the family and the parent, not how many are between them.
    depth: depth || (root?.workflowId && root.workflowId !== parent?.workflowId ? 2 : 1),
  };
}

export function resultOf(result: ProtoPayloads | null | undefined): { result?: string } {
  const text = fromSingle(result);
  return text === undefined ? {} : { result: text };
}

export function detailsOf(details: ProtoPayloads | null | undefined): { details?: string } {
  const text = fromSingle(details);
  return text === undefined ? {} : { details: text };
}

const NO_FAILURE: Failure = { kind: 'application', type: 'Error', message: '' };

export function failureOf(failure: ProtoFailure | null | undefined): Failure {
  return failure ? failureFromProto(failure) : NO_FAILURE;
}

export function successorOf({ newExecutionRunId }: { newExecutionRunId?: string | null }) {
  return newExecutionRunId ? { newExecutionRunId } : {};
}

interface Referring {
  scheduledEventId?: Parameters<typeof int>[0];
  startedEventId?: Parameters<typeof int>[0];
  initiatedEventId?: Parameters<typeof int>[0];
}

export function turnOf({ scheduledEventId, startedEventId }: Referring) {
  return { scheduledEventId: int(scheduledEventId), startedEventId: int(startedEventId) };
}

export const stepEndOf = turnOf;

export function timerOf({ timerId, startedEventId }: Referring & { timerId?: string | null }) {
  return { timerId: timerId ?? '', startedEventId: int(startedEventId) };
}

export function childOf(
  proto: Referring & {
    workflowExecution?: ProtoExecution;
    workflowType?: temporal.api.common.v1.IWorkflowType | null;
  },
) {
  return {
    initiatedEventId: int(proto.initiatedEventId),
    startedEventId: int(proto.startedEventId),
    workflowExecution: executionOf(proto.workflowExecution),
    workflowType: proto.workflowType?.name ?? '',
  };
}

export function reachedOf({
  initiatedEventId,
  workflowExecution,
}: Referring & { workflowExecution?: ProtoExecution }) {
  return { initiatedEventId: int(initiatedEventId), workflowExecution: executionOf(workflowExecution) };
}

export function toldWithStep(failure: Failure, step: OpenStep | undefined): Failure {
  return step ? { ...failure, activityType: step.activityType, attempt: step.attempt } : failure;
}

export function timedOutStep(failure: Failure, step: OpenStep | undefined): Failure {
  return toldWithStep(timeoutOf(failure, step), step);
}

/** Temporal says only which timeout it was, of this attempt and of the one before, which is its cause. */
export function timeoutOf(failure: Failure, step: OpenStep | undefined): Failure {
  if (failure.kind !== 'timeout') return failure;
  const type = failure.timeoutType as TimeoutType | undefined;
  const ms = step && type && step.settings[TIMEOUT_SETTINGS[type]];
  const message = ms === undefined ? failure.message : stepTimeoutMessage(step!.activityType, type!, ms);
  return { ...failure, message, ...(failure.cause && { cause: timeoutOf(failure.cause, step) }) };
}

const TIMEOUT_SETTINGS = {
  START_TO_CLOSE: 'startToCloseTimeoutMs',
  SCHEDULE_TO_START: 'scheduleToStartTimeoutMs',
  SCHEDULE_TO_CLOSE: 'scheduleToCloseTimeoutMs',
  HEARTBEAT: 'heartbeatTimeoutMs',
} as const;

/** A patch, as Temporal's SDKs record it; anything else as it is. */
export function markerDetails(
  details: Record<string, ProtoPayloads>,
): EventAttributes['MARKER_RECORDED']['details'] {
  const patch = decoded(details['patch-data']?.payloads?.[0]) as
    | { id?: unknown; deprecated?: unknown }
    | undefined;
  if (patch) return { patchId: String(patch.id), deprecated: patch.deprecated === true };
  return asRecorded(details) as never;
}
