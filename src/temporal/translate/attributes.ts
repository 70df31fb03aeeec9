/** The attributes of Temporal's events, type by type, as the embedded engine has them. */
import type { EventAttributes, EventTypeName, UntranslatedEvent } from '../../core/history/event.js';
import { LIVENESS_HEADER, stepNameOf } from '../cluster/conventions.js';
import {
  childOf,
  detailsOf,
  executionOf,
  failureOf,
  markerDetails,
  optional,
  PARENT_CLOSE_POLICIES,
  parentOf,
  RETRY_INITIATOR,
  RETRY_STATES,
  reachedOf,
  resultOf,
  SIGNAL_COUNT_LIMIT_EXCEEDED,
  stepEndOf,
  successorOf,
  TIMEOUT_TYPES,
  timedOutStep,
  timeoutOf,
  timerOf,
  toldWithStep,
  turnFailureCause,
  turnOf,
} from './attribute-parts.js';
import { costsOfFailure, costsOfPayloads } from './costs.js';
import { failureFromProto, isOfHeldBack } from './failure.js';
import type { OpenSteps } from './open-steps.js';
import { fromPayloads } from './payload.js';
import { durationMs, instant, int, type Proto, retryFromProto } from './proto.js';
import { tracedBy } from './tracer-header.js';
import { readableFailure } from './turn-failure.js';

interface Context {
  /** The event's own number. */
  id: number;
  steps: OpenSteps;
}

export type Translate<Proto, Attributes> = (proto: Proto, context: Context) => Attributes;

