/**
 * Turns: handed to a worker with the events it lacks, and what becomes of them: an answer, which is taken into the history
 * (turn-record.ts), none, or that it cannot be made (held-back.ts).
 *
 * 1. A turn is pure, so it may be sent before the events that caused it are on disk; only its effects wait for the
 *    commit, which then carries both.
 * 2. At most one turn of a run is under way; an answer to any other is stale and changes nothing.
 * 3. A turn that wants to close the run although events have arrived meanwhile is not taken: the run sees them first.
 * 4. A turn that only refused updates leaves no trace in the history.
 * 5. A turn that fails is offered to code of another version. When no connected code can make it, the run is held back,
 *    never failed: that leaves one event, not one per try, it is tried again with backoff, and at once when code connects
 *    that has not been tried. So is one whose input the code refuses: callers go by the newest code, and only when all
 *    that is connected refuses it, the run has failed.
 * 6. A turn that ends its worker is tried once more, alone and without messages, by other code if there is some, and held
 *    back when it has ended a worker of each. A message that does so is tried once more by itself and then refused; its run
 *    goes on.
 */

import { brokenLimit } from '../../core/bounds/turn-limits.js';
import { PerdureError } from '../../core/errors.js';
import { faultPoint } from '../../core/fault-point.js';
import { type Command, isCloseCommand } from '../../core/history/command.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import type { FromWorker } from '../../core/task.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { Outbox } from '../life/outbox.js';
import { impossibleCommand } from '../state/command-events.js';
import { pendingCount, tracedRun } from '../state/run-state.js';
import type {
  ActiveRun,
  AdmittedUpdate,
  FailedTurn,
  TurnUnderWay,
  WaitingQuery,
} from '../store/active-run.js';
import { turnNeed } from '../workers/task-need.js';
import { turnKey, type Verdict, type WorkerConnection } from '../workers/worker-connection.js';
import type { HeldBackRuns } from './held-back.js';
import { inOneMessage, type Queries } from './queries.js';
import type { TurnRecord } from './turn-record.js';
import { causesOf, eventsAfter, eventsFor, turnIsSent, turnTask } from './turn-task.js';

/** Losses in a row after which a turn is held back even if it was never the one to blame. */
const MAX_LOST_TURNS = 10;

type Answered = Extract<FromWorker, { kind: 'turnCompleted' }>;
type Failed = Extract<FromWorker, { kind: 'turnFailed' }>;

