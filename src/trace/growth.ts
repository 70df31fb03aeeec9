/** What each event of a history does to the tree. */
import type { CostRecord } from '../core/cost/cost.js';
import { sumOf } from '../core/cost/sums.js';
import {
  CLOSE_EVENTS,
  type EventOf,
  type EventTypeName,
  type HistoryEvent,
  type UntranslatedEvent,
} from '../core/history/event.js';
import type { Failure } from '../core/history/failure.js';
import { serializeError } from '../core/history/serialized-error.js';
import type { Payload } from '../core/values/json.js';
import {
  type AttemptNode,
  RawJson,
  type StatusOf,
  type StepCosts,
  TRACE_VERSION,
  type Trace,
  type TraceNode,
  type Value,
} from './nodes.js';
import type { TraceTree } from './tree.js';

/** The tree as it is with `event`. */
export function grow(tree: TraceTree, event: HistoryEvent): void {
  // What is not in the table says nothing about the run.
  const growth = (GROWTH as Partial<Record<EventTypeName, Grow<EventTypeName>>>)[event.type];
  growth?.(tree, event);
  if (CLOSE_EVENTS.has(event.type) && 'costs' in event.attributes && event.attributes.costs) {
    leftBehind(tree, event.attributes.costs);
  }
}

type Grow<T extends EventTypeName> = (tree: TraceTree, event: Extract<HistoryEvent, { type: T }>) => void;

