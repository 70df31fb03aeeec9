/**
 * Turns: handed to a worker with the events it lacks, and their commands taken into the history.
 *
 * 1. A turn is pure, so it may be sent before the events that caused it are on disk; only its effects wait for the
 *    commit, which then carries both.
 * 2. At most one turn of a run is under way; an answer to any other is stale and changes nothing.
 * 3. A turn that wants to close the run although events have arrived meanwhile is not taken: the run sees them first.
 * 4. A turn that only refused updates leaves no trace in the history.
 * 5. A turn that fails is tried again with backoff and leaves one event, not one per try: the run is held back, never
 *    failed, and goes on when fitting code is deployed.
 * 6. A turn that a worker has begun by itself counts only if it saw the very history that the engine would have sent.
 */

import { monotonicMs } from '../core/clock.js';
import { type Command, isCloseCommand } from '../core/command.js';
import { PerdureError } from '../core/errors.js';
import type { HistoryEvent } from '../core/event.js';
import type { Failure } from '../core/failure.js';
import type { FromWorker, NextTurn } from '../core/task.js';
import { brokenLimit } from '../core/turn-limits.js';
import type { ActiveRun, AdmittedUpdate, TurnUnderWay } from './active-run.js';
import type { Machine } from './machine.js';
import { type PendingStep, pendingCount } from './state.js';
import { eventOfCommand, impossibleCommand } from './turn.js';
import { eventsAfter, eventsFor, suggestsContinueAsNew, turnTask } from './turn-task.js';
import { turnKey, type WorkerConnection } from './workers.js';

/** The wait before a failed turn is tried again: 1 s, then four times as long each time, up to ten minutes. */
const TURN_BACKOFF = { firstMs: 1_000, factor: 4, maximumMs: 600_000 };

/** Losses in a row after which a turn is held back even if it was never the one to blame. */
const MAX_LOST_TURNS = 10;

type Answered = Extract<FromWorker, { kind: 'turnCompleted' }>;
type Failed = Extract<FromWorker, { kind: 'turnFailed' }>;

export class Turns {
  constructor(private readonly machine: Machine) {}

  /** Gives the run's turn to the worker, unless it needs none any more. */
  handOut(runId: string, worker: WorkerConnection): string | undefined {
    const run = this.machine.runs.get(runId);
    if (!run) return undefined;
    run.isTurnQueued = false;
    if (!run.needsTurn || run.turn) return undefined;
    const { clock } = this.machine;
    const turn: TurnUnderWay = {
      turnId: this.machine.dispatcher.nextTurnId(),
      worker,
      startedAt: Math.max(clock.now(), run.state.lastAt),
      sentAt: monotonicMs(),
      upTo: run.state.lastEventId,
      updates: run.admitted,
      queries: run.queries,
    };
    run.admitted = [];
    run.queries = [];
    run.turn = turn;
    worker.turns.set(turn.turnId, runId);
    this.#send(run, turn, eventsFor(this.machine, run, worker));
    return turnKey(turn.turnId);
  }

  /** The turn after `step`, for a worker that can begin it: the step is all that the run waits for. */
  offer(run: ActiveRun, step: PendingStep, worker: WorkerConnection): NextTurn | undefined {
    const { activityId, scheduledEventId } = step;
    const isOffered =
      hasOnlyRecord(run, step, worker) &&
      pendingCount(run.state) === 1 &&
      !run.wasBegunInVain &&
      !run.isSuspect;
    if (!isOffered) return undefined;
    return {
      turnId: this.machine.dispatcher.nextTurnId(),
      activityId,
      sentAt: Math.max(this.machine.clock.now(), run.state.lastAt),
      continueAsNewSuggested: suggestsContinueAsNew(this.machine, scheduledEventId + EVENTS_OF_STEP),
    };
  }

  /** Whether the turn that the worker has begun is the one that it would be given now. */
  isBegun(
    run: ActiveRun,
    step: PendingStep,
    worker: WorkerConnection,
    begunAt: number | undefined,
  ): begunAt is number {
    return (
      begunAt !== undefined &&
      begunAt >= run.state.lastAt &&
      begunAt <= this.machine.clock.now() &&
      hasOnlyRecord(run, step, worker) &&
      !worker.isDraining
    );
  }