export const ATTRIBUTES: {
  [T in Exclude<EventTypeName, UntranslatedEvent>]: Translate<Proto<T>, EventAttributes[T]>;
} = {
  WORKFLOW_EXECUTION_STARTED: (proto) => ({
    workflowType: proto.workflowType?.name ?? '',
    workflowId: proto.workflowId ?? '',
    catalog: proto.taskQueue?.name ?? '',
    input: fromPayloads(proto.input),
    attempt: proto.attempt || 1,
    firstExecutionRunId: proto.firstExecutionRunId ?? '',
    originalExecutionRunId: proto.originalExecutionRunId ?? '',
    ...(proto.continuedExecutionRunId && { continuedExecutionRunId: proto.continuedExecutionRunId }),
    ...(proto.initiator && { initiator: proto.initiator === RETRY_INITIATOR ? 'RETRY' : 'CONTINUE_AS_NEW' }),
    ...(proto.continuedFailure && { continuedFailure: failureFromProto(proto.continuedFailure) }),
    ...(proto.parentWorkflowExecution && { parent: parentOf(proto) }),
    ...(proto.retryPolicy && { retry: retryFromProto(proto.retryPolicy) }),
    ...optional('executionTimeoutMs', durationMs(proto.workflowExecutionTimeout)),
    ...(proto.workflowExecutionExpirationTime && {
      executionExpiresAt: instant(proto.workflowExecutionExpirationTime),
    }),
    ...optional('firstTurnBackoffMs', durationMs(proto.firstWorkflowTaskBackoff)),
    ...tracedBy(proto.header?.fields),
  }),
  WORKFLOW_EXECUTION_COMPLETED: ({ result }) => resultOf(result),
  WORKFLOW_EXECUTION_FAILED: (proto) => ({ failure: failureOf(proto.failure), ...successorOf(proto) }),
  WORKFLOW_EXECUTION_TIMED_OUT: successorOf,
  WORKFLOW_EXECUTION_CANCELED: ({ details }) => detailsOf(details),
  WORKFLOW_EXECUTION_TERMINATED: ({ reason }) => ({ reason: reason ?? '' }),
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: (proto) => ({
    newExecutionRunId: proto.newExecutionRunId ?? '',
    workflowType: proto.workflowType?.name ?? '',
    input: fromPayloads(proto.input),
  }),
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: ({ cause, externalWorkflowExecution: by }) => ({
    cause: by?.workflowId ? `requested by workflow ${by.workflowId}` : (cause ?? ''),
  }),
  WORKFLOW_EXECUTION_SIGNALED: ({ signalName, input, externalWorkflowExecution: by, header }) => ({
    signalName: signalName ?? '',
    input: fromPayloads(input),
    ...(by?.workflowId && { externalWorkflowExecution: executionOf(by) }),
    ...tracedBy(header?.fields),
  }),
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: ({ protocolInstanceId, acceptedRequest }) => ({
    updateId: acceptedRequest?.meta?.updateId ?? protocolInstanceId ?? '',
    updateName: acceptedRequest?.input?.name ?? '',
    input: fromPayloads(acceptedRequest?.input?.args),
    ...tracedBy(acceptedRequest?.input?.header?.fields),
  }),
  WORKFLOW_EXECUTION_UPDATE_COMPLETED: ({ meta, acceptedEventId, outcome }) => ({
    updateId: meta?.updateId ?? '',
    acceptedEventId: int(acceptedEventId),
    ...(outcome?.failure ? { failure: failureOf(outcome.failure) } : resultOf(outcome?.success)),
  }),

  WORKFLOW_TASK_SCHEDULED: ({ attempt }) => ({ attempt: attempt || 1 }),
  WORKFLOW_TASK_STARTED: ({ scheduledEventId, suggestContinueAsNew }) => ({
    scheduledEventId: int(scheduledEventId),
    ...(suggestContinueAsNew && { suggestContinueAsNew }),
  }),
  WORKFLOW_TASK_COMPLETED: (proto) => turnOf(proto),
  WORKFLOW_TASK_TIMED_OUT: (proto) => ({
    ...turnOf(proto),
    timeoutType: TIMEOUT_TYPES[proto.timeoutType ?? 0]!,
  }),
  WORKFLOW_TASK_FAILED: (proto) => ({
    ...turnOf(proto),
    cause: turnFailureCause(proto.cause),
    failure: readableFailure(failureOf(proto.failure)),
    ...(proto.baseRunId && { baseRunId: proto.baseRunId }),
    ...(proto.newRunId && { newRunId: proto.newRunId }),
  }),

  ACTIVITY_TASK_SCHEDULED: (proto) => {
    const activityType = proto.activityType?.name ?? '';
    return {
      activityId: proto.activityId ?? '',
      activityType,
      stepName: stepNameOf(activityType),
      input: fromPayloads(proto.input),
      settings: {
        startToCloseTimeoutMs: durationMs(proto.startToCloseTimeout) ?? 0,
        ...optional('scheduleToCloseTimeoutMs', durationMs(proto.scheduleToCloseTimeout)),
        ...optional('scheduleToStartTimeoutMs', durationMs(proto.scheduleToStartTimeout)),
        // Without one of the author's, the step's worker gives the signs of life.
        ...(!proto.header?.fields?.[LIVENESS_HEADER] &&
          optional('heartbeatTimeoutMs', durationMs(proto.heartbeatTimeout))),
        retry: retryFromProto(proto.retryPolicy ?? {}),
      },
    };
  },
  ACTIVITY_TASK_STARTED: ({ scheduledEventId, attempt, lastFailure }, { steps }) => ({
    scheduledEventId: int(scheduledEventId),
    attempt: attempt || 1,
    ...(lastFailure &&
      !isOfHeldBack(lastFailure) && {
        lastFailure: timeoutOf(failureOf(lastFailure), steps.get(int(scheduledEventId))),
      }),
  }),
  ACTIVITY_TASK_COMPLETED: (proto) => ({
    ...stepEndOf(proto),
    ...resultOf(proto.result),
    ...costsOfPayloads(proto.result),
  }),
  ACTIVITY_TASK_FAILED: (proto, { steps }) => ({
    ...stepEndOf(proto),
    failure: toldWithStep(failureOf(proto.failure), steps.get(int(proto.scheduledEventId))),
    retryState: RETRY_STATES[proto.retryState ?? 0] ?? 'RETRY_POLICY_NOT_SET',
    ...costsOfFailure(proto.failure),
  }),
  ACTIVITY_TASK_TIMED_OUT: (proto, { steps }) => ({
    ...stepEndOf(proto),
    failure: timedOutStep(failureOf(proto.failure), steps.get(int(proto.scheduledEventId))),
    retryState: RETRY_STATES[proto.retryState ?? 0] ?? 'TIMEOUT',
    ...costsOfFailure(proto.failure),
  }),
  ACTIVITY_TASK_CANCEL_REQUESTED: ({ scheduledEventId }) => ({ scheduledEventId: int(scheduledEventId) }),
  ACTIVITY_TASK_CANCELED: (proto) => ({
    ...stepEndOf(proto),
    latestCancelRequestedEventId: int(proto.latestCancelRequestedEventId),
    ...detailsOf(proto.details),
    ...costsOfPayloads(proto.details),
  }),

  TIMER_STARTED: ({ timerId, startToFireTimeout }) => ({
    timerId: timerId ?? '',
    startToFireTimeoutMs: durationMs(startToFireTimeout) ?? 0,
  }),
  TIMER_FIRED: (proto) => timerOf(proto),
  TIMER_CANCELED: (proto) => timerOf(proto),
  MARKER_RECORDED: ({ markerName, details }) => ({
    markerName: markerName ?? '',
    details: markerDetails(details ?? {}),
  }),

  START_CHILD_WORKFLOW_EXECUTION_INITIATED: (proto, { id }) => ({
    // Temporal matches a child by this event, so its number is the one that the child has.
    childSeq: String(id),
    workflowId: proto.workflowId ?? '',
    workflowType: proto.workflowType?.name ?? '',
    catalog: proto.taskQueue?.name ?? '',
    input: fromPayloads(proto.input),
    parentClosePolicy: PARENT_CLOSE_POLICIES[proto.parentClosePolicy ?? 0] ?? 'TERMINATE',
  }),
  START_CHILD_WORKFLOW_EXECUTION_FAILED: (proto) => ({
    initiatedEventId: int(proto.initiatedEventId),
    workflowId: proto.workflowId ?? '',
    workflowType: proto.workflowType?.name ?? '',
    cause: 'WORKFLOW_ALREADY_EXISTS',
  }),
  CHILD_WORKFLOW_EXECUTION_STARTED: (proto) => ({
    initiatedEventId: int(proto.initiatedEventId),
    workflowExecution: executionOf(proto.workflowExecution),
    workflowType: proto.workflowType?.name ?? '',
  }),
  CHILD_WORKFLOW_EXECUTION_COMPLETED: (proto) => ({ ...childOf(proto), ...resultOf(proto.result) }),
  CHILD_WORKFLOW_EXECUTION_FAILED: (proto) => ({ ...childOf(proto), failure: failureOf(proto.failure) }),
  CHILD_WORKFLOW_EXECUTION_CANCELED: (proto) => childOf(proto),
  CHILD_WORKFLOW_EXECUTION_TIMED_OUT: (proto) => childOf(proto),
  CHILD_WORKFLOW_EXECUTION_TERMINATED: (proto) => childOf(proto),

  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: (proto, { id }) => ({
    signalSeq: String(id),
    workflowId: proto.workflowExecution?.workflowId ?? '',
    signalName: proto.signalName ?? '',
    input: fromPayloads(proto.input),
  }),
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: (proto) => ({
    initiatedEventId: int(proto.initiatedEventId),
    workflowId: proto.workflowExecution?.workflowId ?? '',
    cause:
      proto.cause === SIGNAL_COUNT_LIMIT_EXCEEDED
        ? 'SIGNAL_COUNT_LIMIT_EXCEEDED'
        : 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
  }),
  EXTERNAL_WORKFLOW_EXECUTION_SIGNALED: (proto) => reachedOf(proto),
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: (proto, { id }) => ({
    cancelSeq: String(id),
    workflowId: proto.workflowExecution?.workflowId ?? '',
  }),
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: (proto) => ({
    initiatedEventId: int(proto.initiatedEventId),
    workflowId: proto.workflowExecution?.workflowId ?? '',
    cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
  }),
  EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: (proto) => reachedOf(proto),
};