const GROWTH: { [T in Exclude<EventTypeName, UntranslatedEvent>]: Grow<T> } = {
  WORKFLOW_EXECUTION_STARTED: (tree, event) => tree.start(started(tree.runId, event)),
  WORKFLOW_EXECUTION_COMPLETED: (tree, event) => {
    tree.close(event);
    tree.trace.output = value(event.attributes.result);
  },
  WORKFLOW_EXECUTION_FAILED: (tree, event) =>
    tree.close(event, event.attributes.failure, event.attributes.newExecutionRunId),
  WORKFLOW_EXECUTION_TIMED_OUT: (tree, event) =>
    tree.close(event, TIMED_OUT, event.attributes.newExecutionRunId),
  WORKFLOW_EXECUTION_CANCELED: (tree, event) => tree.close(event, CANCELLED),
  WORKFLOW_EXECUTION_TERMINATED: (tree, event) => {
    const { reason: message, newExecutionRunId } = event.attributes;
    tree.close(event, { ...TERMINATED, message }, newExecutionRunId);
  },
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: (tree, event) =>
    tree.close(event, undefined, event.attributes.newExecutionRunId),

  ACTIVITY_TASK_SCHEDULED: (tree, event) => {
    const { stepName: name, activityType: type, input } = event.attributes;
    const values = { input: argument(input), output: null, error: null };
    tree.begin(event, { ...span('step', event), name, type, ...values, attempts: [] });
  },
  ACTIVITY_TASK_STARTED: (tree, event) => {
    const { scheduledEventId, attempt, lastFailure } = event.attributes;
    tree.node('step', scheduledEventId).attempts = attempts(attempt, lastFailure, event.at);
  },
  ACTIVITY_TASK_CANCEL_REQUESTED: (tree, event) => {
    tree.node('step', event.attributes.scheduledEventId).status = 'cancel_requested';
  },
  ACTIVITY_TASK_COMPLETED: (tree, event) => {
    endStep(tree, event, 'completed').output = value(event.attributes.result);
  },
  ACTIVITY_TASK_FAILED: (tree, event) => {
    endStep(tree, event, 'failed', event.attributes.failure);
  },
  ACTIVITY_TASK_TIMED_OUT: (tree, event) => {
    endStep(tree, event, 'timed_out', event.attributes.failure);
  },
  ACTIVITY_TASK_CANCELED: (tree, event) => {
    endStep(tree, event, 'cancelled', { ...CANCELLED, message: 'the step was cancelled' });
  },

  TIMER_STARTED: (tree, event) => {
    const { timerId, startToFireTimeoutMs: timeoutMs } = event.attributes;
    tree.begin(event, { ...span('timer', event), timerId, timeoutMs });
  },
  TIMER_FIRED: (tree, { at, attributes }) => {
    tree.end('timer', attributes.startedEventId, at, 'fired');
  },
  TIMER_CANCELED: (tree, { at, attributes }) => {
    tree.end('timer', attributes.startedEventId, at, 'cancelled');
  },

  START_CHILD_WORKFLOW_EXECUTION_INITIATED: (tree, event) => {
    const { workflowType: name, workflowId, catalog, parentClosePolicy, input } = event.attributes;
    const values = { input: argument(input), output: null, error: null };
    const child = { name, workflowId, runId: null, catalog, parentClosePolicy };
    tree.begin(event, { ...span('child', event), ...child, ...values });
  },
  START_CHILD_WORKFLOW_EXECUTION_FAILED: (tree, { at, attributes }) => {
    tree.end('child', attributes.initiatedEventId, at, 'not_started', notStarted(attributes.cause));
  },
  CHILD_WORKFLOW_EXECUTION_STARTED: (tree, { attributes }) => {
    tree.node('child', attributes.initiatedEventId).runId = attributes.workflowExecution.runId;
  },
  CHILD_WORKFLOW_EXECUTION_COMPLETED: (tree, { at, attributes }) => {
    tree.end('child', attributes.initiatedEventId, at, 'completed').output = value(attributes.result);
  },
  CHILD_WORKFLOW_EXECUTION_FAILED: (tree, { at, attributes }) => {
    tree.end('child', attributes.initiatedEventId, at, 'failed', attributes.failure);
  },
  CHILD_WORKFLOW_EXECUTION_CANCELED: (tree, { at, attributes }) => {
    tree.end('child', attributes.initiatedEventId, at, 'cancelled', CANCELLED);
  },
  CHILD_WORKFLOW_EXECUTION_TIMED_OUT: (tree, { at, attributes }) => {
    tree.end('child', attributes.initiatedEventId, at, 'timed_out', TIMED_OUT);
  },
  CHILD_WORKFLOW_EXECUTION_TERMINATED: (tree, { at, attributes }) => {
    tree.end('child', attributes.initiatedEventId, at, 'terminated', TERMINATED);
  },

  WORKFLOW_EXECUTION_SIGNALED: (tree, { id, at, attributes }) => {
    const { signalName: name, input, externalWorkflowExecution: from = null } = attributes;
    const receivedAt = at;
    tree.record({ kind: 'signal', eventId: String(id), name, receivedAt, input: argument(input), from });
  },
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: (tree, { id, at, attributes: { cause } }) =>
    tree.record({ kind: 'cancel_request', eventId: String(id), receivedAt: at, cause }),
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: (tree, event) => {
    const { updateId, updateName: name, input } = event.attributes;
    const values = { input: argument(input), output: null, error: null };
    tree.begin(event, { ...span('update', event), name, updateId, ...values });
  },
  WORKFLOW_EXECUTION_UPDATE_COMPLETED: (tree, { at, attributes }) => {
    const { acceptedEventId, result, failure } = attributes;
    const status = failure ? 'failed' : 'completed';
    tree.end('update', acceptedEventId, at, status, failure).output = value(result);
  },

  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: (tree, event) => {
    const { workflowId, signalName: name, input } = event.attributes;
    const target = { workflowId, runId: null, input: argument(input), error: null };
    tree.begin(event, { ...span('sent_signal', event), name, ...target });
  },
  EXTERNAL_WORKFLOW_EXECUTION_SIGNALED: (tree, { at, attributes }) => {
    const sent = tree.end('sent_signal', attributes.initiatedEventId, at, 'delivered');
    sent.runId = attributes.workflowExecution.runId;
  },
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: (tree, { at, attributes }) => {
    tree.end('sent_signal', attributes.initiatedEventId, at, 'failed', notDelivered(attributes.cause));
  },
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: (tree, event) => {
    const { workflowId } = event.attributes;
    tree.begin(event, { ...span('sent_cancel', event), workflowId, runId: null, error: null });
  },
  EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: (tree, { at, attributes }) => {
    const sent = tree.end('sent_cancel', attributes.initiatedEventId, at, 'delivered');
    sent.runId = attributes.workflowExecution.runId;
  },
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: (tree, { at, attributes }) => {
    tree.end('sent_cancel', attributes.initiatedEventId, at, 'failed', notDelivered(attributes.cause));
  },

  MARKER_RECORDED: (tree, { id, at, attributes: { markerName: name, details } }) =>
    tree.record({ kind: 'marker', eventId: String(id), name, recordedAt: at, details }),

  WORKFLOW_TASK_SCHEDULED: () => {},
  WORKFLOW_TASK_STARTED: () => {},
  WORKFLOW_TASK_COMPLETED: () => {},
  WORKFLOW_TASK_TIMED_OUT: () => {},
  WORKFLOW_TASK_FAILED: (tree, { id, at, attributes: { cause, failure } }) => {
    const error = serializeError(failure);
    tree.record({ kind: 'failed_turn', eventId: String(id), failedAt: at, cause, error });
  },
};