  begun(run: ActiveRun, worker: WorkerConnection, turnId: number, workflowTime: number): void {
    const { runId, lastEventId: upTo, lastAt: startedAt } = run.state;
    if (run.isClosed) return;
    const sentAt = monotonicMs();
    run.turn = { turnId, worker, startedAt, workflowTime, sentAt, upTo, updates: [], queries: [] };
    worker.turns.set(turnId, runId);
    this.#isSent(run, run.turn);
  }

  /** The worker's copy of the run has lived through a turn that will not be. */
  refuseBegun(worker: WorkerConnection, runId: string): void {
    const run = this.machine.runs.inMemory(runId);
    if (run) run.wasBegunInVain = true;
    if (this.machine.dispatcher.cachedBy(runId) === worker) this.machine.dispatcher.forget(runId, true);
  }

  completed(worker: WorkerConnection, answer: Answered): void {
    if (this.machine.queries.completed(worker, answer.turnId, answer.answers)) return;
    const run = this.#takeTurn(worker, answer.turnId, answer.runId);
    if (!run) return;
    const turn = run.turn!;
    const { commands } = answer;
    this.machine.observer.turnEnded?.(run.state.started.workflowType, monotonicMs() - turn.sentAt, run.state);
    if (run.inbox.length > 0 && commands.some(isCloseCommand)) {
      this.machine.lifecycle.abandonTurn(run);
      this.machine.lifecycle.takeInbox(run);
      return;
    }
    const wrong = impossibleCommand(
      run.state,
      commands,
      turn.updates.map((update) => update.request.updateId),
    );
    if (wrong !== undefined) {
      this.machine.lifecycle.abandonTurn(run);
      const message = `the worker answered with a command that cannot be: ${wrong}`;
      const failure: Failure = { kind: 'application', type: 'ImpossibleCommand', message };
      this.#holdBack(run, turn.startedAt, 'WORKFLOW_WORKER_UNHANDLED_FAILURE', failure);
      return;
    }
    run.turn = undefined;
    run.lostTurns = 0;
    const extent = { pending: pendingCount(run.state), depth: run.state.started.parent?.depth ?? 0 };
    const limit = brokenLimit(extent, commands, this.machine.limits);
    if (limit !== undefined) {
      run.admitted.unshift(...turn.updates);
      run.queries.unshift(...turn.queries);
      this.machine.lifecycle.failForLimit(run, limit);
      return;
    }
    if (
      run.state.turnScheduledEventId === undefined &&
      commands.every((each) => each.kind === 'rejectUpdate')
    ) {
      // The worker's copy has lived through a turn that the history does not have.
      this.machine.dispatcher.forget(run.state.runId, true);
      this.#settleUpdates(run, turn.updates, commands);
      this.machine.lifecycle.takeInbox(run);
    } else {
      this.#record(run, turn, worker, commands);
    }
    this.machine.queries.release(turn.queries, answer.answers);
    if (!run.isClosed) this.machine.lifecycle.goOn(run);
  }

  /** The worker does not have the run any more: it gets the whole history. */
  missed(worker: WorkerConnection, turnId: number, runId: string): void {
    worker.cached.delete(runId);
    if (this.machine.queries.missed(worker, turnId)) return;
    const run = this.machine.runs.get(runId);
    if (run?.turn?.turnId !== turnId) return;
    this.#send(run, run.turn, eventsAfter(this.machine, run, 0));
  }

  failed(worker: WorkerConnection, answer: Failed): void {
    if (this.machine.queries.failed(worker, answer.turnId, answer.failure)) return;
    const run = this.#takeTurn(worker, answer.turnId, answer.runId);
    if (!run) return;
    const turn = run.turn!;
    this.machine.lifecycle.abandonTurn(run);
    this.#holdBack(run, turn.startedAt, answer.cause, answer.failure);
  }