export class Turns {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly queries: Queries,
    private readonly record: TurnRecord,
    private readonly heldBack: HeldBackRuns,
    private readonly outbox: Outbox,
  ) {}

  /** Gives the run's turn to the worker, unless it needs none any more. */
  handOut(runId: string, worker: WorkerConnection, isSuspect: boolean): string | undefined {
    this.lifecycle.dequeued(runId);
    const run = this.kernel.runs.get(runId);
    if (!run || run.turn) return undefined;
    if (!run.needsTurn) {
      this.#isForNobody(run);
      return undefined;
    }
    // It was queued once more when it was asked to stop, and has been tried at the first of its places.
    if (run.isHeldBackAt(this.kernel.clock.now())) return undefined;
    // Its turn is queued again when all that it has sent has arrived.
    if (this.outbox.isSending(runId)) return undefined;
    if (run.misfits.has(worker.version.id)) {
      this.lifecycle.queueTurn(run);
      return undefined;
    }
    if (run.suspicion !== 'none' && !isSuspect) {
      // What nobody suspected when it was queued has been answered otherwise; the rest needs care.
      this.lifecycle.queueTurn(run);
      return undefined;
    }
    // Reading may find the run damaged; until then nothing is taken from it.
    const events = eventsFor(this.kernel, run, worker);
    const { updates, queries } = takeMessages(run);
    const { clock, scheduler } = this.kernel;
    const turn: TurnUnderWay = {
      turnId: this.kernel.dispatcher.nextTurnId(),
      worker,
      startedAt: Math.max(clock.now(), run.state.lastAt),
      sentAt: scheduler.monotonicMs(),
      upTo: run.state.lastEventId,
      updates,
      queries,
      causes: causesOf(events, updates),
    };
    run.turn = turn;
    worker.turns.set(turn.turnId, runId);
    this.#send(run, turn, events);
    return turnKey(turn.turnId);
  }

  completed(worker: WorkerConnection, answer: Answered): void {
    if (this.queries.completed(worker, answer.turnId, answer.answers)) return;
    const run = this.#takeTurn(worker, answer.turnId, answer.runId);
    if (!run) return;
    const turn = run.turn!;
    const { commands } = answer;
    const tookMs = this.kernel.scheduler.monotonicMs() - turn.sentAt;
    this.kernel.observer.turnEnded?.({
      workflowType: run.state.started.workflowType,
      durationMs: tookMs,
      run: tracedRun(run.state),
      causes: turn.causes ?? [],
    });
    if (run.inbox.length > 0 && commands.some(isCloseCommand)) {
      this.lifecycle.abandonTurn(run);
      this.lifecycle.takeInbox(run);
      return;
    }
    if (commands.some(refusesInput) && this.#isAttended(run, worker.version.id)) {
      this.lifecycle.abandonTurn(run);
      run.misfits.add(worker.version.id);
      this.lifecycle.takeInbox(run);
      this.lifecycle.goOn(run);
      return;
    }
    const wrong = impossibleCommand(
      run.state,
      commands,
      turn.updates.map((update) => update.request.updateId),
    );
    if (wrong !== undefined) {
      const message = `the worker answered with a command that cannot be: ${wrong}`;
      this.#cannotBeMade(run, worker, {
        startedAt: turn.startedAt,
        cause: 'WORKFLOW_WORKER_UNHANDLED_FAILURE',
        failure: { kind: 'application', type: 'ImpossibleCommand', message },
      });
      return;
    }
    run.turn = undefined;
    run.lostTurns = 0;
    run.doubted = undefined;
    run.failedTurn = undefined;
    const extent = {
      pending: pendingCount(run.state),
      depth: run.state.started.parent?.depth ?? 0,
      descendants: this.kernel.trees.descendants(run.state),
      childStarts: this.kernel.trees.startsThisMinute(run.state),
    };
    const limit = brokenLimit(extent, commands, this.kernel.limits);
    if (limit !== undefined) {
      run.admitAgain(turn.updates);
      run.queries.unshift(...turn.queries);
      this.lifecycle.failForLimit(run, limit);
      return;
    }
    if (
      run.state.turnScheduledEventId === undefined &&
      commands.every((each) => each.kind === 'rejectUpdate')
    ) {
      // The worker's copy has lived through a turn that the history does not have.
      this.kernel.dispatcher.forget(run.state.runId, true);
      this.record.settleUpdates(run, turn.updates, commands);
      if (run.heldBack) {
        this.heldBack.goesOn(run);
        this.kernel.commit.changed(run);
      }
      this.lifecycle.takeInbox(run);
    } else if (!this.record.recorded(run, turn, worker, commands)) return;
    this.queries.release(run, run.state.lastEventId, turn.queries, answer.answers);
    if (!run.isClosed) this.lifecycle.goOn(run);
  }

  /** The worker does not have the run any more: it gets the whole history. */
  missed(worker: WorkerConnection, turnId: number, runId: string): void {
    this.kernel.dispatcher.lacks(runId, worker);
    if (this.queries.missed(worker, turnId)) return;
    const run = this.kernel.runs.get(runId);
    if (run?.turn?.turnId !== turnId || run.turn.worker !== worker) return;
    this.#send(run, run.turn, eventsAfter(this.kernel, run, 0));
  }

  failed(worker: WorkerConnection, answer: Failed): void {
    if (this.queries.failed(worker, answer.turnId, answer.failure)) return;
    const run = this.#takeTurn(worker, answer.turnId, answer.runId);
    if (!run) return;
    const { cause, failure } = answer;
    this.#cannotBeMade(run, worker, { startedAt: run.turn!.startedAt, cause, failure });
  }

  /** This worker's code cannot make the turn: other code is asked, and where there is none the run is held back. */
  #cannotBeMade(run: ActiveRun, worker: WorkerConnection, failedTurn: FailedTurn): void {
    this.lifecycle.abandonTurn(run);
    run.misfits.add(worker.version.id);
    run.failedTurn = failedTurn;
    if (!this.#isAttended(run) && !this.#trustsAgain(run)) {
      this.heldBack.holdBack(run, failedTurn, run.lostTurns > 1);
      return;
    }
    this.lifecycle.takeInbox(run);
    this.lifecycle.goOn(run);
  }

  /** The code that was to try it has left: all that is connected has been found not to fit the run. */
  fitsNobody(runId: string): void {
    this.lifecycle.dequeued(runId);
    const run = this.kernel.runs.get(runId);
    if (!run || run.turn || run.heldBack?.retryAt !== undefined) return;
    if (!run.needsTurn) this.#isForNobody(run);
    else if (this.#trustsAgain(run)) this.lifecycle.queueTurn(run);
    else if (run.failedTurn) this.heldBack.holdBack(run, run.failedTurn, run.lostTurns > 1);
    else if (run.heldBack) this.heldBack.waitOn(run, run.heldBack);
    else {
      // How it failed left the memory with the run; whoever is there says it again.
      run.misfits.clear();
      this.lifecycle.queueTurn(run);
    }
  }

  /** The turn was for messages that have been given up: queries that were to go with it are asked by themselves. */
  #isForNobody(run: ActiveRun): void {
    run.failedTurn = undefined;
    this.heldBack.lapse(run);
    this.lifecycle.goOn(run);
  }

  /** The worker is gone; its turns are given to another. */
  workerLost(worker: WorkerConnection): void {
    this.#takeAway(worker, (turnId) => worker.verdict(turnKey(turnId)));
  }

  /** The worker is there, but does nothing: its turns are given to another, and its answers will be stale. */
  workerStuck(worker: WorkerConnection, verdict: Verdict, exceptTurnId?: number): void {
    this.#takeAway(worker, () => verdict, exceptTurnId);
  }

  #takeAway(worker: WorkerConnection, verdictOn: (turnId: number) => Verdict, exceptTurnId?: number): void {
    for (const [turnId, runId] of [...worker.turns]) {
      if (turnId === exceptTurnId) continue;
      worker.turns.delete(turnId);
      const verdict = verdictOn(turnId);
      if (this.queries.lost(turnId, verdict)) continue;
      const run = this.kernel.runs.get(runId);
      if (run?.turn?.turnId === turnId) this.#lost(run, run.turn, verdict);
    }
  }

  /** The turn was lost with its worker. */
  #lost(run: ActiveRun, { startedAt, worker, updates, queries }: TurnUnderWay, verdict: Verdict): void {
    this.lifecycle.abandonTurn(run);
    if (verdict === 'guilty' || verdict === 'suspect') {
      const hadMessages = updates.length + queries.length > 0;
      this.#chargeUpdates(run, updates);
      this.queries.charge(run, queries);
      if (run.state.turnScheduledEventId !== undefined) {
        const isProven = verdict === 'guilty' && run.suspicion !== 'none' && !hadMessages;
        run.lostTurns = verdict === 'guilty' ? Math.max(run.lostTurns + 1, 2) : run.lostTurns + 1;
        const isBlamed = isProven || run.lostTurns > MAX_LOST_TURNS;
        if (isBlamed || (verdict === 'guilty' && !hadMessages)) {
          // The same code would do it again as soon as its worker has been replaced.
          run.misfits.add(worker.version.id);
          run.doubted = isBlamed ? undefined : worker.version.id;
        }
        const isOffered = this.#isAttended(run) || this.#trustsAgain(run);
        if (isBlamed && !isOffered) {
          const message = `worker ${worker.identity} ended whenever it ran this turn: the workflow may loop or call itself without end, or use up the memory`;
          const failure: Failure = { kind: 'application', type: 'WorkerCrashed', message };
          this.heldBack.holdBack(
            run,
            { startedAt, cause: 'WORKFLOW_WORKER_UNHANDLED_FAILURE', failure },
            true,
          );
          return;
        }
      }
    }
    this.lifecycle.takeInbox(run);
    this.lifecycle.goOn(run);
  }

  /** Whether code is connected that the run has not been found not to fit, and other code than that. */
  #isAttended({ state, misfits }: ActiveRun, ...besides: string[]): boolean {
    const { catalog, workflowType } = state.started;
    const need = turnNeed(workflowType, new Set([...misfits, ...besides]));
    return this.kernel.dispatcher.isAttended(catalog, need);
  }

  /** Nobody else is left: code that ended once gets another try. */
  #trustsAgain(run: ActiveRun): boolean {
    if (run.doubted === undefined) return false;
    run.misfits.delete(run.doubted);
    run.doubted = undefined;
    return true;
  }

  /** These updates were in a turn that cost a worker. Those that had done so before are refused. */
  #chargeUpdates(run: ActiveRun, updates: readonly AdmittedUpdate[]): void {
    const { workflowId, runId } = run.state;
    for (const update of updates) {
      if (!update.hasCost) {
        update.hasCost = true;
        continue;
      }
      run.takeAdmitted((each) => each === update);
      const message = `the update "${update.request.name}" ended every worker that it was given to: its validator or handler may loop or call itself without end, or use up the memory`;
      const error = new PerdureError('UpdateRejectedError', message, { workflowId, runId });
      update.resolve({ kind: 'refused', error });
    }
  }

  #send(run: ActiveRun, turn: TurnUnderWay, events: HistoryEvent[]): void {
    turnIsSent(this.kernel, run, turn);
    const { lastEventId, turnScheduledEventId } = run.state;
    // Of a turn that only updates caused, the scheduled event is written when its answer has been taken.
    const historyLength = turnScheduledEventId === undefined ? lastEventId + 1 : lastEventId;
    const updates = turn.updates.map((update) => update.request);
    const { turnId, startedAt } = turn;
    const wanted = { turnId, startedAt, historyLength, events, updates, readOnly: false };
    turn.worker.send(turnTask(this.kernel, run, wanted, turn.queries));
    faultPoint('turnSent');
  }

  #takeTurn(worker: WorkerConnection, turnId: number, runId: string): ActiveRun | undefined {
    if (!worker.turns.delete(turnId)) return undefined;
    this.kernel.dispatcher.freed(worker);
    const run = this.kernel.runs.get(runId);
    return run?.turn?.turnId === turnId ? run : undefined;
  }
}

const refusesInput = (command: Command): boolean =>
  command.kind === 'failRun' && command.refusesInput === true;

/**
 * The messages that go with the run's next turn, which leave the run. A turn that is suspected goes without any, and one
 * that only messages cause takes one of those that have cost a worker, when no others are left.
 */
function takeMessages(run: ActiveRun): { updates: AdmittedUpdate[]; queries: WaitingQuery[] } {
  const isScheduled = run.state.turnScheduledEventId !== undefined;
  const takesUpdates = !run.isPaused;
  if (isScheduled && run.suspicion !== 'none') return { updates: [], queries: [] };
  const costly = isScheduled ? undefined : run.admitted.find(({ hasCost }) => hasCost);
  if (costly && run.suspicion !== 'none') {
    return { updates: run.takeAdmitted((each) => each === costly), queries: [] };
  }
  const updates = takesUpdates ? run.takeAdmitted(({ hasCost }) => !hasCost) : [];
  run.queries = run.queries.filter(({ isGivenUp }) => !isGivenUp);
  const queries = inOneMessage(run.queries.filter(({ hasCost }) => !hasCost));
  run.queries = run.queries.filter((query) => !queries.includes(query));
  return { updates, queries };
}
