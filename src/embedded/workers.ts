/**
 * Who gets which task: the connected workers, their free slots, and the queues of what waits for one.
 *
 * 1. A turn goes to the worker that has the run in its cache when that one can take it, else to the least loaded.
 * 2. What was lost with a worker more than once may be what kills them. Such a suspect is on probation when it is given
 *    out: until it has answered or survived a while, its worker gets no other suspect, and if the worker dies in that
 *    time the suspect is to blame. All else goes on beside it, and what is lost with it is not held against it.
 * 3. A worker that has not been heard of for a while, because user code blocks it, gets nothing more.
 * 4. Queues hold ids only; whether a task is still wanted is asked when its turn comes.
 */
import { monotonicMs } from '../core/clock.js';
import type { ResultFormat } from '../core/run.js';
import type { StepAttempt, ToWorker, WorkerSlots } from '../core/task.js';

/** A worker with tasks that says nothing is asked after this time whether it is there. */
const PING_AFTER_MS = 1_000;
/** Then it is blocked by user code. */
const STUCK_AFTER_MS = 2_500;
/** What kills its process does so soon, mostly. */
const PROBATION_MS = 1_000;

export class WorkerConnection {
  catalog: string | undefined;
  identity = 'unregistered worker';
  format: ResultFormat = 'current';
  slots: WorkerSlots = { turns: 0, steps: 0 };
  isDraining = false;
  isConnected = true;
  lastHeardAt = monotonicMs();
  isStuck = false;
  probation: { taskKey: string; since: number } | undefined;
  /** Turns under way: turn id to run. */
  readonly turns = new Map<number, string>();
  readonly steps = new Map<string, HandedOut>();
  /** Runs that this worker has cached, with the last event it was sent of each. */
  readonly cached = new Map<string, number>();

  constructor(readonly send: (message: ToWorker) => void) {}

  get isIdle(): boolean {
    return this.turns.size === 0 && this.steps.size === 0;
  }

  holds(taskKey: string): boolean {
    return (
      this.steps.has(taskKey) ||
      (taskKey.startsWith(TURN_KEY) && this.turns.has(Number(taskKey.slice(TURN_KEY.length))))
    );
  }

  /** Whether this task is what the worker died of: it was on probation. Undefined when nothing was. */
  isToBlame(taskKey: string): boolean | undefined {
    return this.probation && this.probation.taskKey === taskKey;
  }

  get load(): number {
    return this.turns.size + this.steps.size;
  }
}

export interface HandedOut extends StepAttempt {
  isSent: boolean;
  /** The turn that the worker may begin when the step has completed. */
  nextTurnId?: number;
}

export const attemptKey = (attempt: StepAttempt): string =>
  `${attempt.runId}/${attempt.scheduledEventId}/${attempt.attempt}`;

const TURN_KEY = 'turn/';
export const turnKey = (turnId: number): string => `${TURN_KEY}${turnId}`;

export type QueuedTask =
  | { kind: 'turn'; runId: string }
  | { kind: 'query'; runId: string }
  | { kind: 'step'; runId: string; scheduledEventId: number };

/** A queue that is cheap at both ends. */
class Fifo<T> {
  #items: T[] = [];
  #head = 0;
  push(item: T): void {
    this.#items.push(item);
  }
  peek(): T | undefined {
    return this.#items[this.#head];
  }
  shift(): void {
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
  get length(): number {
    return this.#items.length - this.#head;
  }
}

interface CatalogQueues {
  workers: Set<WorkerConnection>;
  turns: Fifo<QueuedTask>;
  steps: Fifo<QueuedTask>;
  suspects: Fifo<QueuedTask>;
}

export class Dispatcher {
  readonly #catalogs = new Map<string, CatalogQueues>();
  readonly #cachedBy = new Map<string, WorkerConnection>();
  readonly #toPump = new Set<CatalogQueues>();
  #isScheduled = false;
  #lastTurnId = 0;

  #watch: NodeJS.Timeout | undefined;

  /** `give` hands the task to the worker and answers with the task's key; undefined when nobody wants it any more. */
  constructor(private readonly give: (task: QueuedTask, worker: WorkerConnection) => string | undefined) {}

  start(): void {
    this.#watch = setInterval(() => this.#watchWorkers(), PING_AFTER_MS);
    this.#watch.unref();
  }

