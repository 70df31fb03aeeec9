/**
 * Who gets which task: the connected workers, their free slots, and the queues of what waits for one.
 *
 * 1. A turn goes to the worker that has the run in its cache when that one can take it, else to the least loaded.
 * 2. Of a pool of workers, as many work as it says; the others stand by, and one of them takes over in the moment in
 *    which another one is lost or stuck.
 * 3. What was on a worker that ended may be what ended it. Such suspects go to a worker that stands by: first one, and
 *    when that has answered or survived a while, two, then four. If the worker ends in that time, the suspect is to
 *    blame, or becomes a suspect once more if it was not the only one. Then it is tried alone, with nothing beside it.
 *    Where nobody stands by, suspects go one by one to workers with other tasks.
 * 4. A worker that has not been heard of for a while, because user code blocks it or because it does not run, gets
 *    nothing more, and loses what it has.
 * 5. Runs of one tree (a run and its descendants) share what one run would get (fair-queue.ts).
 * 6. Queues hold ids only; whether a task is still wanted is asked when its turn comes.
 * 7. A task goes only to a worker whose code has what it needs: the workflow, the step, and code that the run's history
 *    has not been found not to fit. What no connected worker has waits for one, and holds up nothing else; a turn for
 *    which only misfits are connected is given back to whoever has queued it.
 */
import type { Scheduler, Timer } from '../../core/clock.js';
import { TurnoverMap } from '../../core/values/turnover.js';
import { FairQueue } from './fair-queue.js';
import { balance, isReserveAwaited, working } from './pools.js';
import type { TaskNeed } from './task-need.js';
import {
  anyone,
  isAttended,
  isOpen,
  mayJoin,
  mayTake,
  stays,
  workerAfter,
  workerFor,
} from './worker-choice.js';
import type { WorkerConnection } from './worker-connection.js';

/** How often workers are looked after. They are counted in looks rather than in time, since this process may be late. */
const LOOK_EVERY_MS = 250;
/** A worker with tasks that says nothing is asked after so many looks whether it is there. */
const PING_AFTER = 1;
/** Then it is stuck; when user code blocks it, its witness has said so by then. */
const STUCK_AFTER = 12;
/** And then, without a word from its witness either, it does not run at all. */
const FROZEN_AFTER = 20;
/** What kills its process does so soon, mostly. */
const PROBATION_MS = 1_000;

/** What is lost with its worker, or left in a restart of the server, is back by then: a step that others refuse fails after it. */
const MAX_WAIT_FOR_CODE_MS = 10_000;

export type QueuedTask = { runId: string; need: TaskNeed } & (
  | { kind: 'turn'; isUrgent?: boolean }
  | { kind: 'query' }
  | { kind: 'step'; scheduledEventId: number }
);

/** What is held against a task: nothing, that it was on a worker that ended, or that it has ended workers. */
export type Suspicion = 'none' | 'suspect' | 'proven';

/** `since`: by the monotonic clock. The task is not copied: there are a dozen in the life of a short run. */
interface WaitingTask {
  task: QueuedTask;
  isSuspect: boolean;
  since: number;
}

interface CatalogQueues {
  workers: Set<WorkerConnection>;
  turns: FairQueue<WaitingTask, TaskNeed>;
  steps: FairQueue<WaitingTask, TaskNeed>;
  suspects: FairQueue<WaitingTask, TaskNeed>;
  proven: FairQueue<WaitingTask, TaskNeed>;
  /** Steps that all connected code which has them has refused, by their needs, and since when there is nobody else. */
  refusedSince: Map<string, number>;
}

/** What becomes of a task whose time has come. */
export interface OnTask {
  /** Hands it to the worker and answers with the task's key; undefined when nobody wants it any more. */
  give(task: QueuedTask, worker: WorkerConnection, isSuspect: boolean): string | undefined;
  /** All connected code that has its workflow has been found not to fit its run. */
  fitsNobody(task: QueuedTask): void;
}

/** Tasks that wait although nobody is connected who could take them. */
export interface Unattended {
  catalog: string;
  workflowType: string;
  stepName: string | undefined;
}

/** What becomes of a worker that says nothing. */
export interface OnSilence {
  stuck(worker: WorkerConnection): void;
  frozen(worker: WorkerConnection): void;
}

