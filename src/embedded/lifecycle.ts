/**
 * What can happen to a run: it starts, receives events, closes, and what follows from each, over all runs concerned.
 * Everything here happens in memory within one tick and is committed together, so a parent and its child, or a run
 * and the one it continues as, change as one.
 */
import type { WorkflowSettings } from '../core/catalog.js';
import type { Clock } from '../core/clock.js';
import { PerdureError } from '../core/errors.js';
import type {
  EventAttributes,
  EventOf,
  ExternalFailureCause,
  HistoryEvent,
  NewEvent,
} from '../core/event.js';
import type { Failure } from '../core/failure.js';
import { newRunId } from '../core/id.js';
import type { Payload } from '../core/json.js';
import type { Limits } from '../core/limits.js';
import { decideRetry } from '../core/retry.js';
import { ActiveRun } from './active-run.js';
import type { GroupCommit } from './group-commit.js';
import type { Runs } from './runs.js';
import { initialState, type PendingChild } from './state.js';
import type { StepDelivering } from './step-delivery.js';
import type { Dispatcher } from './workers.js';

/** What the parts of the engine share. */
export interface Machine {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly runs: Runs;
  readonly commit: GroupCommit;
  readonly dispatcher: Dispatcher;
  readonly steps: StepDelivering;
  settingsOf(catalog: string, workflowType: string): WorkflowSettings;
}

type Started = EventAttributes['WORKFLOW_EXECUTION_STARTED'];

export class Lifecycle {
  constructor(private readonly machine: Machine) {}

  start(
    wanted: {
      workflowId: string;
      workflowType: string;
      catalog: string;
      input: Payload[];
      runId?: string;
    },
    lineage: Partial<Started> = {},
  ): ActiveRun {
    const { clock, runs } = this.machine;
    const now = clock.now();
    const runId = wanted.runId ?? newRunId(now);
    const settings = this.machine.settingsOf(wanted.catalog, wanted.workflowType);
    const attributes: Started = {
      workflowType: wanted.workflowType,
      workflowId: wanted.workflowId,
      catalog: wanted.catalog,
      input: wanted.input,
      attempt: 1,
      firstExecutionRunId: runId,
      originalExecutionRunId: runId,
    };
    if (settings.retry) attributes.retry = settings.retry;
    if (settings.executionTimeoutMs !== undefined) {
      attributes.executionTimeoutMs = settings.executionTimeoutMs;
      attributes.executionExpiresAt = now + settings.executionTimeoutMs;
    }
    Object.assign(attributes, lineage);
    const first: HistoryEvent = { id: 1, at: now, type: 'WORKFLOW_EXECUTION_STARTED', attributes };
    const run = new ActiveRun(runs.nextKey(), initialState(runId, first));
    run.isNew = true;
    run.unsaved.push(first);
    run.unsent.push(first);
    runs.add(run);
    if (attributes.firstTurnBackoffMs === undefined) this.scheduleTurn(run);
    else this.machine.commit.changed(run);
    return run;
  }

  /**
   * Something happened to the run. While a turn is under way its events wait in the inbox: the turn has not seen them,
   * so they must come after what it decides.
   */
  receive(run: ActiveRun, events: NewEvent[]): void {
    if (run.isClosed) return;
    if (run.turn) {
      run.inbox.push(events);
      for (const event of events) markInInbox(run, event);
      this.machine.commit.changed(run);
      return;
    }
    const now = this.machine.clock.now();
    for (const event of events) this.append(run, event, now);
    this.scheduleTurn(run);
  }

  /** What waited for the turn to end comes into the history. Returns whether there was anything. */
  emptyInbox(run: ActiveRun): boolean {
    if (run.inbox.length === 0) return false;
    const groups = run.inbox;
    run.inbox = [];
    const now = this.machine.clock.now();
    let appended = false;
    for (const group of groups) {
      for (const event of group) {
        if (event.type === 'TIMER_FIRED' && !run.state.timers.has(event.attributes.timerId)) continue;
        this.append(run, event, now);
        appended = true;
      }
    }
    this.machine.commit.changed(run);
    return appended;
  }

  append(run: ActiveRun, event: NewEvent, now: number): HistoryEvent {
    const appended = run.append(event, now);
    if (
      appended.type === 'ACTIVITY_TASK_COMPLETED' ||
      appended.type === 'ACTIVITY_TASK_FAILED' ||
      appended.type === 'ACTIVITY_TASK_TIMED_OUT' ||
      appended.type === 'ACTIVITY_TASK_CANCELED'
    ) {
      run.changedSteps.add(appended.attributes.scheduledEventId);
    }
    this.machine.commit.changed(run);
    return appended;
  }

