/**
 * What can happen to a run: it starts, receives events, closes. Everything here happens in memory within one tick and
 * is committed together, so a run and the one it continues as change as one.
 */
import { PerdureError } from '../../core/errors.js';
import { faultPoint } from '../../core/fault-point.js';
import type { EventAttributes, HistoryEvent, NewEvent } from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import {
  PAUSE_SIGNAL,
  type PausedBy,
  pauseArguments,
  RESUME_SIGNAL,
  takesOver,
} from '../../core/run/pause.js';
import { backoffMs, decideRetry } from '../../core/run/retry.js';
import { STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { Payload } from '../../core/values/json.js';
import { TurnoverSet } from '../../core/values/turnover.js';
import type { PauseRequest } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import { markArrived } from '../state/arrivals.js';
import { eventBytes } from '../state/event-bytes.js';
import { initialState } from '../state/run-state.js';
import { ActiveRun } from '../store/active-run.js';
import { turnNeed } from '../workers/task-need.js';

type Started = EventAttributes['WORKFLOW_EXECUTION_STARTED'];

/** A run has closed, and what goes on in its place. */
export interface RunClosed {
  run: ActiveRun;
  event: HistoryEvent;
  successor: ActiveRun | undefined;
  /** Another run with a part of its history takes over. */
  isReset: boolean;
}

/** Temporal's pace of every chain. */
const CHAIN_PACE_MS = 1_000;

const TIMED_OUT: Failure = {
  kind: 'timeout',
  type: 'TimeoutError',
  message: 'the run took longer than its executionTimeout',
};

export class Lifecycle {
  /** Runs whose turn waits for a worker, those that have left memory meanwhile included. */
  readonly #queuedTurns = new TurnoverSet<string>();
  readonly #onClosed: ((closed: RunClosed) => void)[] = [];
  readonly #onResumed: ((run: ActiveRun) => void)[] = [];

  constructor(private readonly kernel: Kernel) {}

  /** Tells the listener of every run that closes, in the transition that closes it. */
  onClosed(listener: (closed: RunClosed) => void): void {
    this.#onClosed.push(listener);
  }

  /** Tells the listener of every run that is paused no more, in the transition that makes it so. */
  onResumed(listener: (run: ActiveRun) => void): void {
    this.#onResumed.push(listener);
  }

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
    const { clock, ids, runs } = this.kernel;
    const now = clock.now();
    const runId = wanted.runId ?? ids.newRunId(now);
    const settings = this.kernel.settingsOf(wanted.catalog, wanted.workflowType);
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
    run.beginsWith([first]);
    run.unsent.push(first);
    runs.add(run);
    this.kernel.trees.started(run.state);
    this.kernel.observer.runStarted?.(wanted.workflowType);
    if (attributes.firstTurnBackoffMs === undefined) this.scheduleTurn(run);
    else this.kernel.commit.changed(run);
    return run;
  }

  /**
   * Something happened to the run. While a turn is under way its events wait in the inbox: the turn has not seen them,
   * so they must come after what it decides. `isBegun`: the turn that follows is with a worker already.
   */
  receive(run: ActiveRun, events: NewEvent[], isBegun = false): void {
    if (run.isClosed) return;
    const { paused } = run.state;
    this.#take(run, events, isBegun);
    if (run.state.paused === paused) return;
    run.changed = true;
    this.kernel.commit.changed(run);
    // Of what it asked for before it was asked to stop it may want nothing any more: that waits until it knows.
    if (run.isPaused || run.isClosed || run.state.isStopNews) return;
    for (const tell of this.#onResumed) tell(run);
  }

  #take(run: ActiveRun, events: NewEvent[], isBegun: boolean): void {
    if (run.turn) {
      run.inbox.push(events);
      for (const event of events) markArrived(run.state, event);
      this.kernel.commit.changed(run);
      this.#endIfFull(run);
      return;
    }
    const now = this.kernel.clock.now();
    for (const event of events) this.append(run, event, now);
    // Nobody waits for a retry that was asked to stop: its first turn sees that at once, as on Temporal.
    if (run.isBackingOff && !run.state.isStopNews) {
      this.#endIfFull(run);
      return;
    }
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
    const groups = run.inbox.take();
    const now = this.kernel.clock.now();
    let appended = false;
    for (const group of groups) {
      for (const event of group) {
        if (event.type === 'TIMER_FIRED' && !run.state.timers.has(event.attributes.timerId)) continue;
        this.append(run, event, now);
        appended = true;
      }
    }
    this.kernel.commit.changed(run);
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
    this.kernel.commit.changed(run);
    return appended;
  }

  scheduleTurn(run: ActiveRun): void {
    if (run.isClosed) return;
    this.#requireTurn(run, this.kernel.clock.now());
    this.queueTurn(run);
  }

  /** From `now` on the run has a turn to make, unless its history is full. */
  #requireTurn(run: ActiveRun, now: number): void {
    if (this.#endIfFull(run)) return;
    if (run.state.turnScheduledEventId === undefined) {
      this.append(run, { type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } }, now);
    }
  }

  /** A run whose history is full, with what waits to come into it, has failed. Returns whether it was. */
  #endIfFull(run: ActiveRun): boolean {
    const { limits } = this.kernel;
    const { events, bytes } = run.extent;
    if (events < limits.historyEvents && bytes < limits.historyBytes) return false;
    this.failForLimit(
      run,
      `the history has ${events} events and ${bytes} bytes; the limits are ${limits.historyEvents} and ${limits.historyBytes}. Use continueAsNew in long-lived workflows`,
    );
    return true;
  }

  /** Queues what the run needs next: a turn, or only the answers to its queries. */
  goOn(run: ActiveRun): void {
    if (run.needsTurn) this.queueTurn(run);
    else if (run.queries.length > 0 && (run.isClosed || !run.isBackingOff)) {
      const { runId, started } = run.state;
      const need = turnNeed(started.workflowType, run.misfits);
      this.kernel.dispatcher.enqueue(
        started.catalog,
        { kind: 'query', runId, need },
        run.tree,
        run.suspicion,
      );
    }
  }

  queueTurn(run: ActiveRun): void {
    const { runId } = run.state;
    const isQueued = this.#queuedTurns.has(runId);
    if (run.isClosed || isQueued || run.turn || run.isHeldBackAt(this.kernel.clock.now())) return;
    this.#queuedTurns.add(runId);
    this.#enqueueTurn(run);
  }

  /** The time of the run's turn has come, whatever becomes of it. */
  dequeued(runId: string): void {
    this.#queuedTurns.delete(runId);
  }

  /**
   * Runs that were asked to stop come first among those of their tree: else one that starts children faster than they can
   * be stopped could not be stopped at all.
   */
  #enqueueTurn({ state, tree, suspicion, misfits }: ActiveRun): void {
    const { runId, started, cancelRequested: isUrgent } = state;
    const need = turnNeed(started.workflowType, misfits);
    this.kernel.dispatcher.enqueue(started.catalog, { kind: 'turn', runId, need, isUrgent }, tree, suspicion);
  }

  /** Signals the run, unless it has that very signal. @throws TooManyRequestsError */
  signal(run: ActiveRun, attributes: EventAttributes['WORKFLOW_EXECUTION_SIGNALED']): void {
    if (attributes.requestId !== undefined && hasSignal(run, attributes.requestId)) return;
    const { limits } = this.kernel;
    const { workflowId, runId, signalCount } = run.state;
    if (signalCount + run.inbox.waiting.signals >= limits.signalsPerRun) {
      throw new PerdureError(
        'TooManyRequestsError',
        `the run has received ${limits.signalsPerRun} signals, which is the limit; let the workflow continue as new`,
        { workflowId, runId },
      );
    }
    const extent = run.extent;
    const events = extent.events + 1;
    const bytes = extent.bytes + eventBytes({ type: 'WORKFLOW_EXECUTION_SIGNALED', attributes });
    // One that makes a turn at once is let in, and ends if its history is full.
    if (run.hasTurnToMake && (events >= limits.historyEvents || bytes >= limits.historyBytes)) {
      throw new PerdureError(
        'TooManyRequestsError',
        `the run has ${extent.events} events and ${extent.bytes} bytes of history and of what waits for its next turn; the limits are ${limits.historyEvents} and ${limits.historyBytes} in all. Try again when it has made that turn, or let the workflow continue as new`,
        { workflowId, runId, retryAfterSeconds: 1 },
      );
    }
    this.receive(run, [{ type: 'WORKFLOW_EXECUTION_SIGNALED', attributes }]);
  }

  /** Unless it is so already. A run that was asked to stop cannot be. */
  pause(run: ActiveRun, { reason, by }: PauseRequest): void {
    const { paused } = run.state;
    if (paused && !takesOver(paused, by)) return;
    const input = pauseArguments({ reason, by, at: this.kernel.clock.now() });
    this.receive(run, [
      { type: 'WORKFLOW_EXECUTION_SIGNALED', attributes: { signalName: PAUSE_SIGNAL, input } },
    ]);
  }

  resume(run: ActiveRun, onlyBy?: PausedBy): void {
    const { paused } = run.state;
    if (!paused || (onlyBy !== undefined && paused.by !== onlyBy)) return;
    this.receive(run, [
      { type: 'WORKFLOW_EXECUTION_SIGNALED', attributes: { signalName: RESUME_SIGNAL, input: [] } },
    ]);
  }

  isAskedToStop({ state, inbox }: ActiveRun): boolean {
    return (
      state.cancelRequested || inbox.some((group) => group[0]?.type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED')
    );
  }

  cancel(run: ActiveRun, cause: string): void {
    if (this.isAskedToStop(run)) return;
    const wasQueued = this.#queuedTurns.has(run.state.runId);
    this.receive(run, [{ type: 'WORKFLOW_EXECUTION_CANCEL_REQUESTED', attributes: { cause } }]);
    // It has a place further behind already, at which nothing will be left to do.
    if (wasQueued) this.#enqueueTurn(run);
  }

  /** Ends the run from outside, whatever it is doing. Messages it has received by then stay in its history. */
  endFromOutside(run: ActiveRun, event: NewEvent, isReset = false): void {
    this.abandonTurn(run);
    this.#emptyInbox(run);
    this.append(run, event, this.kernel.clock.now());
    this.afterClose(run, isReset);
  }

  /** Forgets the turn under way: its answer, should it come, belongs to nothing. */
  abandonTurn(run: ActiveRun): void {
    const { turn } = run;
    if (!turn) return;
    run.turn = undefined;
    turn.worker.turns.delete(turn.turnId);
    run.admitAgain(turn.updates);
    run.queries.unshift(...turn.queries);
    this.kernel.dispatcher.forget(run.state.runId, turn.worker.isConnected);
    this.kernel.dispatcher.freed(turn.worker);
  }

  failForLimit(run: ActiveRun, message: string): void {
    const failure: Failure = { kind: 'application', type: 'LimitExceededError', message, nonRetryable: true };
    this.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_FAILED', attributes: { failure } });
  }

  /** The id of the run that follows a failed one under its retry policy; undefined when none follows. */
  retryOf(run: ActiveRun, failure: Failure): string | undefined {
    const { retry, attempt } = run.state.started;
    if (!retry) return undefined;
    const now = this.kernel.clock.now();
    const decision = decideRetry(retry, attempt, failure, now, run.state.executionExpiresAt);
    return decision.kind === 'retry' ? this.kernel.ids.newRunId(now) : undefined;
  }

  /** The run's closing event is appended: everything that follows from it. */
  afterClose(run: ActiveRun, isReset = false): void {
    const event = run.closeEvent!;
    run.heldBack = undefined;
    run.failedTurn = undefined;
    run.lostTurns = 0;
    this.kernel.trees.closed(run.state);
    this.kernel.observer.runClosed?.(run.state.started.workflowType, STATUS_OF_CLOSE_EVENT[event.type]!);
    this.kernel.commit.include(run);
    this.kernel.commit.hurry();
    this.kernel.dispatcher.forget(run.state.runId, true);
    const successor = this.#startSuccessor(run, event);
    this.#tellFailed(run, event, successor);
    if (event.type === 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW') faultPoint('continueAsNew');
    if (successor) this.kernel.commit.together(run, successor);
    this.#releaseUpdates(run, successor);
    this.goOn(run);
    for (const tell of this.#onClosed) tell({ run, event, successor, isReset });
  }

  #tellFailed({ state }: ActiveRun, event: HistoryEvent, successor: ActiveRun | undefined): void {
    const { observer, commit } = this.kernel;
    if (!observer.runFailed) return;
    const { workflowId, runId, started } = state;
    const of = { workflowId, runId, workflowType: started.workflowType };
    const newRunId = successor?.state.runId;
    if (event.type === 'WORKFLOW_EXECUTION_FAILED') {
      const { failure } = event.attributes;
      commit.afterCommit(() => observer.runFailed?.({ ...of, status: 'failed', failure, newRunId }));
    } else if (event.type === 'WORKFLOW_EXECUTION_TIMED_OUT') {
      commit.afterCommit(() => observer.runFailed?.({ ...of, status: 'timed_out', failure: TIMED_OUT }));
    }
  }

  #startSuccessor(run: ActiveRun, event: HistoryEvent): ActiveRun | undefined {
    const { started } = run.state;
    const lineage: Partial<Started> = {
      firstExecutionRunId: started.firstExecutionRunId,
      continuedExecutionRunId: run.state.runId,
      parent: started.parent,
      retry: started.retry,
      executionTimeoutMs: started.executionTimeoutMs,
      executionExpiresAt: run.state.executionExpiresAt,
      traceContext: started.traceContext,
      budget: started.budget,
    };
    const { restartableChildren } = run.state;
    if (restartableChildren.size > 0) lineage.cutOffChildren = [...restartableChildren];
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
        { ...lineage, initiator: 'CONTINUE_AS_NEW', firstTurnBackoffMs: this.#paceOf(run) },
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
          firstTurnBackoffMs: Math.max(backoffMs(started.retry!, started.attempt), this.#paceOf(run) ?? 0),
        },
      );
    }
    return undefined;
  }

  /** A chain that goes on without end would fill the disk with its closed runs: beyond the usual it goes on step by step. */
  #paceOf({ state: { workflowId, runId, started } }: ActiveRun): number | undefined {
    const { chains, limits, log } = this.kernel;
    const starts = chains.add(started.firstExecutionRunId);
    if (starts <= limits.continuationsPerMinute) return undefined;
    if (starts === limits.continuationsPerMinute + 1) {
      log.warn(
        { workflowId, runId },
        `workflow "${started.workflowType}" has continued as new, or was retried, more than ${limits.continuationsPerMinute} times within a minute: from now on each of its runs begins after ${CHAIN_PACE_MS} ms`,
      );
    }
    return CHAIN_PACE_MS;
  }

  /** Every caller of an update gets an answer, also when the run closes first. */
  #releaseUpdates(run: ActiveRun, successor: ActiveRun | undefined): void {
    const { workflowId, runId } = run.state;
    for (const [, update] of run.accepted) {
      this.kernel.commit.afterCommit(() =>
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
    const waiting = run.takeAdmitted();
    if (waiting.length === 0) return;
    if (successor) {
      successor.admitAgain(waiting);
      this.goOn(successor);
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
      this.kernel.commit.afterCommit(() => update.resolve({ kind: 'refused', error }));
    }
  }
}

function hasSignal({ state, inbox }: ActiveRun, requestId: string): boolean {
  return (
    state.signalRequests.has(requestId) ||
    inbox.some(
      ([event]) => event?.type === 'WORKFLOW_EXECUTION_SIGNALED' && event.attributes.requestId === requestId,
    )
  );
}