export class Dispatcher {
  readonly #catalogs = new Map<string, CatalogQueues>();
  readonly #cachedBy = new TurnoverMap<string, WorkerConnection>();
  #toPump: CatalogQueues[] = [];
  #isScheduled = false;
  /** Near enough for all that is queued until then; the clock would be asked for each otherwise. */
  #scheduledAt = 0;
  #lastTurnId = 0;

  #looks: Timer | undefined;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly onTask: OnTask,
  ) {}

  start(onSilence: OnSilence): void {
    const look = () => {
      this.#looks = this.scheduler.after(LOOK_EVERY_MS, look, true);
      this.#lookAfterWorkers(onSilence);
    };
    this.#looks = this.scheduler.after(LOOK_EVERY_MS, look, true);
  }

  stop(): void {
    this.#looks?.cancel();
  }

  register(worker: WorkerConnection, catalog: string): void {
    if (worker.catalog !== undefined) this.#queues(worker.catalog).workers.delete(worker);
    worker.catalog = catalog;
    const { workers } = this.#queues(catalog);
    const { pool } = worker;
    worker.isReserve = pool !== undefined && working(workers, pool.id) >= pool.size;
    workers.add(worker);
    this.freed(worker);
  }

  remove(worker: WorkerConnection): void {
    worker.isConnected = false;
    if (worker.catalog !== undefined) this.#queues(worker.catalog).workers.delete(worker);
    for (const runId of worker.cached.keys()) this.lacks(runId, worker);
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
  }

  nextTurnId(): number {
    return ++this.#lastTurnId;
  }

  /** `tree`: what all runs that descend from one run have in common. */
  enqueue(catalog: string, task: QueuedTask, tree: string, suspicion: Suspicion): void {
    const queues = this.#queues(catalog);
    this.#schedule(queues);
    const waiting = { task, isSuspect: suspicion !== 'none', since: this.#scheduledAt };
    const { need } = task;
    if (suspicion === 'suspect') queues.suspects.push(tree, need, waiting);
    else if (suspicion === 'proven') queues.proven.push(tree, need, waiting);
    else if (task.kind === 'step') queues.steps.push(tree, need, waiting);
    else queues.turns.push(tree, need, waiting, task.kind === 'turn' && task.isUrgent);
  }

  /** It takes nothing more, and ends what it has. */
  drains(worker: WorkerConnection): void {
    worker.isDraining = true;
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
  }

  /** Whether a worker of the catalog that takes tasks runs this very code. */
  hasCode(catalog: string, codeId: string): boolean {
    for (const worker of this.#queues(catalog).workers) {
      if (worker.version.id === codeId && stays(worker)) return true;
    }
    return false;
  }

  /** Whether somebody who is here, and stays, has what it needs. */
  isAttended(catalog: string, need: TaskNeed): boolean {
    return isAttended(this.#queues(catalog).workers, need);
  }

  hasWorkers(catalog: string): boolean {
    return (this.#catalogs.get(catalog)?.workers.size ?? 0) > 0;
  }

  unattended(): Unattended[] {
    const unattended = new Map<string, Unattended>();
    for (const [catalog, queues] of this.#catalogs) {
      for (const need of needsOf(queues)) {
        if (isAttended(queues.workers, need)) continue;
        const { workflowType, stepName } = need;
        // Once, whatever code has asked for it or does not fit it.
        unattended.set(JSON.stringify([catalog, workflowType, stepName]), {
          catalog,
          workflowType,
          stepName,
        });
      }
    }
    return [...unattended.values()];
  }

  /** The worker has a free slot, or may take tasks again. */
  freed(worker: WorkerConnection): void {
    if (!worker.isConnected) return;
    for (const taskKey of worker.probation.keys()) {
      if (!worker.holds(taskKey)) worker.probation.delete(taskKey);
    }
    if (worker.sole !== undefined && !worker.holds(worker.sole)) worker.sole = undefined;
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
  }

  heard(worker: WorkerConnection): void {
    worker.lastHeardAt = this.scheduler.monotonicMs();
    worker.silentLooks = 0;
    if (!worker.isStuck) return;
    worker.isStuck = false;
    this.freed(worker);
  }

  /** Its witness says that the worker lives, but user code blocks it. */
  blocked(worker: WorkerConnection): void {
    worker.silentLooks = 0;
    worker.isStuck = true;
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
  }

  #lookAfterWorkers(onSilence: OnSilence): void {
    for (const queues of this.#catalogs.values()) {
      for (const worker of [...queues.workers]) {
        // One that is stuck and has nothing any more would never speak again by itself.
        if (worker.isIdle && !worker.isStuck) {
          worker.silentLooks = 0;
          continue;
        }
        for (const [taskKey, since] of worker.probation) {
          if (worker.lastHeardAt > since + PROBATION_MS) worker.probation.delete(taskKey);
        }
        const silent = ++worker.silentLooks;
        if (silent > PING_AFTER) worker.send({ kind: 'ping' });
        if (silent >= FROZEN_AFTER) onSilence.frozen(worker);
        else if (silent >= STUCK_AFTER && !worker.isStuck) {
          this.blocked(worker);
          worker.silentLooks = silent;
          onSilence.stuck(worker);
        }
      }
      // Steps that have waited long enough, and suspects that have, or whose predecessor has survived.
      const { steps, suspects, proven } = queues;
      if (steps.length + suspects.length + proven.length > 0) this.#schedule(queues);
      else if ([...queues.workers].some((worker) => worker.isStuck)) this.#schedule(queues);
    }
  }

  queued(): { turnsQueued: number; stepsQueued: number } {
    let turnsQueued = 0;
    let stepsQueued = 0;
    for (const { turns, steps, suspects, proven } of this.#catalogs.values()) {
      turnsQueued += turns.length;
      stepsQueued += steps.length;
      for (const queue of [suspects, proven]) {
        for (const { task } of queue) {
          if (task.kind === 'step') stepsQueued++;
          else turnsQueued++;
        }
      }
    }
    return { turnsQueued, stepsQueued };
  }

  /** How many steps are given out before this one; undefined when it does not wait, or waits for something else than a slot. */
  stepsBefore(
    catalog: string,
    lane: string,
    need: TaskNeed,
    { runId, scheduledEventId }: { runId: string; scheduledEventId: number },
  ): number | undefined {
    return this.#queues(catalog).steps.before(
      lane,
      need,
      ({ task }) =>
        task.kind === 'step' && task.runId === runId && task.scheduledEventId === scheduledEventId,
    );
  }

  cachedBy(runId: string): WorkerConnection | undefined {
    return this.#cachedBy.get(runId);
  }

  remember(runId: string, worker: WorkerConnection, sentUpTo: number): void {
    const before = this.#cachedBy.get(runId);
    if (before !== worker) {
      before?.cached.delete(runId);
      this.#cachedBy.set(runId, worker);
    }
    worker.cached.set(runId, sentUpTo);
  }

  /** The worker has nothing of the run any more: it is as good for it as any other. */
  lacks(runId: string, worker: WorkerConnection): void {
    worker.cached.delete(runId);
    if (this.#cachedBy.get(runId) === worker) this.#cachedBy.delete(runId);
  }

  /** No worker is to use what it has cached of the run; `tell` when it may still have something. */
  forget(runId: string, tell: boolean): void {
    const worker = this.#cachedBy.get(runId);
    if (!worker) return;
    this.#cachedBy.delete(runId);
    worker.cached.delete(runId);
    if (tell) worker.send({ kind: 'forget', runId });
  }

  #queues(catalog: string): CatalogQueues {
    let queues = this.#catalogs.get(catalog);
    if (!queues) {
      queues = {
        workers: new Set(),
        turns: new FairQueue(),
        steps: new FairQueue(),
        suspects: new FairQueue(),
        proven: new FairQueue(),
        refusedSince: new Map(),
      };
      this.#catalogs.set(catalog, queues);
    }
    return queues;
  }

  /** Tasks are given out once the input at hand has been handled, so that a run's next turn sees all of it. */
  #schedule(queues: CatalogQueues): void {
    if (!this.#toPump.includes(queues)) this.#toPump.push(queues);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#scheduledAt = this.scheduler.monotonicMs();
    queueMicrotask(() => {
      this.#isScheduled = false;
      const due = this.#toPump;
      this.#toPump = [];
      for (const each of due) this.#pump(each);
    });
  }

  #pump(queues: CatalogQueues): void {
    const { workers, suspects, proven } = queues;
    balance(workers, suspects.length > 0, suspects.length + proven.length > 0);
    this.#giveSuspects(queues, suspects, false);
    this.#giveSuspects(queues, proven, true);
    this.#giveFrom(queues, queues.turns);
    this.#giveFrom(queues, queues.steps);
    this.#giveBackMisfits(queues);
  }

  #giveFrom(queues: CatalogQueues, queue: FairQueue<WaitingTask, TaskNeed>): void {
    if (queue.length === 0) return;
    const now = this.scheduler.monotonicMs();
    const workerNow = (need: TaskNeed, { since }: WaitingTask) =>
      workerAfter(now - since, queues.workers, need, isOpen);
    const canBeMet = (need: TaskNeed, first: WaitingTask) => workerNow(need, first) !== undefined;
    for (let next = queue.next(canBeMet); next; next = queue.next(canBeMet)) {
      queue.take(next);
      const { item: waiting, need } = next;
      const { task, isSuspect } = waiting;
      this.onTask.give(task, this.#cacheOf(task) ?? workerNow(need, waiting)!, isSuspect);
    }
  }

  #giveSuspects(queues: CatalogQueues, queue: FairQueue<WaitingTask, TaskNeed>, isAlone: boolean): void {
    if (queue.length === 0) return;
    const now = this.scheduler.monotonicMs();
    const { workers } = queues;
    const standsByFor = (each: WorkerConnection) => each.isReserve && (isAlone ? each.isIdle : mayJoin(each));
    const amongOthers = ({ task: { need }, since }: WaitingTask) =>
      isReserveAwaited(workers, need, now - since)
        ? undefined
        : workerAfter(
            now - since,
            workers,
            need,
            (each) => isOpen(each) && each.probation.size === 0,
            isOpen,
          );
    // Those of one need are tried in their order: when the first has to wait, so do the others.
    const waiting = new Set<string>();
    const isNotWaiting = ({ key }: TaskNeed) => !waiting.has(key);
    for (let next = queue.next(isNotWaiting); next; next = queue.next(isNotWaiting)) {
      const { item: suspect, need } = next;
      const reserve = workerFor(workers, need, standsByFor, anyone);
      const worker = reserve ?? amongOthers(suspect);
      if (!worker) {
        waiting.add(need.key);
        continue;
      }
      queue.take(next);
      const taskKey = this.onTask.give(suspect.task, worker, suspect.isSuspect);
      if (taskKey === undefined) continue;
      admit(worker, taskKey, now);
      if (isAlone && reserve) worker.sole = taskKey;
    }
  }

  /** What only code is left for that does not fit: nothing that happens to the workers here would change that. */
  #giveBackMisfits(queues: CatalogQueues): void {
    const { turns, steps, suspects, proven, workers } = queues;
    // Most often everything has just been given out.
    const isEmpty = turns.length + steps.length + suspects.length + proven.length === 0;
    if (isEmpty && queues.refusedSince.size === 0) return;
    const refusedSince = new Map<string, number>();
    const now = this.scheduler.monotonicMs();
    for (const queue of [turns, steps, suspects, proven]) {
      for (const need of queue.needs) {
        if (need.misfits.length === 0 || isAttended(workers, need)) continue;
        if (need.stepName !== undefined) {
          const since = queues.refusedSince.get(need.key) ?? now;
          refusedSince.set(need.key, since);
          if (now - since < MAX_WAIT_FOR_CODE_MS) continue;
        }
        for (const { task } of queue.takeAll(need)) this.onTask.fitsNobody(task);
      }
    }
    queues.refusedSince = refusedSince;
  }

  /** The worker that has the run in its cache, if it can take the turn. */
  #cacheOf({ kind, runId, need }: QueuedTask): WorkerConnection | undefined {
    const cached = kind === 'step' ? undefined : this.#cachedBy.get(runId);
    return cached && isOpen(cached) && mayTake(cached, need) ? cached : undefined;
  }
}

function needsOf({ turns, steps, suspects, proven }: CatalogQueues): TaskNeed[] {
  return [turns, steps, suspects, proven].flatMap((queue) => queue.needs);
}

/** Puts the task on probation: with those before it, or as the first of a batch that is twice as large as the last. */
function admit(worker: WorkerConnection, taskKey: string, now: number): void {
  if (worker.probation.size === 0) {
    const size = worker.load <= 1 ? 1 : Math.max(1, worker.batch.size * 2);
    worker.batch = { size, left: size };
  }
  worker.batch.left--;
  worker.probation.set(taskKey, now);
}