  scheduleTurn(run: ActiveRun): void {
    const { limits, clock } = this.machine;
    const { state } = run;
    if (run.isClosed) return;
    if (state.lastEventId >= limits.historyEvents || run.historyBytes >= limits.historyBytes) {
      this.failForLimit(
        run,
        `the history has ${state.lastEventId} events and ${run.historyBytes} bytes; the limits are ${limits.historyEvents} and ${limits.historyBytes}. Use continueAsNew in long-lived workflows`,
      );
      return;
    }
    if (state.turnScheduledEventId === undefined) {
      this.append(run, { type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } }, clock.now());
    }
    this.queueTurn(run);
  }

  queueTurn(run: ActiveRun): void {
    if (run.isTurnQueued || run.turn || (run.heldBack && run.heldBack.retryAt > this.machine.clock.now()))
      return;
    run.isTurnQueued = true;
    const task = { kind: 'turn', runId: run.state.runId } as const;
    this.machine.dispatcher.enqueue(run.state.started.catalog, task, run.lostTurns > 0);
  }

  /** Signals the run. @throws TooManyRequestsError */
  signal(run: ActiveRun, attributes: EventAttributes['WORKFLOW_EXECUTION_SIGNALED']): void {
    const waiting = run.inbox.filter((group) => group[0]?.type === 'WORKFLOW_EXECUTION_SIGNALED').length;
    if (run.state.signalCount + waiting >= this.machine.limits.signalsPerRun) {
      throw new PerdureError(
        'TooManyRequestsError',
        `the run has received ${this.machine.limits.signalsPerRun} signals, which is the limit; let the workflow continue as new`,
        { workflowId: run.state.workflowId, runId: run.state.runId },
      );
    }
    this.receive(run, [{ type: 'WORKFLOW_EXECUTION_SIGNALED', attributes }]);
  }

  cancel(run: ActiveRun, cause: string): void {
    const isRequested =
      run.state.cancelRequested ||
      run.inbox.some((group) => group[0]?.type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED');
    if (!isRequested) {
      this.receive(run, [{ type: 'WORKFLOW_EXECUTION_CANCEL_REQUESTED', attributes: { cause } }]);
    }
  }

  /** Ends the run from outside, whatever it is doing. Messages it has received by then stay in its history. */
  endFromOutside(
    run: ActiveRun,
    event:
      | EventOf<
          'WORKFLOW_EXECUTION_TERMINATED' | 'WORKFLOW_EXECUTION_TIMED_OUT' | 'WORKFLOW_EXECUTION_FAILED'
        >
      | NewEvent,
    isReset = false,
  ): void {
    this.abandonTurn(run);
    this.emptyInbox(run);
    this.append(run, event, this.machine.clock.now());
    this.afterClose(run, isReset);
  }

  /** Forgets the turn under way: its answer, should it come, belongs to nothing. */
  abandonTurn(run: ActiveRun): void {
    const { turn } = run;
    if (!turn) return;
    run.turn = undefined;
    turn.worker.turns.delete(turn.turnId);
    run.admitted.unshift(...turn.updates);
    run.queries.unshift(...turn.queries);
    this.machine.dispatcher.forget(run.state.runId, turn.worker.isConnected);
    this.machine.dispatcher.freed(turn.worker);
  }

  failForLimit(run: ActiveRun, message: string): void {
    const failure: Failure = { kind: 'application', type: 'LimitExceededError', message, nonRetryable: true };
    this.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_FAILED', attributes: { failure } });
  }

  /** The id of the run that follows a failed one under its retry policy, with its backoff; undefined when none follows. */
  retryOf(run: ActiveRun, failure: Failure): { runId: string; afterMs: number } | undefined {
    const { retry, attempt, executionExpiresAt } = run.state.started;
    if (!retry) return undefined;
    const now = this.machine.clock.now();
    const decision = decideRetry(retry, attempt, failure, now, executionExpiresAt);
    return decision.kind === 'retry' ? { runId: newRunId(now), afterMs: decision.afterMs } : undefined;
  }

  /** The run's closing event is appended: everything that follows from it. */
  afterClose(run: ActiveRun, isReset = false): void {
    const event = run.closeEvent!;
    this.machine.steps.stopAll(run);
    this.machine.commit.changed(run);
    this.machine.dispatcher.forget(run.state.runId, true);
    const successor = this.#startSuccessor(run, event);
    this.#releaseUpdates(run, successor);
    if (run.queries.length > 0) {
      const task = { kind: 'query', runId: run.state.runId } as const;
      this.machine.dispatcher.enqueue(run.state.started.catalog, task, false);
    }
    if (isReset) return;
    for (const child of run.state.children.values()) this.#applyClosePolicy(child);
    if (!successor) this.#tellParent(run, event);
  }

  #startSuccessor(run: ActiveRun, event: HistoryEvent): ActiveRun | undefined {
    const { started } = run.state;
    const lineage: Partial<Started> = {
      firstExecutionRunId: started.firstExecutionRunId,
      continuedExecutionRunId: run.state.runId,
      parent: started.parent,
      retry: started.retry,
      executionTimeoutMs: started.executionTimeoutMs,
      executionExpiresAt: started.executionExpiresAt,
    };
    if (event.type === 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW') {
      const { newExecutionRunId, workflowType, input } = event.attributes;
      return this.start(
        {
          workflowId: run.state.workflowId,
          workflowType,
          catalog: started.catalog,
          input,
          runId: newExecutionRunId,
        },
        { ...lineage, initiator: 'CONTINUE_AS_NEW' },
      );
    }
    if (event.type === 'WORKFLOW_EXECUTION_FAILED' && event.attributes.newExecutionRunId !== undefined) {
      const { failure, newExecutionRunId } = event.attributes;
      const decision = decideRetry(started.retry!, started.attempt, failure, event.at);
      return this.start(
        {
          workflowId: run.state.workflowId,
          workflowType: started.workflowType,
          catalog: started.catalog,
          input: started.input,
          runId: newExecutionRunId,
        },
        {
          ...lineage,
          initiator: 'RETRY',
          attempt: started.attempt + 1,
          continuedFailure: failure,
          firstTurnBackoffMs: decision.kind === 'retry' ? decision.afterMs : 0,
        },
      );
    }
    return undefined;
  }

  /** Every caller of an update gets an answer, also when the run closes first. */
  #releaseUpdates(run: ActiveRun, successor: ActiveRun | undefined): void {
    const { workflowId, runId } = run.state;
    for (const [, update] of run.accepted) {
      this.machine.commit.afterCommit(() =>
        update.resolve({
          kind: 'failed',
          failure: {
            kind: 'application',
            type: 'UpdateAbortedError',
            message: `the run closed (${run.state.status}) before its update "${update.request.name}" completed`,
          },
        }),
      );
    }
    run.accepted.clear();
    const waiting = run.admitted;
    run.admitted = [];
    if (waiting.length === 0) return;
    if (successor) {
      successor.admitted.push(...waiting);
      this.queueTurn(successor);
      return;
    }
    const error = new PerdureError(
      'WorkflowAlreadyClosedError',
      `the run closed (${run.state.status}) before it took the update`,
      {
        workflowId,
        runId,
      },
    );
    for (const update of waiting) {
      this.machine.commit.afterCommit(() => update.resolve({ kind: 'refused', error }));
    }
  }

  #applyClosePolicy(child: PendingChild): void {
    if (child.runId === undefined || child.parentClosePolicy === 'ABANDON') return;
    const run = this.#currentRunOfChain(child.workflowId);
    if (
      !run ||
      run.state.started.firstExecutionRunId !==
        this.machine.runs.get(child.runId)?.state.started.firstExecutionRunId
    ) {
      return;
    }
    if (child.parentClosePolicy === 'REQUEST_CANCEL') this.cancel(run, 'the parent closed');
    else {
      this.endFromOutside(run, {
        type: 'WORKFLOW_EXECUTION_TERMINATED',
        attributes: { reason: 'the parent closed' },
      });
    }
  }

  #currentRunOfChain(workflowId: string): ActiveRun | undefined {
    const run = this.machine.runs.latest(workflowId);
    return run && !run.isClosed ? run : undefined;
  }

  #tellParent(run: ActiveRun, event: HistoryEvent): void {
    const { parent } = run.state.started;
    if (!parent) return;
    // A parent that was reset goes on as another run, which still waits for this child.
    let target = this.machine.runs.get(parent.runId);
    if (!target || target.isClosed) target = this.#currentRunOfChain(parent.workflowId);
    const child = target?.state.children.get(parent.initiatedEventId);
    if (!target || !child || child.closing || child.workflowId !== run.state.workflowId) return;
    const closed = {
      initiatedEventId: child.initiatedEventId,
      startedEventId: child.startedEventId ?? 0,
      workflowExecution: { workflowId: run.state.workflowId, runId: run.state.runId },
      workflowType: run.state.started.workflowType,
    };
    this.receive(target, [childClosed(closed, event)]);
  }

  // ── what the events of a turn ask for ────────────────────────────────────────────────────────────

  startChild(parent: ActiveRun, initiated: EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>): void {
    const { workflowId, workflowType, catalog, input } = initiated.attributes;
    if (this.machine.runs.isTaken(workflowId)) {
      this.receive(parent, [
        {
          type: 'START_CHILD_WORKFLOW_EXECUTION_FAILED',
          attributes: {
            initiatedEventId: initiated.id,
            workflowId,
            workflowType,
            cause: 'WORKFLOW_ALREADY_EXISTS',
          },
        },
      ]);
      return;
    }
    const child = this.start(
      { workflowId, workflowType, catalog, input },
      {
        parent: {
          workflowId: parent.state.workflowId,
          runId: parent.state.runId,
          initiatedEventId: initiated.id,
          depth: (parent.state.started.parent?.depth ?? 0) + 1,
        },
      },
    );
    this.receive(parent, [
      {
        type: 'CHILD_WORKFLOW_EXECUTION_STARTED',
        attributes: {
          initiatedEventId: initiated.id,
          workflowExecution: { workflowId, runId: child.state.runId },
          workflowType,
        },
      },
    ]);
  }

  signalExternal(
    sender: ActiveRun,
    initiated: EventOf<'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>,
  ): void {
    const { workflowId, signalName, input } = initiated.attributes;
    const target = this.#currentRunOfChain(workflowId);
    let cause: ExternalFailureCause | undefined;
    if (!target) cause = 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND';
    else {
      const { workflowId: from, runId } = sender.state;
      try {
        this.signal(target, { signalName, input, externalWorkflowExecution: { workflowId: from, runId } });
      } catch (error) {
        if (!(error instanceof PerdureError)) throw error;
        cause = 'SIGNAL_COUNT_LIMIT_EXCEEDED';
      }
    }
    this.receive(sender, [
      cause
        ? {
            type: 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
            attributes: { initiatedEventId: initiated.id, workflowId, cause },
          }
        : {
            type: 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowExecution: { workflowId, runId: target!.state.runId },
            },
          },
    ]);
  }

  cancelExternal(
    sender: ActiveRun,
    initiated: EventOf<'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>,
  ): void {
    const { workflowId } = initiated.attributes;
    const target = this.#currentRunOfChain(workflowId);
    if (target) this.cancel(target, `requested by workflow ${sender.state.workflowId}`);
    this.receive(sender, [
      target
        ? {
            type: 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowExecution: { workflowId, runId: target.state.runId },
            },
          }
        : {
            type: 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowId,
              cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
            },
          },
    ]);
  }
}

