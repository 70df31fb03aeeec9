/** Temporal as a system: a dev server of its own, the engine in this process, and worker processes that poll the server. */
import type { Engine } from '../../src/engine.js';
import { startTemporalWorkers, TemporalEngine } from '../../src/temporal/index.js';
import type { WorkersOptions } from '../../src/worker/supervision/supervisor.js';
import { DevServer } from '../temporal/dev-server.js';
import type { StartSystem, SystemLimits, SystemOptions } from './system.js';
import { SystemWithWorkers } from './with-workers.js';

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

export const startTemporal: StartSystem = (options) => startConfigured(options, {});

/** With settings of the server that are no bounds of the contract. */
export async function startConfigured(options: SystemOptions, settings: Record<string, string>) {
  const config = Object.entries(options.limits ?? {}).flatMap(([limit, value]) =>
    (SETTINGS[limit as keyof SystemLimits] ?? []).map((key) => [key, value]),
  );
  const server = await DevServer.start({
    config: { ...CHAINS_AT_ONCE, ...settings, ...Object.fromEntries(config) },
  });
  const system = new TemporalSystem(server, options);
  try {
    await system.startEngine();
    await system.startWorkers();
  } catch (error) {
    await system.stop();
    throw error;
  }
  return system;
}

class TemporalSystem extends SystemWithWorkers {
  #engine: TemporalEngine | undefined;

  constructor(
    private readonly server: DevServer,
    options: SystemOptions,
  ) {
    super(options);
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

  whenBack(): Promise<void> {
    return this.server.whenBack();
  }

  protected launch(options: WorkersOptions) {
    const { pendingPerRun, childDepth } = this.options.limits ?? {};
    const workers = startTemporalWorkers({
      ...options,
      temporal: this.#settings,
      limits: defined({ pendingPerRun, childDepth }),
    });
    return { workers, registered: workers.ready };
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
