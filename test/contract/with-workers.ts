/** What the systems share: one worker process, which cases stop, start again and give other code. */
import { silentLog } from '../../src/core/log.js';
import type { Engine } from '../../src/engine.js';
import type { WorkerSupervisor, WorkersOptions } from '../../src/worker/supervision/supervisor.js';
import type { System, SystemOptions } from './system.js';

const CATALOG = 'contract';
/** Steps that wait for a gate are not waited for. */
const GRACE_MS = 50;
/** Far from where expectations are written down: what depends on it is red on every machine. */
const ELSEWHERE = { TZ: 'Asia/Kathmandu', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' };

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
    this.#workers = await this.#launched(this.#directory);
  }

  async join(directory: string): Promise<() => Promise<void>> {
    const workers = await this.#launched(directory);
    return () => workers.stop(GRACE_MS);
  }

  async #launched(directory: string): Promise<WorkerSupervisor> {
    const { cacheSize, stepSlots, turnTimeoutMs, maxHeapMb, resultFormat = 'current', limits } = this.options;
    const { workers, registered } = this.launch({
      directory,
      catalog: CATALOG,
      count: 1,
      resultFormat,
      cacheSize,
      maxHeapMb,
      env: { ...process.env, ...ELSEWHERE },
      log: { ...silentLog, warn: tellWhyItIsTriedAgain },
      // Where the counterparts of the cases are.
      allowPrivateAddresses: ['127.0.0.1'],
      ...(stepSlots !== undefined && { slots: { steps: stepSlots } }),
      ...(turnTimeoutMs !== undefined && { watchdog: { turnTimeoutMs } }),
      ...(limits?.payloadBytes !== undefined && { payloadBytes: limits.payloadBytes }),
    });
    await Promise.all([workers.ready, registered]).catch(async (error) => {
      await workers.stop(0);
      throw error;
    });
    return workers;
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

/** The suite goes on, and whoever reads its output should know. */
function tellWhyItIsTriedAgain(_fields: object, message: string): void {
  if (message.includes('It is tried again')) console.warn(message);
}