  stop(): void {
    clearInterval(this.#watch);
  }

  register(worker: WorkerConnection, catalog: string): void {
    if (worker.catalog !== undefined) this.#queues(worker.catalog).workers.delete(worker);
    worker.catalog = catalog;
    this.#queues(catalog).workers.add(worker);
    this.freed(worker);
  }

  remove(worker: WorkerConnection): void {
    worker.isConnected = false;
    if (worker.catalog !== undefined) this.#queues(worker.catalog).workers.delete(worker);
    for (const runId of worker.cached.keys()) this.#cachedBy.delete(runId);
    worker.cached.clear();
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
  }

  nextTurnId(): number {
    return ++this.#lastTurnId;
  }

  enqueue(catalog: string, task: QueuedTask, isSuspect: boolean): void {
    const queues = this.#queues(catalog);
    if (isSuspect) queues.suspects.push(task);
    else if (task.kind === 'step') queues.steps.push(task);
    else queues.turns.push(task);
    this.#schedule(queues);
  }

  /** The worker has a free slot, or may take tasks again. */
  freed(worker: WorkerConnection): void {
    if (!worker.isConnected) return;
    if (worker.probation && !worker.holds(worker.probation.taskKey)) worker.probation = undefined;
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
  }

  heard(worker: WorkerConnection): void {
    worker.lastHeardAt = monotonicMs();
    if (!worker.isStuck) return;
    worker.isStuck = false;
    this.freed(worker);
  }

  #watchWorkers(): void {
    const now = monotonicMs();
    for (const queues of this.#catalogs.values()) {
      for (const worker of queues.workers) {
        if (worker.isIdle) continue;
        const { probation } = worker;
        if (probation && worker.lastHeardAt > probation.since + PROBATION_MS) {
          worker.probation = undefined;
          this.#schedule(queues);
        }
        const silentMs = now - worker.lastHeardAt;
        if (silentMs > STUCK_AFTER_MS) worker.isStuck = true;
        if (silentMs > PING_AFTER_MS) worker.send({ kind: 'ping' });
      }
    }
  }

  queued(): { turnsQueued: number; stepsQueued: number } {
    let turnsQueued = 0;
    let stepsQueued = 0;
    for (const queues of this.#catalogs.values()) {
      turnsQueued += queues.turns.length;
      stepsQueued += queues.steps.length + queues.suspects.length;
    }
    return { turnsQueued, stepsQueued };
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
      queues = { workers: new Set(), turns: new Fifo(), steps: new Fifo(), suspects: new Fifo() };
      this.#catalogs.set(catalog, queues);
    }
    return queues;
  }

  /** Tasks are given out once the input at hand has been handled, so that a run's next turn sees all of it. */
  #schedule(queues: CatalogQueues): void {
    this.#toPump.add(queues);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      const due = [...this.#toPump];
      this.#toPump.clear();
      for (const each of due) this.#pump(each);
    });
  }

  #pump(queues: CatalogQueues): void {
    this.#giveSuspects(queues);
    this.#giveFrom(queues, queues.turns);
    this.#giveFrom(queues, queues.steps);
  }

  #giveFrom(queues: CatalogQueues, queue: Fifo<QueuedTask>): void {
    for (let task = queue.peek(); task; task = queue.peek()) {
      const worker =
        task.kind === 'step' ? leastLoaded(queues.workers, hasStepSlot) : this.#forTurn(queues, task.runId);
      if (!worker) return;
      queue.shift();
      this.give(task, worker);
    }
  }

  #giveSuspects(queues: CatalogQueues): void {
    for (let task = queues.suspects.peek(); task; task = queues.suspects.peek()) {
      const isStep = task.kind === 'step';
      const worker = leastLoaded(
        queues.workers,
        (each) => !each.probation && (isStep ? hasStepSlot(each) : hasTurnSlot(each)),
      );
      if (!worker) return;
      queues.suspects.shift();
      const taskKey = this.give(task, worker);
      if (taskKey !== undefined) worker.probation = { taskKey, since: monotonicMs() };
    }
  }

  #forTurn(queues: CatalogQueues, runId: string): WorkerConnection | undefined {
    const cached = this.#cachedBy.get(runId);
    if (cached && isFit(cached) && hasTurnSlot(cached)) return cached;
    return leastLoaded(queues.workers, hasTurnSlot);
  }
}

const hasTurnSlot = (worker: WorkerConnection): boolean => worker.turns.size < worker.slots.turns;
const hasStepSlot = (worker: WorkerConnection): boolean => worker.steps.size < worker.slots.steps;
const isFit = (worker: WorkerConnection): boolean => !worker.isDraining && !worker.isStuck;

function leastLoaded(
  workers: Iterable<WorkerConnection>,
  hasSlot: (worker: WorkerConnection) => boolean,
): WorkerConnection | undefined {
  let chosen: WorkerConnection | undefined;
  for (const worker of workers) {
    if (!isFit(worker) || !hasSlot(worker)) continue;
    if (!chosen || worker.load < chosen.load) chosen = worker;
  }
  return chosen;
}