  /** The worker is gone; its turns are given to another. */
  workerLost(worker: WorkerConnection): void {
    for (const [turnId, runId] of worker.turns) {
      if (this.machine.queries.lost(turnId)) continue;
      const run = this.machine.runs.get(runId);
      if (run?.turn?.turnId !== turnId) continue;
      const { startedAt } = run.turn;
      this.machine.lifecycle.abandonTurn(run);
      this.machine.lifecycle.takeInbox(run);
      const isToBlame = worker.isToBlame(turnKey(turnId));
      if (isToBlame === undefined && !worker.isDraining) run.lostTurns++;
      if (isToBlame || run.lostTurns > MAX_LOST_TURNS) {
        const message = `worker ${worker.identity} ended whenever it ran this turn: the workflow may loop without end or use up the memory`;
        const failure: Failure = { kind: 'application', type: 'WorkerCrashed', message };
        this.#holdBack(run, startedAt, 'WORKFLOW_WORKER_UNHANDLED_FAILURE', failure);
      } else {
        this.machine.lifecycle.goOn(run);
      }
    }
    worker.turns.clear();
  }

  /** A held back run gets another try: its time has come, or new code was deployed. */
  retryHeldBack(run: ActiveRun): void {
    if (!run.heldBack || run.isClosed) return;
    run.heldBack.retryAt = this.machine.clock.now();
    run.changed = true;
    this.machine.commit.changed(run);
    this.machine.lifecycle.goOn(run);
  }

