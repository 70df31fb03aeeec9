/**
 * Who gets which task: the connected workers, their free slots, and the queues of what waits for one.
 *
 * 1. A turn goes to the worker that has the run in its cache when that one can take it, else to the least loaded.
 * 2. A suspect (its last try was lost together with its worker) is given out alone: to a worker that has nothing else,
 *    which gets nothing else until it has answered. So a task that kills its process takes no other task with it twice.
 * 3. Queues hold ids only; whether a task is still wanted is asked when its turn comes.
 */
import type { ResultFormat } from '../core/run.js';
import type { StepAttempt, ToWorker, WorkerSlots } from '../core/task.js';

export class WorkerConnection {
  catalog: string | undefined;
  identity = 'unregistered worker';
  format: ResultFormat = 'current';
  slots: WorkerSlots = { turns: 0, steps: 0 };
  isDraining = false;
  isConnected = true;
  /** Set while it is kept for a suspect: it first has to come to the end of what it has, then runs that alone. */
  alone: 'clearing' | 'running' | undefined;
  /** Turns under way: turn id to run. */
  readonly turns = new Map<number, string>();
  readonly steps = new Map<string, StepAttempt & { isSent: boolean }>();
  /** Runs that this worker has cached, with the last event it was sent of each. */
  readonly cached = new Map<string, number>();

  constructor(readonly send: (message: ToWorker) => void) {}

  get isIdle(): boolean {
    return this.turns.size === 0 && this.steps.size === 0;
  }

  get load(): number {
    return this.turns.size + this.steps.size;
  }
}

export const attemptKey = (attempt: StepAttempt): string =>
  `${attempt.runId}/${attempt.scheduledEventId}/${attempt.attempt}`;

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

  /** `give` hands the task to the worker; false when nobody wants it any more. */
  constructor(private readonly give: (task: QueuedTask, worker: WorkerConnection) => boolean) {}

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

  workersOf(catalog: string): number {
    return this.#queues(catalog).workers.size;
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
    if (worker.alone === 'running' && worker.isIdle) worker.alone = undefined;
    if (worker.catalog !== undefined) this.#schedule(this.#queues(worker.catalog));
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
      const worker = task.kind === 'step' ? this.#forStep(queues) : this.#forTurn(queues, task.runId);
      if (!worker) return;
      queue.shift();
      this.give(task, worker);
    }
  }

  #giveSuspects(queues: CatalogQueues): void {
    for (let task = queues.suspects.peek(); task; task = queues.suspects.peek()) {
      const worker = kept(queues.workers) ?? leastLoaded(queues.workers, () => true);
      if (!worker) return;
      worker.alone = 'clearing';
      if (!worker.isIdle) return;
      queues.suspects.shift();
      worker.alone = this.give(task, worker) ? 'running' : undefined;
    }
  }

  #forTurn(queues: CatalogQueues, runId: string): WorkerConnection | undefined {
    const cached = this.#cachedBy.get(runId);
    if (cached && cached.turns.size < cached.slots.turns && !cached.isDraining && !cached.alone)
      return cached;
    return leastLoaded(queues.workers, (worker) => worker.turns.size < worker.slots.turns);
  }

  #forStep(queues: CatalogQueues): WorkerConnection | undefined {
    return leastLoaded(queues.workers, (worker) => worker.steps.size < worker.slots.steps);
  }
}

function kept(workers: Iterable<WorkerConnection>): WorkerConnection | undefined {
  for (const worker of workers) if (worker.alone === 'clearing' && !worker.isDraining) return worker;
  return undefined;
}

function leastLoaded(
  workers: Iterable<WorkerConnection>,
  hasSlot: (worker: WorkerConnection) => boolean,
): WorkerConnection | undefined {
  let chosen: WorkerConnection | undefined;
  for (const worker of workers) {
    if (worker.isDraining || worker.alone || !hasSlot(worker)) continue;
    if (!chosen || worker.load < chosen.load) chosen = worker;
  }
  return chosen;
}