/** What waits in the inbox has happened: it must not time out, fire or be reported a second time. */
function markInInbox(run: ActiveRun, event: NewEvent): void {
  switch (event.type) {
    case 'ACTIVITY_TASK_COMPLETED':
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT':
    case 'ACTIVITY_TASK_CANCELED': {
      const step = run.state.steps.get(event.attributes.scheduledEventId);
      if (step) step.closing = true;
      return;
    }
    case 'TIMER_FIRED': {
      const timer = run.state.timers.get(event.attributes.timerId);
      if (timer) timer.firing = true;
      return;
    }
    case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
    case 'CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
    case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
    case 'CHILD_WORKFLOW_EXECUTION_TERMINATED': {
      const child = run.state.children.get(event.attributes.initiatedEventId);
      if (child) child.closing = true;
      return;
    }
    default:
  }
}

function childClosed(
  child: EventAttributes['CHILD_WORKFLOW_EXECUTION_CANCELED'],
  event: HistoryEvent,
): NewEvent {
  switch (event.type) {
    case 'WORKFLOW_EXECUTION_COMPLETED':
      return {
        type: 'CHILD_WORKFLOW_EXECUTION_COMPLETED',
        attributes: { ...child, result: event.attributes.result },
      };
    case 'WORKFLOW_EXECUTION_FAILED':
      return {
        type: 'CHILD_WORKFLOW_EXECUTION_FAILED',
        attributes: { ...child, failure: event.attributes.failure },
      };
    case 'WORKFLOW_EXECUTION_CANCELED':
      return { type: 'CHILD_WORKFLOW_EXECUTION_CANCELED', attributes: child };
    case 'WORKFLOW_EXECUTION_TIMED_OUT':
      return { type: 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT', attributes: child };
    default:
      return { type: 'CHILD_WORKFLOW_EXECUTION_TERMINATED', attributes: child };
  }
}