  #send(run: ActiveRun, turn: TurnUnderWay, events: HistoryEvent[]): void {
    this.#isSent(run, turn);
    const { lastEventId, turnScheduledEventId } = run.state;
    // Of a turn that only updates caused, the scheduled event is written when its answer has been taken.
    const historyLength = turnScheduledEventId === undefined ? lastEventId + 1 : lastEventId;
    const updates = turn.updates.map((update) => update.request);
    const { turnId, startedAt } = turn;
    const wanted = { turnId, startedAt, historyLength, events, updates, readOnly: false };
    turn.worker.send(turnTask(this.machine, run, wanted, turn.queries));
  }

  #isSent(run: ActiveRun, { worker, upTo }: TurnUnderWay): void {
    this.machine.dispatcher.remember(run.state.runId, worker, upTo);
    run.unsent = [];
  }

  #takeTurn(worker: WorkerConnection, turnId: number, runId: string): ActiveRun | undefined {
    if (!worker.turns.delete(turnId)) return undefined;
    this.machine.dispatcher.freed(worker);
    const run = this.machine.runs.get(runId);
    return run?.turn?.turnId === turnId ? run : undefined;
  }

  #record(run: ActiveRun, turn: TurnUnderWay, worker: WorkerConnection, commands: readonly Command[]): void {
    const { lifecycle } = this.machine;
    const { state } = run;
    if (state.turnScheduledEventId === undefined) {
      lifecycle.append(run, { type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } }, turn.startedAt);
    }
    const scheduledEventId = state.turnScheduledEventId!;
    const { startedAt, workflowTime = startedAt } = turn;
    const started = lifecycle.append(
      run,
      {
        type: 'WORKFLOW_TASK_STARTED',
        attributes: {
          scheduledEventId,
          ...(suggestsContinueAsNew(this.machine, turn.upTo) && { suggestContinueAsNew: true }),
          ...(workflowTime !== startedAt && { workflowTime }),
        },
      },
      startedAt,
    );
    const now = this.machine.clock.now();
    lifecycle.append(
      run,
      { type: 'WORKFLOW_TASK_COMPLETED', attributes: { scheduledEventId, startedEventId: started.id } },
      now,
    );
    if (run.heldBack || run.format === undefined) {
      run.heldBack = undefined;
      run.format ??= worker.format;
      run.changed = true;
    }
    const admitted = new Map(turn.updates.map((update) => [update.request.updateId, update.request]));
    const appended: HistoryEvent[] = [];
    for (const command of commands) {
      if (command.kind === 'failRun') {
        const { failure } = command;
        appended.push(
          lifecycle.append(
            run,
            {
              type: 'WORKFLOW_EXECUTION_FAILED',
              attributes: { failure, newExecutionRunId: lifecycle.retryOf(run, failure) },
            },
            now,
          ),
        );
        continue;
      }
      const event = eventOfCommand(state, command, admitted, now);
      if (event) appended.push(lifecycle.append(run, event, now));
    }
    this.#settleUpdates(run, turn.updates, commands);
    lifecycle.takeInbox(run);
    for (const event of appended) this.#carryOut(run, event);
  }

  /** What an event of a turn asks for. */
  #carryOut(run: ActiveRun, event: HistoryEvent): void {
    switch (event.type) {
      case 'ACTIVITY_TASK_SCHEDULED': {
        const step = run.state.steps.get(event.id);
        if (step) this.machine.steps.enqueue(run, step);
        return;
      }
      case 'ACTIVITY_TASK_CANCEL_REQUESTED':
        this.machine.steps.cancel(run, event.attributes.scheduledEventId, event.id);
        return;
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
        this.machine.relations.startChild(run, event);
        return;
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        this.machine.relations.signalExternal(run, event);
        return;
      case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        this.machine.relations.cancelExternal(run, event);
        return;
      case 'WORKFLOW_EXECUTION_COMPLETED':
      case 'WORKFLOW_EXECUTION_FAILED':
      case 'WORKFLOW_EXECUTION_CANCELED':
      case 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW':
        // The worker that closed it keeps nothing of it.
        this.machine.dispatcher.forget(run.state.runId, false);
        this.machine.lifecycle.afterClose(run);
        return;
      default:
    }
  }

  #settleUpdates(run: ActiveRun, given: readonly AdmittedUpdate[], commands: readonly Command[]): void {
    const open = new Map(given.map((update) => [update.request.updateId, update]));
    for (const command of commands) {
      switch (command.kind) {
        case 'acceptUpdate': {
          const update = open.get(command.updateId);
          if (update) run.accepted.set(command.updateId, update);
          open.delete(command.updateId);
          break;
        }
        case 'completeUpdate': {
          const update = run.accepted.get(command.updateId);
          run.accepted.delete(command.updateId);
          const { result, failure } = command;
          this.machine.commit.afterCommit(() =>
            update?.resolve(failure ? { kind: 'failed', failure } : { kind: 'completed', result }),
          );
          break;
        }
        case 'rejectUpdate': {
          const update = open.get(command.updateId);
          open.delete(command.updateId);
          const error = new PerdureError(
            command.reason === 'noHandler' ? 'HandlerNotFoundError' : 'UpdateRejectedError',
            command.failure.message,
            { workflowId: run.state.workflowId, runId: run.state.runId },
          );
          this.machine.commit.afterCommit(() => update?.resolve({ kind: 'refused', error }));
          break;
        }
        default:
      }
    }
    run.admitted.unshift(...open.values());
  }

  #holdBack(run: ActiveRun, startedAt: number, cause: Failed['cause'], failure: Failure): void {
    const now = this.machine.clock.now();
    const scheduledEventId = run.state.turnScheduledEventId;
    if (!run.heldBack && scheduledEventId !== undefined) {
      const started = this.machine.lifecycle.append(
        run,
        { type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId } },
        startedAt,
      );
      this.machine.lifecycle.append(
        run,
        {
          type: 'WORKFLOW_TASK_FAILED',
          attributes: { scheduledEventId, startedEventId: started.id, cause, failure },
        },
        now,
      );
    }
    const attempt = (run.heldBack?.attempt ?? 0) + 1;
    const waitMs = Math.min(
      TURN_BACKOFF.firstMs * TURN_BACKOFF.factor ** (attempt - 1),
      TURN_BACKOFF.maximumMs,
    );
    run.heldBack = {
      reason: failure.message,
      since: run.heldBack?.since ?? now,
      attempt,
      retryAt: now + waitMs,
    };
    run.changed = true;
    this.machine.queries.refuseAll(run, failure.message);
    this.machine.lifecycle.takeInbox(run);
    if (scheduledEventId !== undefined) this.machine.lifecycle.scheduleTurn(run);
    this.machine.commit.changed(run);
  }
}

/** A step that completes is recorded as started and completed, and a turn is scheduled. */
const EVENTS_OF_STEP = 3;
/** A turn that does nothing but schedule a step is recorded as started and completed, followed by the step. */
const EVENTS_OF_TURN = 3;

/** Whether nothing has happened since the turn that scheduled the step, and the worker lacks nothing but that turn's record. */
function hasOnlyRecord(
  { state, turn, inbox }: ActiveRun,
  { scheduledEventId }: PendingStep,
  worker: WorkerConnection,
): boolean {
  return (
    state.lastEventId === scheduledEventId &&
    worker.cached.get(state.runId) === scheduledEventId - EVENTS_OF_TURN &&
    turn === undefined &&
    inbox.length === 0
  );
}