function started(runId: string, { at, attributes }: EventOf<'WORKFLOW_EXECUTION_STARTED'>): Trace {
  const { workflowType, workflowId, catalog, attempt, parent } = attributes;
  return {
    version: TRACE_VERSION,
    kind: 'workflow',
    name: workflowType,
    workflowId,
    runId,
    catalog,
    status: 'open',
    startedAt: at,
    endedAt: null,
    durationMs: null,
    attempt,
    firstRunId: attributes.firstExecutionRunId,
    continuedFromRunId: attributes.continuedExecutionRunId ?? null,
    continuedAsRunId: null,
    parent: parent ? { workflowId: parent.workflowId, runId: parent.runId } : null,
    input: argument(attributes.input),
    output: null,
    error: null,
    children: [],
  };
}

function span<K extends TraceNode['kind']>(kind: K, { id, at }: HistoryEvent) {
  const status = 'open' as const;
  return { kind, eventId: String(id), status, startedAt: at, endedAt: null, durationMs: null };
}

type StepEnd =
  | EventOf<'ACTIVITY_TASK_COMPLETED'>
  | EventOf<'ACTIVITY_TASK_FAILED'>
  | EventOf<'ACTIVITY_TASK_TIMED_OUT'>
  | EventOf<'ACTIVITY_TASK_CANCELED'>;

function endStep(tree: TraceTree, { at, attributes }: StepEnd, status: StatusOf<'step'>, failure?: Failure) {
  const step = tree.end('step', attributes.scheduledEventId, at, status, failure);
  const last = step.attempts.at(-1);
  if (last) {
    last.endedAt = step.endedAt;
    last.error = step.error;
  }
  if (attributes.costs) step.costs = costsOf(attributes.costs);
  return step;
}

function costsOf(records: CostRecord[]): StepCosts {
  const { totals, usage } = sumOf(records);
  return { totals, usage, records };
}

/** Of the steps that the run leaves behind. */
function leftBehind(tree: TraceTree, records: CostRecord[]): void {
  for (const activityId of new Set(records.map((record) => record.activityId))) {
    const step = tree.openStep(activityId);
    if (step) step.costs = costsOf(records.filter((record) => record.activityId === activityId));
  }
}

function attempts(attempt: number, lastFailure: Failure | undefined, at: number): AttemptNode[] {
  const current: AttemptNode = { attempt, startedAt: at, endedAt: null, error: null };
  if (!lastFailure) return [current];
  const before = { attempt: attempt - 1, startedAt: null, endedAt: null, error: serializeError(lastFailure) };
  return [before, current];
}

const value = (payload: Payload | undefined): Value => (payload === undefined ? null : new RawJson(payload));

/** The one argument of a workflow, step or message; more than one only where workers of other makers give them. */
const argument = (input: Payload[]): Value =>
  input.length > 1 ? new RawJson(`[${input.join(',')}]`) : value(input[0]);

const CANCELLED: Failure = {
  kind: 'cancelled',
  type: 'CancelledError',
  message: 'the workflow was cancelled',
};
const TERMINATED: Failure = {
  kind: 'terminated',
  type: 'TerminatedError',
  message: 'the workflow was terminated',
};
const TIMED_OUT: Failure = {
  kind: 'timeout',
  type: 'TimeoutError',
  message: 'the workflow exceeded its execution timeout',
};

const notStarted = (cause: string): Failure => ({
  kind: 'child',
  type: 'ChildWorkflowError',
  message: cause === 'CANCELED' ? 'it was cancelled before it started' : 'its id belongs to another run',
});

const notDelivered = (cause: string): Failure => ({
  kind: 'application',
  type: 'ExternalWorkflowError',
  message:
    cause === 'SIGNAL_COUNT_LIMIT_EXCEEDED'
      ? 'it has received all the signals it may'
      : 'no open run has that id',
});
