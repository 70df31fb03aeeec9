/** The connected workers: what they say goes to the part that it concerns, and what they lose is taken up again. */
import { unreachable } from '../core/invariant.js';
import type { FromWorker, ToWorker } from '../core/task.js';
import type { WorkerSession } from '../engine.js';
import type { Catalogs } from './catalogs.js';
import type { Machine } from './machine.js';
import { WorkerConnection } from './workers.js';

export class Sessions {
  readonly #workers = new Set<WorkerConnection>();
  /** The code that each catalog's workers registered last. */
  readonly #codeIds = new Map<string, string>();
  #isStopped = false;

  constructor(
    private readonly machine: Machine,
    private readonly catalogs: Catalogs,
  ) {}

  connect(send: (message: ToWorker) => void): WorkerSession {
    const worker = new WorkerConnection(send);
    this.#workers.add(worker);
    return {
      receive: (message) => {
        if (this.#isStopped || !worker.isConnected) return;
        this.machine.dispatcher.heard(worker);
        this.#receive(worker, message);
      },
      disconnected: () => {
        if (!this.#workers.delete(worker)) return;
        this.machine.dispatcher.remove(worker);
        if (this.#isStopped) return;
        this.machine.turns.workerLost(worker);
        this.machine.steps.workerLost(worker);
      },
    };
  }

  /** From now on nothing that a worker says or fails to do changes anything. */
  stop(): void {
    this.#isStopped = true;
    for (const worker of this.#workers) this.machine.dispatcher.remove(worker);
    this.#workers.clear();
  }

  load(): { workers: number; turnsUnderWay: number; stepsUnderWay: number } {
    let turnsUnderWay = 0;
    let stepsUnderWay = 0;
    for (const worker of this.#workers) {
      turnsUnderWay += worker.turns.size;
      stepsUnderWay += worker.steps.size;
    }
    return { workers: this.#workers.size, turnsUnderWay, stepsUnderWay };
  }

  #receive(worker: WorkerConnection, message: FromWorker): void {
    switch (message.kind) {
      case 'register':
        worker.identity = message.identity;
        worker.format = message.resultFormat;
        worker.slots = message.slots;
        this.catalogs.register(message.catalog, message.workflows);
        this.machine.dispatcher.register(worker, message.catalog);
        this.#deployed(message.catalog, message.codeId);
        return;
      case 'turnCompleted':
        this.machine.turns.completed(worker, message);
        return;
      case 'turnMissed':
        this.machine.turns.missed(worker, message.turnId, message.runId);
        return;
      case 'turnFailed':
        this.machine.turns.failed(worker, message);
        return;
      case 'stepCompleted':
        this.machine.steps.completed(worker, message, message.result, message.begunAt);
        return;
      case 'stepFailed':
        this.machine.steps.failed(worker, message, message.failure);
        return;
      case 'stepCancelled':
        this.machine.steps.cancelled(worker, message, message.details);
        return;
      case 'stepHeartbeat':
        this.machine.steps.heartbeat(worker, message, message.details);
        return;
      case 'evicted':
        for (const runId of message.runIds) {
          if (this.machine.dispatcher.cachedBy(runId) === worker)
            this.machine.dispatcher.forget(runId, false);
        }
        return;
      case 'pong':
        return;
      case 'draining':
        worker.isDraining = true;
        return;
      default:
        unreachable(message);
    }
  }

  /** New code may fit what the old did not; the same code again, from a worker that was replaced, does not. */
  #deployed(catalog: string, codeId: string): void {
    if (this.#codeIds.get(catalog) === codeId) return;
    this.#codeIds.set(catalog, codeId);
    for (const runId of this.machine.tables.heldBackRuns(catalog)) {
      const run = this.machine.runs.get(runId);
      if (run) this.machine.turns.retryHeldBack(run);
    }
  }
}
