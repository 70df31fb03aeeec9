/**
 * A run as the fold of its events. Pure: no clock, no database, no worker.
 *
 * 1. `applyEvent` is the only thing that changes what the history says of a run; replaying a history from event 1
 *    gives the same state as having lived through it.
 * 2. How far a step's delivery has come (attempt, backoff, heartbeat) is not in the history until the step closes, as
 *    in Temporal; it is `Delivery`, kept beside the history and reset to a first attempt when rebuilt from it.
 */

import type { CostRecord } from '../../core/cost/cost.js';
import {
  CLOSE_EVENTS,
  type EventAttributes,
  type HistoryEvent,
  type ParentClosePolicy,
  type StepSettings,
} from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import { invariant } from '../../core/invariant.js';
import { isPauseSignal, type Paused, pausedAfter } from '../../core/run/pause.js';
import { type RunStatus, STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { Payload } from '../../core/values/json.js';
import { SparseMap, SparseSet } from '../../core/values/sparse.js';
import type { TracedRun } from '../../engine.js';

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
  /** What its attempts have spent, as long as its closing event does not say so. */
  costs?: CostRecord[];
  /** The code that asked for it, once another one has made a turn of the run; until then it is that of the run. */
  codeId?: string;
  /** That it was that code is the best guess: a reset has taken the step over from a run that no longer knew. */
  isCodeGuessed?: true;
  /** Code that its input does not fit, by the ids of its versions, and what the last of it said. */
  refused?: { by: string[]; failure: Failure };
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
  /** What the run list shows; of a reset run the instant of the reset, which is later than its first event. */
  startedAt: number;
  status: RunStatus;
  closedAt: number | null;
  lastEventId: number;
  lastAt: number;
  steps: Map<number, PendingStep>;
  stepByActivityId: Map<string, number>;
  timers: SparseMap<string, PendingTimer>;
  children: SparseMap<number, PendingChild>;
  /** Accepted updates whose handler has not returned: id to accepted event. */
  openUpdates: SparseMap<string, number>;
  signalCount: number;
  /** Of the signals that count once. */
  signalRequests: SparseSet<string>;
  updateCount: number;
  cancelRequested: boolean;
  /** No turn has told the code yet that the run was asked to stop. */
  isStopNews: boolean;
  /** While its turns deliver nothing and none of its steps is handed out. */
  paused: Paused | undefined;
  /** The scheduled turn that no completion has answered yet. */
  turnScheduledEventId: number | undefined;
  /** Whether any turn was ever scheduled: a run in its retry backoff has none. */
  hadTurn: boolean;
  /** When the run times out. A reset gives it its whole time again. */
  executionExpiresAt: number | undefined;
  /** Children of the part that a reset has cut off: the run may start them again under their ids. */
  restartableChildren: SparseSet<string>;
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
    timers: new SparseMap(),
    children: new SparseMap(),
    openUpdates: new SparseMap(),
    signalCount: 0,
    signalRequests: new SparseSet(),
    updateCount: 0,
    cancelRequested: false,
    isStopNews: false,
    paused: undefined,
    turnScheduledEventId: undefined,
    hadTurn: false,
    executionExpiresAt: first.attributes.executionExpiresAt,
    restartableChildren: new SparseSet(),
  };
  for (const workflowId of first.attributes.cutOffChildren ?? []) state.restartableChildren.add(workflowId);
  applyEvent(state, first);
  return state;
}

/** The run as those who tell of it have it. */
export function tracedRun({ workflowId, runId, started }: RunState): TracedRun {
  return { workflowId, runId, traceContext: started.traceContext };
}

/** The tree of parents and children that the run belongs to, by the first run of the workflow at its root. */
export function treeOf({ started }: RunState): string {
  return started.parent ? (started.parent.tree ?? started.parent.runId) : started.firstExecutionRunId;
}

/** What was spent by steps that have not closed. */
export function openCosts({ steps }: RunState): CostRecord[] {
  const open: CostRecord[] = [];
  for (const { delivery } of steps.values()) if (delivery.costs) open.push(...delivery.costs);
  return open;
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
  for (const { delivery } of state.steps.values()) {
    // A step that waits for the run to be resumed is taken up by that.
    if (delivery.status === 'running' || (delivery.status === 'queued' && !state.paused)) return true;
  }
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
      state.isStopNews = false;
      return;
    case 'WORKFLOW_TASK_FAILED':
      state.turnScheduledEventId = undefined;
      if (event.attributes.cause === 'RESET_WORKFLOW') {
        restart(state, event.at, event.attributes.cutOffChildren ?? []);
      }
      return;
    case 'ACTIVITY_TASK_SCHEDULED': {
      const { activityId, activityType, stepName, input, settings, handedOut } = event.attributes;
      const { countsFrom: scheduledAt = event.at } = event.attributes;
      const delivery = newDelivery();
      if (handedOut) {
        delivery.status = 'running';
        delivery.startedAt = scheduledAt;
      }
      state.steps.set(event.id, {
        scheduledEventId: event.id,
        activityId,
        activityType,
        stepName,
        input,
        settings,
        scheduledAt,
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
      const { timerId, startToFireTimeoutMs, countsFrom = event.at } = event.attributes;
      const firesAt = countsFrom + startToFireTimeoutMs;
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
      state.restartableChildren.delete(child.workflowId);
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
      pauseOrResume(state, event.attributes);
      // However often it is paused, as many messages as ever can reach it.
      if (isPauseSignal(event.attributes.signalName)) return;
      state.signalCount++;
      if (event.attributes.requestId !== undefined) state.signalRequests.add(event.attributes.requestId);
      return;
    case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
      state.cancelRequested = true;
      state.isStopNews = true;
      state.paused = undefined;
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

/** A run that was asked to stop is not paused any more by anything. */
export function pauseOrResume(
  state: RunState,
  { signalName, input }: EventAttributes['WORKFLOW_EXECUTION_SIGNALED'],
): void {
  if (!state.cancelRequested) state.paused = pausedAfter(state.paused, signalName, input);
}

function close(state: RunState, event: HistoryEvent): void {
  state.status = STATUS_OF_CLOSE_EVENT[event.type]!;
  state.closedAt = event.at;
  state.turnScheduledEventId = undefined;
  state.paused = undefined;
  state.steps.clear();
  state.stepByActivityId.clear();
  state.timers.clear();
  state.openUpdates.clear();
}

/** From a reset on, the run and the steps that were under way at its point have their whole time again. */
function restart(state: RunState, at: number, cutOffChildren: readonly string[]): void {
  state.startedAt = at;
  const { executionTimeoutMs } = state.started;
  if (executionTimeoutMs !== undefined) state.executionExpiresAt = at + executionTimeoutMs;
  // Those of an earlier reset that it has not started again stay so.
  for (const workflowId of cutOffChildren) state.restartableChildren.add(workflowId);
  for (const step of state.steps.values()) {
    step.scheduledAt = at;
    step.delivery = newDelivery();
  }
}

/** When a run in its retry backoff makes its first turn; undefined for any other. */
export function firstTurnDueAt({ hadTurn, startedAt, started }: RunState): number | undefined {
  if (hadTurn || started.firstTurnBackoffMs === undefined) return undefined;
  return startedAt + started.firstTurnBackoffMs;
}

/** The earliest instant at which something happens to the run by itself; undefined when only a message can wake it. */
export function wakeAt(state: RunState): number | undefined {
  if (isClosed(state)) return undefined;
  let earliest = Math.min(
    state.executionExpiresAt ?? Number.POSITIVE_INFINITY,
    firstTurnDueAt(state) ?? Number.POSITIVE_INFINITY,
  );
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
