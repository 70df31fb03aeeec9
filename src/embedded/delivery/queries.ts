/**
 * Queries: asked of a run as it stands, with its turn when it has one to make, else by themselves.
 *
 * 1. A query sees every message that was accepted before it: it is asked after the turn that delivers them.
 * 2. A query changes nothing. A worker that is asked gets the run's history and gives back only answers.
 * 3. Every query is answered or refused, also when its worker dies, its run is held back or no connected code fits it. One that has cost a worker
 *    is asked once more, by itself, and then refused.
 * 4. However many wait, those that go together fit into one message, and so do their answers.
 */
import { PerdureError } from '../../core/errors.js';
import type { Failure } from '../../core/history/failure.js';
import type { QueryAnswer } from '../../core/task.js';
import { TurnoverMap, TurnoverSet } from '../../core/values/turnover.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { ActiveRun, WaitingQuery } from '../store/active-run.js';
import { RETRY_AFTER_SECONDS } from '../store/folder/free-space.js';
import { turnKey, type Verdict, type WorkerConnection } from '../workers/worker-connection.js';
import { eventsFor, turnTask } from './turn-task.js';

/** Answers have the size of a payload at most, twice that when they are full of quotes, and the turn's commands go with them. */
const MAX_IN_ONE_MESSAGE = 16;
/** Of what they ask; the events go with them. */
const MAX_BYTES_IN_ONE_MESSAGE = 8 * 1024 * 1024;

/** The first of the queries; at least one. */
export function inOneMessage(queries: readonly WaitingQuery[]): WaitingQuery[] {
  let bytes = 0;
  const end = queries.findIndex(({ input }, index) => {
    for (const payload of input) bytes += Buffer.byteLength(payload);
    return index >= MAX_IN_ONE_MESSAGE || (index > 0 && bytes > MAX_BYTES_IN_ONE_MESSAGE);
  });
  return end < 0 ? [...queries] : queries.slice(0, end);
}

interface Asked {
  runId: string;
  queries: WaitingQuery[];
  /** The last event that the answers can show. */
  upTo: number;
}

