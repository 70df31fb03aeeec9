/** Temporal as a system: a dev server of its own, the engine in this process, and worker processes that poll the server. */
import { silentLog } from '../../src/core/log.js';
import type { Engine } from '../../src/engine.js';
import { startTemporalWorkers, TemporalEngine } from '../../src/temporal/index.js';
import type { WorkerSupervisor } from '../../src/worker/supervisor.js';
import { DevServer } from '../temporal/dev-server.js';
import type { StartSystem, System, SystemLimits, SystemOptions } from './system.js';

const CATALOG = 'contract';
/** Steps that wait for a gate are not waited for. */
const GRACE_MS = 50;

/** Bounds that are Temporal's own; the others are those of the workers. */
const SETTINGS: Partial<Record<keyof SystemLimits, string[]>> = {
  signalsPerRun: ['history.maximumSignalsPerExecution'],
  updatesInFlightPerRun: ['history.maxInFlightUpdates'],
  updatesPerRun: ['history.maxTotalUpdates'],
  historyEvents: ['limit.historyCount.error'],
  historyEventsSuggestContinue: ['limit.historyCount.suggestContinueAsNew'],
};

/** By default a workflow id goes on with its next run once a second at most; a chain of hundreds would take minutes. */
const CHAINS_AT_ONCE = { 'history.workflowIdReuseMinimalInterval': '0s' };

export const startTemporal: StartSystem = async (options) => {
  const config = Object.entries(options.limits ?? {}).flatMap(([limit, value]) =>
    (SETTINGS[limit as keyof SystemLimits] ?? []).map((key) => [key, value]),
  );
  const server = await DevServer.start({ config: { ...CHAINS_AT_ONCE, ...Object.fromEntries(config) } });
  const system = new TemporalSystem(server, options);
  try {
    await system.startEngine();
    await system.startWorkers();
  } catch (error) {
    await system.stop();
    throw error;
  }
  return system;
};

class TemporalSystem implements System {
  readonly catalog = CATALOG;
  #directory: string;
  #engine: TemporalEngine | undefined;
  #workers: WorkerSupervisor | undefined;

  constructor(
    private readonly server: DevServer,
    private readonly options: SystemOptions,
  ) {
    this.#directory = options.directory;
  }

  get engine(): Engine {
    return this.#engine!;
  }

  get #settings() {
    return { address: this.server.address, namespace: this.server.namespace };
  }

  async startEngine(): Promise<void> {
    const { messageTimeoutMs } = this.options.limits ?? {};
    this.#engine = await TemporalEngine.open({
      settings: this.#settings,
      ...(messageTimeoutMs !== undefined && { limits: { messageTimeoutMs } }),
    });
  }

  /** A crash of the cluster, and another API server: neither may have kept anything to itself. */
  async restartEngine(): Promise<void> {
    await this.#engine!.close();
    await this.server.kill();
    await this.server.restart();
    await this.startEngine();
  }

  async startWorkers(): Promise<void> {
    if (this.#workers) return;
    const { cacheSize, stepSlots, turnTimeoutMs, maxHeapMb, resultFormat = 'current', limits } = this.options;
    this.#workers = startTemporalWorkers({
      directory: this.#directory,
      temporal: this.#settings,
      catalog: CATALOG,
      count: 1,
      resultFormat,
      cacheSize,
      maxHeapMb,
      log: silentLog,
      ...(stepSlots !== undefined && { slots: { steps: stepSlots } }),
      ...(turnTimeoutMs !== undefined && { watchdog: { turnTimeoutMs } }),
      ...(limits?.payloadBytes !== undefined && { payloadBytes: limits.payloadBytes }),
      limits: defined({ pendingPerRun: limits?.pendingPerRun, childDepth: limits?.childDepth }),
    });
    await this.#workers.ready;
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

  async stop(): Promise<void> {
    await this.stopWorkers();
    await this.#engine?.close();
    await this.server.stop();
  }
}

/** Without what is undefined, which would stand in the way of a default. */
function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
