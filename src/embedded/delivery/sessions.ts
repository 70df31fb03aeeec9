/** The connected workers: what they say goes to the part that it concerns, and what they lose is taken up again. */
import { randomUUID } from 'node:crypto';
import { unreachable } from '../../core/invariant.js';
import { versionLabel } from '../../core/run/version.js';
import type { FromWorker, ToWorker } from '../../core/task.js';
import type { WorkerDescription, WorkerSession } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import type { Piecemeal } from '../life/piecemeal.js';
import type { Catalogs } from '../store/catalogs.js';
import { attemptKey, WorkerConnection } from '../workers/worker-connection.js';
import type { StepDelivery } from './steps.js';
import type { Turns } from './turns.js';

type Registers = Extract<FromWorker, { kind: 'register' }>;
type Blocked = Extract<FromWorker, { kind: 'blocked' }>;

export class Sessions {
  readonly #workers = new Set<WorkerConnection>();
  /** As their witnesses call them. */
  readonly #byId = new Map<string, WorkerConnection>();
  #isStopped = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly turns: Turns,
    private readonly steps: StepDelivery,
    private readonly catalogs: Catalogs,
    private readonly piecemeal: Piecemeal,
    private readonly welcome: () => ToWorker,
    /** Code that was not connected has come with this worker. */
    private readonly onNewCode: (worker: WorkerConnection, catalog: string) => void,
  ) {}

  connect(
    send: (message: ToWorker) => void,
    drop?: (reason: string) => void,
    flush?: () => void,
  ): WorkerSession {
    const worker = new WorkerConnection(send, drop, flush);
    this.#workers.add(worker);
    return {
      receive: (message) => {
        if (this.#isStopped || !worker.isConnected) return;
        worker.lastSeenAt = this.kernel.clock.now();
        this.kernel.dispatcher.heard(worker);
        this.#receive(worker, message);
      },
      seen: () => {
        worker.lastSeenAt = this.kernel.clock.now();
      },
      disconnected: () => this.#lost(worker),
    };
  }

  /** All of them get what there is for them. */
  flush(): void {
    for (const worker of this.#workers) worker.flush();
  }

  /** It says nothing, and nobody says why: what it has may be the reason. */
  stuck(worker: WorkerConnection): void {
    this.turns.workerStuck(worker, 'suspect');
  }

  /** It does not run at all. Should it come back, it has to begin anew. */
  frozen(worker: WorkerConnection): void {
    worker.drop('it has not answered for too long');
    this.#lost(worker);
  }

  #lost(worker: WorkerConnection): void {
    if (!this.#workers.delete(worker)) return;
    // It may have come back already, over another connection.
    if (worker.id !== undefined && this.#byId.get(worker.id) === worker) this.#byId.delete(worker.id);
    this.kernel.dispatcher.remove(worker);
    if (this.#isStopped) return;
    this.#left(worker);
    this.turns.workerLost(worker);
    this.#takeSteps(worker);
  }

  #takeSteps(worker: WorkerConnection): void {
    if (this.steps.workerLost(worker)) this.piecemeal.goOn(() => this.#takeSteps(worker));
  }

  /** From now on nothing that a worker says or fails to do changes anything. */
  stop(): void {
    this.#isStopped = true;
    for (const worker of this.#workers) this.kernel.dispatcher.remove(worker);
    this.#workers.clear();
  }

  load(): { workers: number; turnsUnderWay: number; stepsUnderWay: number } {
    let workers = 0;
    let turnsUnderWay = 0;
    let stepsUnderWay = 0;
    for (const worker of this.#workers) {
      if (worker.catalog !== undefined && !worker.isStuck) workers++;
      turnsUnderWay += worker.turns.size;
      stepsUnderWay += worker.steps.size;
    }
    return { workers, turnsUnderWay, stepsUnderWay };
  }

  #receive(worker: WorkerConnection, message: FromWorker): void {
    switch (message.kind) {
      case 'register':
        this.#registers(worker, message);
        return;
      case 'turnCompleted':
        this.turns.completed(worker, message);
        return;
      case 'turnMissed':
        this.turns.missed(worker, message.turnId, message.runId);
        return;
      case 'turnFailed':
        this.turns.failed(worker, message);
        return;
      case 'stepCompleted':
        this.steps.completed(worker, message, message.result, message.begunAt, message.costs);
        return;
      case 'stepFailed':
        if (message.refusesInput) this.steps.refused(worker, message, message.failure);
        else this.steps.failed(worker, message, message.failure, message.retryAfterMs, message.costs);
        return;
      case 'stepCancelled':
        this.steps.cancelled(worker, message, message.details, message.costs);
        return;
      case 'stepHeartbeat':
        this.steps.heartbeat(worker, message, message.details);
        return;
      case 'stepCosts':
        this.steps.costs(worker, message, message.costs);
        return;
      case 'evicted':
        for (const runId of message.runIds) {
          if (this.kernel.dispatcher.cachedBy(runId) === worker) this.kernel.dispatcher.forget(runId, false);
        }
        return;
      case 'pong':
        return;
      case 'blocked':
        this.#blocked(message, worker);
        return;
      case 'lastWords':
        // What it has moves when its connection ends with it: until then its steps may still be running.
        this.#byId.get(message.workerId)?.ends(message);
        return;
      case 'draining':
        this.kernel.dispatcher.drains(worker);
        return;
      default:
        unreachable(message);
    }
  }

  /** A turn or a step lets nothing else run there: other turns go elsewhere, and its witness hears whether steps wait. */
  #blocked({ workerId, turnId, started }: Blocked, witness: WorkerConnection): void {
    const worker = this.#byId.get(workerId);
    if (!worker) return;
    this.kernel.dispatcher.blocked(worker);
    this.turns.workerStuck(worker, 'innocent', turnId);
    const begun = new Set(started.map(attemptKey));
    for (const key of worker.steps.keys()) {
      if (begun.has(key)) continue;
      witness.send({ kind: 'othersWait' });
      return;
    }
  }

  #registers(worker: WorkerConnection, message: Registers): void {
    const { catalog, workflows, codeId, versionName = null } = message;
    // Before it has this code itself: it may have had another one.
    const isNewHere = !this.kernel.dispatcher.hasCode(catalog, codeId);
    if (worker.catalog !== undefined) this.catalogs.leave(worker.catalog, worker);
    worker.identity = message.identity;
    worker.format = message.resultFormat;
    worker.slots = message.slots;
    worker.pool = message.pool;
    worker.makesSpans = message.makesSpans === true;
    worker.id = message.workerId ?? randomUUID();
    worker.version = { id: codeId, name: versionName };
    worker.host = message.host;
    worker.pid = message.pid;
    worker.registeredAt = this.kernel.clock.now();
    worker.registers(workflows);
    this.#byId.set(worker.id, worker);
    worker.send(this.welcome());
    this.catalogs.register(catalog, worker, workflows, worker.version);
    this.kernel.dispatcher.register(worker, catalog);
    this.#tell(worker, worker.isReserve ? 'has come and stands by' : 'has come');
    if (isNewHere) this.onNewCode(worker, catalog);
  }

  #left(worker: WorkerConnection): void {
    if (worker.catalog === undefined) return;
    this.catalogs.leave(worker.catalog, worker);
    this.#tell(worker, worker.isDraining ? 'has left' : 'is lost');
  }

  #tell(worker: WorkerConnection, what: string): void {
    const { identity, catalog, version } = worker;
    const count = worker.workflows.length;
    const { log } = this.kernel;
    const isLost = !worker.isConnected && !worker.isDraining;
    log[isLost ? 'warn' : 'info'](
      {
        worker: identity,
        catalog,
        version: version.id,
        ...(version.name !== null && { name: version.name }),
      },
      `worker ${identity} ${what} (catalog "${catalog}", ${count} ${count === 1 ? 'workflow' : 'workflows'}, version ${versionLabel(version)})`,
    );
  }

  describe(): WorkerDescription[] {
    const registered = [...this.#workers].filter(({ catalog }) => catalog !== undefined);
    return registered.map(describe).sort(byCatalog);
  }
}

function describe(worker: WorkerConnection): WorkerDescription {
  const { id, catalog, host, pid, slots, version } = worker;
  return {
    id: id!,
    catalog: catalog!,
    host: host ?? null,
    pid: pid ?? null,
    connectedAt: worker.registeredAt,
    lastSeenAt: worker.lastSeenAt,
    workflows: worker.workflows,
    turns: { running: worker.turns.size, slots: slots.turns },
    steps: { running: worker.steps.size, slots: slots.steps },
    version,
    state: stateOf(worker),
  };
}

function stateOf(worker: WorkerConnection): WorkerDescription['state'] {
  if (worker.isDraining || worker.isEnding) return 'draining';
  if (worker.isStuck) return 'blocked';
  return worker.isReserve ? 'standingBy' : 'working';
}

const byCatalog = (a: WorkerDescription, b: WorkerDescription): number =>
  a.catalog.localeCompare(b.catalog) ||
  (a.connectedAt ?? 0) - (b.connectedAt ?? 0) ||
  a.id.localeCompare(b.id);
