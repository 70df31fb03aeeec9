/**
 * A run as the fold of its events. Pure: no clock, no database, no worker.
 *
 * 1. `applyEvent` is the only thing that changes what the history says of a run; replaying a history from event 1
 *    gives the same state as having lived through it.
 * 2. How far a step's delivery has come (attempt, backoff, heartbeat) is not in the history until the step closes, as
 *    in Temporal; it is `Delivery`, kept beside the history and reset to a first attempt when rebuilt from it.
 */
import {
  CLOSE_EVENTS,
  type EventAttributes,
  type HistoryEvent,
  type ParentClosePolicy,
  type StepSettings,
} from '../core/event.js';
import type { Failure } from '../core/failure.js';
import { invariant } from '../core/invariant.js';
import type { Payload } from '../core/json.js';
import { type RunStatus, STATUS_OF_CLOSE_EVENT } from '../core/run.js';

export interface Delivery {
  status: 'queued' | 'running' | 'backoff';
  attempt: number;
  /** Backoff: when the next attempt may start. */
  availableAt: number;
  /** Running: when this attempt started. */
  startedAt: number;
  heartbeatAt: number;
  heartbeat?: Payload;
  lastFailure?: Failure;
  /** Attempts that ended without an outcome and are not held against the step. */
  lost: number;
  /** Those of them that were lost with a worker that died. */
  crashes: number;
}

export interface PendingStep {
  scheduledEventId: number;
  activityId: string;
  activityType: string;
  stepName: string;
  input: Payload[];
  settings: StepSettings;
  scheduledAt: number;
  cancelRequestedEventId?: number;
  /** Its closing event waits in the inbox for the turn under way to end. */
  closing: boolean;
  delivery: Delivery;
}

export interface PendingTimer {
  timerId: string;
  startedEventId: number;
  firesAt: number;
  /** Its fired event waits in the inbox. */
  firing: boolean;
}

export interface PendingChild {
  initiatedEventId: number;
  childSeq: string;
  workflowId: string;
  workflowType: string;
  parentClosePolicy: ParentClosePolicy;
  runId?: string;
  startedEventId?: number;
  closing: boolean;
}

export interface RunState {
  runId: string;
  workflowId: string;
  started: EventAttributes['WORKFLOW_EXECUTION_STARTED'];
  startedAt: number;
  status: RunStatus;
  closedAt: number | null;
  lastEventId: number;
  lastAt: number;
  steps: Map<number, PendingStep>;
  stepByActivityId: Map<string, number>;
  timers: Map<string, PendingTimer>;
  children: Map<number, PendingChild>;
  /** Accepted updates whose handler has not returned: id to accepted event. */
  openUpdates: Map<string, number>;
  signalCount: number;
  updateCount: number;
  cancelRequested: boolean;
  /** The scheduled turn that no completion has answered yet. */
  turnScheduledEventId: number | undefined;
  /** Whether any turn was ever scheduled: a run in its retry backoff has none. */
  hadTurn: boolean;
}

export function initialState(runId: string, first: HistoryEvent): RunState {
  invariant(first.type === 'WORKFLOW_EXECUTION_STARTED', `run ${runId} does not begin with its start`);
  const state: RunState = {
    runId,
    workflowId: first.attributes.workflowId,
    started: first.attributes,
    startedAt: first.at,
    status: 'running',
    closedAt: null,
    lastEventId: 0,
    lastAt: first.at,
    steps: new Map(),
    stepByActivityId: new Map(),
    timers: new Map(),
    children: new Map(),
    openUpdates: new Map(),
    signalCount: 0,
    updateCount: 0,
    cancelRequested: false,
    turnScheduledEventId: undefined,
    hadTurn: false,
  };
  applyEvent(state, first);
  return state;
}

export function isClosed(state: RunState): boolean {
  return state.status !== 'running';
}

/** How many things the run waits for; bounded by `limits.pendingPerRun`. */
export function pendingCount(state: RunState): number {
  return state.steps.size + state.timers.size + state.children.size;
}

/** Whether a turn or a step of the run is queued or with a worker. */
export function isActive(state: RunState): boolean {
  if (isClosed(state)) return false;
  if (state.turnScheduledEventId !== undefined) return true;
  for (const step of state.steps.values()) if (step.delivery.status !== 'backoff') return true;
  return false;
}

export function newDelivery(): Delivery {
  return { status: 'queued', attempt: 1, availableAt: 0, startedAt: 0, heartbeatAt: 0, lost: 0, crashes: 0 };
}

