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
 */

import { monotonicMs } from '../core/clock.js';
import type { Command } from '../core/command.js';
import { PerdureError } from '../core/errors.js';
import type { HistoryEvent } from '../core/event.js';
import type { Failure } from '../core/failure.js';
import type { FromWorker, QueryAnswer, TurnTask } from '../core/task.js';
import type { ActiveRun, AdmittedUpdate, TurnUnderWay, WaitingQuery } from './active-run.js';
import type { Machine } from './machine.js';
import { brokenLimit, eventOfCommand, impossibleCommand, isCloseCommand } from './turn.js';
import { turnKey, type WorkerConnection } from './workers.js';

/** The wait before a failed turn is tried again: 1 s, then four times as long each time, up to ten minutes. */
const TURN_BACKOFF = { firstMs: 1_000, factor: 4, maximumMs: 600_000 };

/** Losses in a row after which a turn is held back even if it was never the one to blame. */
const MAX_LOST_TURNS = 10;

interface QueriesUnderWay {
  runId: string;
  worker: WorkerConnection;
  queries: WaitingQuery[];
}

type Answered = Extract<FromWorker, { kind: 'turnCompleted' }>;
type Failed = Extract<FromWorker, { kind: 'turnFailed' }>;

export class Turns {
  #lastTurnId = 0;
  readonly #queries = new Map<number, QueriesUnderWay>();

  constructor(private readonly machine: Machine) {}

  /** Gives the run's turn to the worker, unless it needs none any more. */
  handOut(runId: string, worker: WorkerConnection): string | undefined {
    const run = this.machine.runs.get(runId);
    if (!run) return undefined;
    run.isTurnQueued = false;
    if (!run.needsTurn || run.turn) return undefined;
    const { clock } = this.machine;
    const turn: TurnUnderWay = {
      turnId: ++this.#lastTurnId,
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
    this.#send(run, turn, this.#eventsFor(run, worker));
    return turnKey(turn.turnId);
  }

  /** Asks the worker the queries that wait, on a run that has no turn to make. */
  handOutQueries(runId: string, worker: WorkerConnection): string | undefined {
    const run = this.machine.runs.get(runId);
    if (!run || run.queries.length === 0 || run.needsTurn || run.turn) return undefined;
    const turnId = ++this.#lastTurnId;
    const { queries } = run;
    run.queries = [];
    this.#queries.set(turnId, { runId, worker, queries });
    worker.turns.set(turnId, runId);
    const events = this.#eventsFor(run, worker);
    this.machine.dispatcher.remember(runId, worker, run.state.lastEventId);
    run.unsent = [];
    const { lastEventId: historyLength, lastAt: startedAt } = run.state;
    worker.send(
      this.#task(run, { turnId, startedAt, historyLength, events, updates: [], readOnly: true }, queries),
    );
    if (run.isClosed && run.isQuiet) this.machine.runs.drop(run);
    return turnKey(turnId);
  }

  completed(worker: WorkerConnection, answer: Answered): void {
    if (this.#answerQueries(worker, answer.turnId, answer.answers)) return;
    const run = this.#takeTurn(worker, answer.turnId, answer.runId);
    if (!run) return;
    const turn = run.turn!;
    const { commands } = answer;
    this.machine.observer.turnEnded?.(run.state.started.workflowType, monotonicMs() - turn.sentAt);
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
    const limit = brokenLimit(run.state, commands, this.machine.limits);
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
    this.#release(turn.queries, answer.answers);
    if (!run.isClosed) this.#continue(run);
  }

  /** The worker does not have the run any more: it gets the whole history. */
  missed(worker: WorkerConnection, turnId: number, runId: string): void {
    worker.cached.delete(runId);
    const underWay = this.#queries.get(turnId);
    if (underWay) {
      this.#queries.delete(turnId);
      worker.turns.delete(turnId);
      this.machine.dispatcher.forget(runId, false);
      const run = this.machine.runs.get(runId);
      if (!run) return;
      run.queries.unshift(...underWay.queries);
      this.#continue(run);
      this.machine.dispatcher.freed(worker);
      return;
    }
    const run = this.machine.runs.get(runId);
    if (run?.turn?.turnId !== turnId) return;
    this.#send(run, run.turn, this.#eventsAfter(run, 0));
  }

  failed(worker: WorkerConnection, answer: Failed): void {
    const underWay = this.#queries.get(answer.turnId);
    if (underWay) {
      this.#endQueries(worker, answer.turnId);
      this.machine.dispatcher.forget(answer.runId, true);
      refuseQueries(underWay.queries, answer.failure.message);
      return;
    }
    const run = this.#takeTurn(worker, answer.turnId, answer.runId);
    if (!run) return;
    const turn = run.turn!;
    this.machine.lifecycle.abandonTurn(run);
    this.#holdBack(run, turn.startedAt, answer.cause, answer.failure);
  }

  /** The worker is gone; its turns are given to another. */
  workerLost(worker: WorkerConnection): void {
    for (const [turnId, runId] of worker.turns) {
      const run = this.machine.runs.get(runId);
      const underWay = this.#queries.get(turnId);
      this.#queries.delete(turnId);
      if (!run) continue;
      if (underWay) {
        run.queries.unshift(...underWay.queries);
        this.#continue(run);
        continue;
      }
      if (run.turn?.turnId !== turnId) continue;
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
        this.#continue(run);
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
    this.#continue(run);
  }

  query(run: ActiveRun, query: WaitingQuery): void {
    if (run.heldBack && !run.isClosed) {
      refuseQueries([query], run.heldBack.reason);
      return;
    }
    run.queries.push(query);
    if (!run.turn) this.#continue(run);
  }

  /** Queues what the run needs next: a turn, or only the answers to its queries. */
  #continue(run: ActiveRun): void {
    if (run.needsTurn) this.machine.lifecycle.queueTurn(run);
    else if (run.queries.length > 0) {
      const task = { kind: 'query', runId: run.state.runId } as const;
      this.machine.dispatcher.enqueue(run.state.started.catalog, task, run.isSuspect);
    }
  }

  #task(
    run: ActiveRun,
    wanted: Pick<TurnTask, 'turnId' | 'startedAt' | 'historyLength' | 'events' | 'updates' | 'readOnly'>,
    queries: readonly WaitingQuery[],
  ): TurnTask {
    const { state } = run;
    return {
      kind: 'turn',
      turnId: wanted.turnId,
      runId: state.runId,
      workflowId: state.workflowId,
      workflowType: state.started.workflowType,
      catalog: state.started.catalog,
      startedAt: wanted.startedAt,
      events: wanted.events,
      historyLength: wanted.historyLength,
      continueAsNewSuggested: this.#suggestsContinueAsNew(state.lastEventId),
      updates: wanted.updates,
      queries: queries.map(({ queryId, name, input }) => ({ queryId, name, input })),
      readOnly: wanted.readOnly,
    };
  }

  #suggestsContinueAsNew(historyLength: number): boolean {
    return historyLength >= this.machine.limits.historyEventsSuggestContinue;
  }

