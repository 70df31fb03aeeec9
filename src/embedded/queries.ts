/**
 * Queries: asked of a run as it stands, with its turn when it has one to make, else by themselves.
 *
 * 1. A query sees every message that was accepted before it: it is asked after the turn that delivers them.
 * 2. A query changes nothing. A worker that is asked gets the run's history and gives back only answers.
 * 3. Every query is answered or refused, also when its worker dies or its run is held back.
 */
import { PerdureError } from '../core/errors.js';
import type { Failure } from '../core/failure.js';
import type { QueryAnswer } from '../core/task.js';
import type { ActiveRun, WaitingQuery } from './active-run.js';
import type { Machine } from './machine.js';
import { eventsFor, turnTask } from './turn-task.js';
import { turnKey, type WorkerConnection } from './workers.js';

export class Queries {
  /** Those that were asked by themselves, by the number of the turn that carries them. */
  readonly #underWay = new Map<number, { runId: string; queries: WaitingQuery[] }>();

  constructor(private readonly machine: Machine) {}

  ask(run: ActiveRun, query: WaitingQuery): void {
    if (run.heldBack && !run.isClosed) {
      refuse([query], run.heldBack.reason);
      return;
    }
    run.queries.push(query);
    if (!run.turn) this.machine.lifecycle.goOn(run);
  }

  /** Asks the worker what waits, on a run that has no turn to make. */
  handOut(runId: string, worker: WorkerConnection): string | undefined {
    const run = this.machine.runs.get(runId);
    if (!run || run.queries.length === 0 || run.needsTurn || run.turn) return undefined;
    const turnId = this.machine.dispatcher.nextTurnId();
    const { queries } = run;
    run.queries = [];
    this.#underWay.set(turnId, { runId, queries });
    worker.turns.set(turnId, runId);
    const events = eventsFor(this.machine, run, worker);
    this.machine.dispatcher.remember(runId, worker, run.state.lastEventId);
    run.unsent = [];
    const { lastEventId: historyLength, lastAt: startedAt } = run.state;
    const wanted = { turnId, startedAt, historyLength, events, updates: [], readOnly: true };
    worker.send(turnTask(this.machine, run, wanted, queries));
    if (run.isClosed && run.isQuiet) this.machine.runs.drop(run);
    return turnKey(turnId);
  }

  // ── answers to a turn; each says whether the turn was one of queries ─────────────────────────────

  completed(worker: WorkerConnection, turnId: number, answers: readonly QueryAnswer[]): boolean {
    const underWay = this.#end(worker, turnId);
    if (underWay) this.release(underWay.queries, answers);
    return underWay !== undefined;
  }

  failed(worker: WorkerConnection, turnId: number, failure: Failure): boolean {
    const underWay = this.#end(worker, turnId);
    if (!underWay) return false;
    this.machine.dispatcher.forget(underWay.runId, true);
    refuse(underWay.queries, failure.message);
    return true;
  }

  /** The worker does not have the run any more: it is asked again with the whole history. */
  missed(worker: WorkerConnection, turnId: number): boolean {
    const underWay = this.#end(worker, turnId);
    if (!underWay) return false;
    this.machine.dispatcher.forget(underWay.runId, false);
    this.#askAgain(underWay);
    return true;
  }

  /** The worker is gone. */
  lost(turnId: number): boolean {
    const underWay = this.#underWay.get(turnId);
    if (!underWay) return false;
    this.#underWay.delete(turnId);
    this.#askAgain(underWay);
    return true;
  }

  /** An answer may show what the turn before it decided, so it waits for that to be on disk. */
  release(queries: readonly WaitingQuery[], answers: readonly QueryAnswer[]): void {
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

  /** The run is held back. */
  refuseAll(run: ActiveRun, reason: string): void {
    refuse(run.queries, reason);
    run.queries = [];
  }

  #askAgain({ runId, queries }: { runId: string; queries: WaitingQuery[] }): void {
    const run = this.machine.runs.get(runId);
    if (!run) return;
    run.queries.unshift(...queries);
    this.machine.lifecycle.goOn(run);
  }

  #end(worker: WorkerConnection, turnId: number): { runId: string; queries: WaitingQuery[] } | undefined {
    const underWay = this.#underWay.get(turnId);
    if (!underWay) return undefined;
    this.#underWay.delete(turnId);
    worker.turns.delete(turnId);
    this.machine.dispatcher.freed(worker);
    return underWay;
  }
}

function refuse(queries: readonly WaitingQuery[], reason: string): void {
  for (const query of queries) {
    query.refuse(new PerdureError('QueryFailedError', `the run is held back: ${reason}`));
  }
}