export function applyEvent(state: RunState, event: HistoryEvent): void {
  invariant(
    event.id === state.lastEventId + 1,
    `run ${state.runId}: event ${event.id} cannot follow event ${state.lastEventId}`,
  );
  state.lastEventId = event.id;
  state.lastAt = event.at;
  switch (event.type) {
    case 'WORKFLOW_TASK_SCHEDULED':
      state.turnScheduledEventId = event.id;
      state.hadTurn = true;
      return;
    case 'WORKFLOW_TASK_COMPLETED':
      state.turnScheduledEventId = undefined;
      return;
    case 'WORKFLOW_TASK_FAILED':
      state.turnScheduledEventId = undefined;
      if (event.attributes.cause === 'RESET_WORKFLOW') restartSteps(state, event.at);
      return;
    case 'ACTIVITY_TASK_SCHEDULED': {
      const { activityId, activityType, stepName, input, settings, handedOut } = event.attributes;
      const delivery = newDelivery();
      if (handedOut) {
        delivery.status = 'running';
        delivery.startedAt = event.at;
      }
      state.steps.set(event.id, {
        scheduledEventId: event.id,
        activityId,
        activityType,
        stepName,
        input,
        settings,
        scheduledAt: event.at,
        closing: false,
        delivery,
      });
      state.stepByActivityId.set(activityId, event.id);
      return;
    }
    case 'ACTIVITY_TASK_CANCEL_REQUESTED': {
      const step = state.steps.get(event.attributes.scheduledEventId);
      if (step) step.cancelRequestedEventId = event.id;
      return;
    }
    case 'ACTIVITY_TASK_COMPLETED':
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT':
    case 'ACTIVITY_TASK_CANCELED': {
      const step = state.steps.get(event.attributes.scheduledEventId);
      invariant(step, `run ${state.runId}: event ${event.id} closes a step that is not pending`);
      state.steps.delete(step.scheduledEventId);
      state.stepByActivityId.delete(step.activityId);
      return;
    }
    case 'TIMER_STARTED': {
      const { timerId, startToFireTimeoutMs } = event.attributes;
      const firesAt = event.at + startToFireTimeoutMs;
      state.timers.set(timerId, { timerId, startedEventId: event.id, firesAt, firing: false });
      return;
    }
    case 'TIMER_FIRED':
    case 'TIMER_CANCELED':
      state.timers.delete(event.attributes.timerId);
      return;
    case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED': {
      const { childSeq, workflowId, workflowType, parentClosePolicy } = event.attributes;
      state.children.set(event.id, {
        initiatedEventId: event.id,
        childSeq,
        workflowId,
        workflowType,
        parentClosePolicy,
        closing: false,
      });
      return;
    }
    case 'CHILD_WORKFLOW_EXECUTION_STARTED': {
      const child = state.children.get(event.attributes.initiatedEventId);
      invariant(child, `run ${state.runId}: event ${event.id} starts a child that was not asked for`);
      child.runId = event.attributes.workflowExecution.runId;
      child.startedEventId = event.id;
      return;
    }
    case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
    case 'CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
    case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
    case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
      state.children.delete(event.attributes.initiatedEventId);
      return;
    case 'WORKFLOW_EXECUTION_SIGNALED':
      state.signalCount++;
      return;
    case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
      state.cancelRequested = true;
      return;
    case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
      state.updateCount++;
      state.openUpdates.set(event.attributes.updateId, event.id);
      return;
    case 'WORKFLOW_EXECUTION_UPDATE_COMPLETED':
      state.openUpdates.delete(event.attributes.updateId);
      return;
    default:
      if (CLOSE_EVENTS.has(event.type)) close(state, event);
  }
}

function close(state: RunState, event: HistoryEvent): void {
  state.status = STATUS_OF_CLOSE_EVENT[event.type]!;
  state.closedAt = event.at;
  state.turnScheduledEventId = undefined;
  state.steps.clear();
  state.stepByActivityId.clear();
  state.timers.clear();
  state.openUpdates.clear();
}

/** Steps that were under way at the point of a reset start over: their time counts from the reset. */
function restartSteps(state: RunState, at: number): void {
  for (const step of state.steps.values()) {
    step.scheduledAt = at;
    step.delivery = newDelivery();
  }
}

/** The earliest instant at which something happens to the run by itself; undefined when only a message can wake it. */
export function wakeAt(state: RunState): number | undefined {
  if (isClosed(state)) return undefined;
  let earliest = state.started.executionExpiresAt ?? Number.POSITIVE_INFINITY;
  if (!state.hadTurn && state.started.firstTurnBackoffMs) {
    earliest = Math.min(earliest, state.startedAt + state.started.firstTurnBackoffMs);
  }
  for (const timer of state.timers.values()) {
    if (!timer.firing && timer.firesAt < earliest) earliest = timer.firesAt;
  }
  for (const step of state.steps.values()) {
    if (step.closing) continue;
    const due = stepDueAt(step).at;
    if (due < earliest) earliest = due;
  }
  return earliest === Number.POSITIVE_INFINITY ? undefined : earliest;
}

export type StepDue = {
  at: number;
  kind: 'startToClose' | 'heartbeat' | 'scheduleToStart' | 'scheduleToClose' | 'retry';
};

/** What happens next to a pending step if nobody reports anything, and when. */
export function stepDueAt(step: PendingStep): StepDue {
  const { settings, delivery } = step;
  let due: StepDue = { at: Number.POSITIVE_INFINITY, kind: 'scheduleToClose' };
  const consider = (at: number, kind: StepDue['kind']) => {
    if (at < due.at) due = { at, kind };
  };
  if (settings.scheduleToCloseTimeoutMs !== undefined) {
    consider(step.scheduledAt + settings.scheduleToCloseTimeoutMs, 'scheduleToClose');
  }
  switch (delivery.status) {
    case 'running':
      consider(delivery.startedAt + settings.startToCloseTimeoutMs, 'startToClose');
      if (settings.heartbeatTimeoutMs !== undefined) {
        consider(
          Math.max(delivery.startedAt, delivery.heartbeatAt) + settings.heartbeatTimeoutMs,
          'heartbeat',
        );
      }
      break;
    case 'queued':
      if (settings.scheduleToStartTimeoutMs !== undefined && delivery.attempt === 1) {
        consider(step.scheduledAt + settings.scheduleToStartTimeoutMs, 'scheduleToStart');
      }
      break;
    case 'backoff':
      consider(delivery.availableAt, 'retry');
      break;
  }
  return due;
}
