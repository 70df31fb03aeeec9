/** What the systems share: one worker process, which cases stop, start again and give other code. */
import { silentLog } from '../../src/core/log.js';
import type { Engine } from '../../src/engine.js';
import type { WorkerSupervisor, WorkersOptions } from '../../src/worker/supervisor.js';
import type { System, SystemOptions } from './system.js';

const CATALOG = 'contract';
/** Steps that wait for a gate are not waited for. */
const GRACE_MS = 50;

export abstract class SystemWithWorkers implements System {
  readonly catalog = CATALOG;
  #directory: string;
  #workers: WorkerSupervisor | undefined;

  constructor(protected readonly options: SystemOptions) {
    this.#directory = options.directory;
  }

  abstract readonly engine: Engine;
  abstract restartEngine(): Promise<void>;
  abstract stop(): Promise<void>;

  protected abstract launch(options: WorkersOptions): {
    workers: WorkerSupervisor;
    registered: Promise<void>;
  };

  protected get hasWorkers(): boolean {
    return this.#workers !== undefined;
  }

  async startWorkers(): Promise<void> {
    if (this.#workers) return;
    const { cacheSize, stepSlots, turnTimeoutMs, maxHeapMb, resultFormat = 'current', limits } = this.options;
    const { workers, registered } = this.launch({
      directory: this.#directory,
      catalog: CATALOG,
      count: 1,
      resultFormat,
      cacheSize,
      maxHeapMb,
      log: silentLog,
      ...(stepSlots !== undefined && { slots: { steps: stepSlots } }),
      ...(turnTimeoutMs !== undefined && { watchdog: { turnTimeoutMs } }),
      ...(limits?.payloadBytes !== undefined && { payloadBytes: limits.payloadBytes }),
    });
    this.#workers = workers;
    await Promise.all([workers.ready, registered]);
  }

  async stopWorkers(): Promise<void> {
    const workers = this.#workers;
    this.#workers = undefined;
    await workers?.stop(GRACE_MS);
  }

  async redeploy(directory: string): Promise<void> {
    this.#directory = directory;
    await this.stopWorkers();
    await this.startWorkers();
  }

  workerPids(): number[] {
    return this.#workers?.pids() ?? [];
  }
}