  #send(run: ActiveRun, turn: TurnUnderWay, events: HistoryEvent[]): void {
    this.machine.dispatcher.remember(run.state.runId, turn.worker, turn.upTo);
    run.unsent = [];
    const { lastEventId, turnScheduledEventId } = run.state;
    // Of a turn that only updates caused, the scheduled event is written when its answer has been taken.
    const historyLength = turnScheduledEventId === undefined ? lastEventId + 1 : lastEventId;
    const updates = turn.updates.map((update) => update.request);
    const { turnId, startedAt } = turn;
    turn.worker.send(
      this.#task(run, { turnId, startedAt, historyLength, events, updates, readOnly: false }, turn.queries),
    );
  }

  #eventsFor(run: ActiveRun, worker: WorkerConnection): HistoryEvent[] {
    const sentUpTo = worker.cached.get(run.state.runId) ?? 0;
    const first = run.unsent[0];
    if (first ? first.id === sentUpTo + 1 : sentUpTo === run.state.lastEventId) return run.unsent;
    return this.#eventsAfter(run, sentUpTo);
  }

  #eventsAfter(run: ActiveRun, afterEventId: number): HistoryEvent[] {
    const unsaved = run.unsaved.filter((event) => event.id > afterEventId);
    if (unsaved[0]?.id === afterEventId + 1) return unsaved;
    return [...this.machine.tables.readEvents(run.key, afterEventId), ...unsaved];
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
    const started = lifecycle.append(
      run,
      {
        type: 'WORKFLOW_TASK_STARTED',
        attributes: {
          scheduledEventId,
          ...(this.#suggestsContinueAsNew(turn.upTo) && { suggestContinueAsNew: true }),
        },
      },
      turn.startedAt,
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
        const retry = lifecycle.retryOf(run, command.failure);
        const { failure } = command;
        appended.push(
          lifecycle.append(
            run,
            { type: 'WORKFLOW_EXECUTION_FAILED', attributes: { failure, newExecutionRunId: retry?.runId } },
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
    refuseQueries(run.queries, failure.message);
    run.queries = [];
    this.machine.lifecycle.takeInbox(run);
    if (scheduledEventId !== undefined) this.machine.lifecycle.scheduleTurn(run);
    this.machine.commit.changed(run);
  }

  #answerQueries(worker: WorkerConnection, turnId: number, answers: QueryAnswer[]): boolean {
    const underWay = this.#endQueries(worker, turnId);
    if (!underWay) return false;
    this.#release(underWay.queries, answers);
    return true;
  }

  #endQueries(worker: WorkerConnection, turnId: number): QueriesUnderWay | undefined {
    const underWay = this.#queries.get(turnId);
    if (!underWay) return undefined;
    this.#queries.delete(turnId);
    worker.turns.delete(turnId);
    this.machine.dispatcher.freed(worker);
    return underWay;
  }

  /** An answer may show what the turn before it decided, so it waits for that to be on disk. */
  #release(queries: readonly WaitingQuery[], answers: readonly QueryAnswer[]): void {
    if (queries.length === 0) return;
    const byId = new Map(answers.map((answer) => [answer.queryId, answer]));
    this.machine.commit.afterCommit(() => {
      for (const query of queries) {
        const answer = byId.get(query.queryId);
        if (answer) query.resolve(answer);
        else query.refuse(new PerdureError('QueryFailedError', 'the worker did not answer the query'));
      }
    });
  }
}

function refuseQueries(queries: readonly WaitingQuery[], reason: string): void {
  for (const query of queries) {
    query.refuse(new PerdureError('QueryFailedError', `the run is held back: ${reason}`));
  }
}