export class Queries {
  /** Those that were asked by themselves, by the number of the turn that carries them. */
  readonly #underWay = new TurnoverMap<number, Asked>();
  /** Those that were answered from what is not on disk yet. */
  #untilOnDisk = new TurnoverSet<readonly WaitingQuery[]>();

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
  ) {}

  ask(run: ActiveRun, query: WaitingQuery): void {
    if (run.heldBack && !run.isClosed) {
      refuse([query], run.heldBack.reason);
      return;
    }
    const { historyBytes } = this.kernel.limits;
    if (run.historyBytes > historyBytes) {
      const message = `the run has a history of ${run.historyBytes} bytes, which is more than the ${historyBytes} that a worker takes`;
      query.refuse(new PerdureError('QueryFailedError', message));
      return;
    }
    run.queries.push(query);
    if (!run.turn) this.lifecycle.goOn(run);
  }

  /** Asks the worker what waits, on a run that has no turn to make. */
  handOut(runId: string, worker: WorkerConnection, isSuspect: boolean): string | undefined {
    const run = this.kernel.runs.get(runId);
    if (!run || run.needsTurn || run.turn) return undefined;
    run.queries = run.queries.filter(({ isGivenUp }) => !isGivenUp);
    if (run.queries.length === 0) return undefined;
    if (run.misfits.has(worker.version.id)) {
      this.lifecycle.goOn(run);
      return undefined;
    }
    if (run.suspicion !== 'none' && !isSuspect) {
      // Only those are left that need care.
      this.lifecycle.goOn(run);
      return undefined;
    }
    // Reading may find the run damaged; until then nothing is taken from it.
    const events = eventsFor(this.kernel, run, worker);
    const harmless = run.queries.filter(({ hasCost }) => !hasCost);
    const queries = harmless.length > 0 ? inOneMessage(harmless) : run.queries.slice(0, 1);
    run.queries = run.queries.filter((query) => !queries.includes(query));
    const turnId = this.kernel.dispatcher.nextTurnId();
    this.#underWay.set(turnId, { runId, queries, upTo: run.state.lastEventId });
    worker.turns.set(turnId, runId);
    this.kernel.dispatcher.remember(runId, worker, run.state.lastEventId);
    run.unsent = [];
    const { lastEventId: historyLength, lastAt: startedAt } = run.state;
    const wanted = { turnId, startedAt, historyLength, events, updates: [], readOnly: true };
    worker.send(turnTask(this.kernel, run, wanted, queries));
    if (run.isClosed && run.isQuiet) this.kernel.runs.drop(run);
    return turnKey(turnId);
  }

  // ── answers to a turn; each says whether the turn was one of queries ─────────────────────────────

  completed(worker: WorkerConnection, turnId: number, answers: readonly QueryAnswer[]): boolean {
    const underWay = this.#end(worker, turnId);
    if (!underWay) return false;
    const { runId, queries, upTo } = underWay;
    this.release(this.kernel.runs.inMemory(runId), upTo, queries, answers);
    this.#askTheOthers(runId);
    return true;
  }

  failed(worker: WorkerConnection, turnId: number, failure: Failure): boolean {
    const underWay = this.#end(worker, turnId);
    if (!underWay) return false;
    const { runId, queries } = underWay;
    this.kernel.dispatcher.forget(runId, true);
    for (const query of queries) {
      query.misfits ??= { ids: new Set(), reason: failure.message };
      query.misfits.ids.add(worker.version.id);
      query.misfits.reason = failure.message;
    }
    this.#askAgain(underWay);
    return true;
  }

  /** All connected code has been found not to fit the run. */
  fitsNobody(runId: string): void {
    const run = this.kernel.runs.get(runId);
    if (!run) return;
    const { queries } = run;
    run.queries = [];
    for (const query of queries)
      refuse([query], query.misfits?.reason ?? 'no connected code fits its history');
  }

  /** The worker does not have the run any more: it is asked again with the whole history. */
  missed(worker: WorkerConnection, turnId: number): boolean {
    const underWay = this.#end(worker, turnId);
    if (!underWay) return false;
    this.kernel.dispatcher.forget(underWay.runId, false);
    this.#askAgain(underWay);
    return true;
  }

  /** The worker is gone. */
  lost(turnId: number, verdict: Verdict): boolean {
    const underWay = this.#underWay.get(turnId);
    if (!underWay) return false;
    this.#underWay.delete(turnId);
    const run = this.kernel.runs.get(underWay.runId);
    if (!run) return true;
    run.queries.unshift(...underWay.queries);
    if (verdict === 'guilty' || verdict === 'suspect') this.charge(run, underWay.queries);
    this.lifecycle.goOn(run);
    return true;
  }

  /** These queries were in a turn that cost a worker. Those that had done so before are refused. */
  charge(run: ActiveRun, queries: readonly WaitingQuery[]): void {
    for (const query of queries) {
      if (!query.hasCost) {
        query.hasCost = true;
        continue;
      }
      run.queries = run.queries.filter((each) => each !== query);
      const message = `the query "${query.name}" ended every worker that it was given to: its handler may loop or call itself without end, or use up the memory`;
      query.refuse(new PerdureError('QueryFailedError', message));
    }
  }

  /** An answer may show what happened up to that event of the run, so it waits for that to be on disk. */
  release(
    run: ActiveRun | undefined,
    upTo: number,
    queries: readonly WaitingQuery[],
    answers: readonly QueryAnswer[],
  ): void {
    if (queries.length === 0) return;
    const firstUnsaved = run?.unsaved[0];
    if (!firstUnsaved || firstUnsaved.id > upTo) {
      tell(queries, answers);
      return;
    }
    this.#untilOnDisk.add(queries);
    this.kernel.commit.afterCommit(() => {
      if (this.#untilOnDisk.delete(queries)) tell(queries, answers);
    });
    if (this.kernel.commit.isFull) this.diskIsFull();
  }

  /** What was to be on disk before these are answered will not be there for some time. */
  diskIsFull(): void {
    const message =
      'the disk of the server is full, and what the run has done last is not on it yet: the query can be answered when there is space';
    const error = new PerdureError('StorageFullError', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    for (const queries of this.#untilOnDisk) for (const query of queries) query.refuse(error);
    this.#untilOnDisk = new TurnoverSet();
  }

  /** The run is held back. */
  refuseAll(run: ActiveRun, reason: string): void {
    refuse(run.queries, reason);
    run.queries = [];
  }

  #askTheOthers(runId: string): void {
    const run = this.kernel.runs.inMemory(runId);
    if (run && run.queries.length > 0) this.lifecycle.goOn(run);
  }

  #askAgain({ runId, queries }: Asked): void {
    const run = this.kernel.runs.get(runId);
    if (!run) return;
    run.queries.unshift(...queries);
    // The run may have left the memory since, and what was known of it with it.
    for (const { misfits } of queries) for (const id of misfits?.ids ?? []) run.misfits.add(id);
    this.lifecycle.goOn(run);
  }

  #end(worker: WorkerConnection, turnId: number): Asked | undefined {
    const underWay = this.#underWay.get(turnId);
    if (!underWay) return undefined;
    this.#underWay.delete(turnId);
    worker.turns.delete(turnId);
    this.kernel.dispatcher.freed(worker);
    return underWay;
  }
}

function tell(queries: readonly WaitingQuery[], answers: readonly QueryAnswer[]): void {
  const byId = new Map(answers.map((answer) => [answer.queryId, answer]));
  for (const query of queries) {
    const answer = byId.get(query.queryId);
    if (answer) query.resolve(answer);
    else query.refuse(new PerdureError('QueryFailedError', 'the worker did not answer the query'));
  }
}

function refuse(queries: readonly WaitingQuery[], reason: string): void {
  for (const query of queries) {
    query.refuse(new PerdureError('QueryFailedError', `the run is held back: ${reason}`));
  }
}
