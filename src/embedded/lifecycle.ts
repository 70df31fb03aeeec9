/**
 * What can happen to a run: it starts, receives events, closes. Everything here happens in memory within one tick and
 * is committed together, so a run and the one it continues as change as one.
 */
import { PerdureError } from '../core/errors.js';
import type { EventAttributes, HistoryEvent, NewEvent } from '../core/event.js';
import type { Failure } from '../core/failure.js';
import { newRunId } from '../core/id.js';
import type { Payload } from '../core/json.js';
import { backoffMs, decideRetry } from '../core/retry.js';
import { STATUS_OF_CLOSE_EVENT } from '../core/run.js';
import { ActiveRun } from './active-run.js';
import type { Machine } from './machine.js';
import { initialState } from './state.js';

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
    this.machine.observer.runStarted?.(wanted.workflowType);
    if (attributes.firstTurnBackoffMs === undefined) this.scheduleTurn(run);
    else this.machine.commit.changed(run);
    return run;
  }

  /**
   * Something happened to the run. While a turn is under way its events wait in the inbox: the turn has not seen them,
   * so they must come after what it decides. `isBegun`: the turn that follows is with a worker already.
   */
  receive(run: ActiveRun, events: NewEvent[], isBegun = false): void {
    if (run.isClosed) return;
    if (run.turn) {
      run.inbox.push(events);
      if (events[0]?.type === 'WORKFLOW_EXECUTION_SIGNALED') run.signalsInInbox++;
      for (const event of events) markInInbox(run, event);
      this.machine.commit.changed(run);
      return;
    }
    const now = this.machine.clock.now();
    for (const event of events) this.append(run, event, now);
    this.#requireTurn(run, now);
    if (!isBegun) this.queueTurn(run);
  }

  /** What waited for the turn to end comes into the history, and the run gets a turn to see it. */
  takeInbox(run: ActiveRun): void {
    if (this.#emptyInbox(run)) this.scheduleTurn(run);
  }

  /** Returns whether there was anything. */
  #emptyInbox(run: ActiveRun): boolean {
    if (run.inbox.length === 0) return false;
    const groups = run.inbox;
    run.inbox = [];
    run.signalsInInbox = 0;
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
    const appended = run.append(event, event.at ?? now);
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
    if (run.isClosed) return;
    this.#requireTurn(run, this.machine.clock.now());
    this.queueTurn(run);
  }

  /** From `now` on the run has a turn to make, unless its history is full. */
  #requireTurn(run: ActiveRun, now: number): void {
    const { limits } = this.machine;
    const { state } = run;
    if (state.lastEventId >= limits.historyEvents || run.historyBytes >= limits.historyBytes) {
      this.failForLimit(
        run,
        `the history has ${state.lastEventId} events and ${run.historyBytes} bytes; the limits are ${limits.historyEvents} and ${limits.historyBytes}. Use continueAsNew in long-lived workflows`,
      );
      return;
    }
    if (state.turnScheduledEventId === undefined) {
      this.append(run, { type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } }, now);
    }
  }

  /** Queues what the run needs next: a turn, or only the answers to its queries. */
  goOn(run: ActiveRun): void {
    if (run.needsTurn) this.queueTurn(run);
    else if (run.queries.length > 0) {
      const task = { kind: 'query', runId: run.state.runId } as const;
      this.machine.dispatcher.enqueue(run.state.started.catalog, task, run.isSuspect);
    }
  }

  queueTurn(run: ActiveRun): void {
    if (
      run.isClosed ||
      run.isTurnQueued ||
      run.turn ||
      (run.heldBack && run.heldBack.retryAt > this.machine.clock.now())
    )
      return;
    run.isTurnQueued = true;
    const task = { kind: 'turn', runId: run.state.runId } as const;
    this.machine.dispatcher.enqueue(run.state.started.catalog, task, run.isSuspect);
  }

  /** Signals the run. @throws TooManyRequestsError */
  signal(run: ActiveRun, attributes: EventAttributes['WORKFLOW_EXECUTION_SIGNALED']): void {
    if (run.state.signalCount + run.signalsInInbox >= this.machine.limits.signalsPerRun) {
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
  endFromOutside(run: ActiveRun, event: NewEvent, isReset = false): void {
    this.abandonTurn(run);
    this.#emptyInbox(run);
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

  /** The id of the run that follows a failed one under its retry policy; undefined when none follows. */
  retryOf(run: ActiveRun, failure: Failure): string | undefined {
    const { retry, attempt, executionExpiresAt } = run.state.started;
    if (!retry) return undefined;
    const now = this.machine.clock.now();
    const decision = decideRetry(retry, attempt, failure, now, executionExpiresAt);
    return decision.kind === 'retry' ? newRunId(now) : undefined;
  }

  /** The run's closing event is appended: everything that follows from it. */
  afterClose(run: ActiveRun, isReset = false): void {
    const event = run.closeEvent!;
    this.machine.observer.runClosed?.(run.state.started.workflowType, STATUS_OF_CLOSE_EVENT[event.type]!);
    this.machine.steps.stopAll(run);
    this.machine.commit.include(run);
    this.machine.commit.hurry();
    this.machine.dispatcher.forget(run.state.runId, true);
    const successor = this.#startSuccessor(run, event);
    this.#releaseUpdates(run, successor);
    this.goOn(run);
    if (isReset) return;
    this.machine.relations.closeChildren(run);
    if (!successor) this.machine.relations.tellParent(run, event);
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
          firstTurnBackoffMs: backoffMs(started.retry!, started.attempt),
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
            message: `the run closed before its update "${update.request.name}" completed`,
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
