/** The embedded engine as a system: in this process, on a folder of its own, with worker processes on a free port. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/core/log.js';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import type { Engine, TaskSource } from '../../src/engine.js';
import { attachWorkerLink, type WorkerLink } from '../../src/link/server.js';
import { startWorkers, type WorkerSupervisor } from '../../src/worker/supervisor.js';
import type { StartSystem, System, SystemOptions } from './system.js';

const CATALOG = 'contract';
const REGISTER_MS = 30_000;
/** Steps that wait for a gate are not waited for. */
const GRACE_MS = 50;

export const startEmbedded: StartSystem = async (options) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-contract-'));
  const system = new EmbeddedSystem(dataDir, options);
  await system.startEngine(0);
  await system.startWorkers();
  return system;
};

class EmbeddedSystem implements System {
  readonly catalog = CATALOG;
  #directory: string;
  #engine: EmbeddedEngine | undefined;
  #server: Server | undefined;
  #link: WorkerLink | undefined;
  #workers: WorkerSupervisor | undefined;
  #onRegistered: (() => void) | undefined;

  constructor(
    private readonly dataDir: string,
    private readonly options: SystemOptions,
  ) {
    this.#directory = options.directory;
  }

  get engine(): Engine {
    return this.#engine!;
  }

  async startEngine(port: number): Promise<void> {
    this.#engine = EmbeddedEngine.open({ dataDir: this.dataDir, limits: this.options.limits });
    this.#server = createServer();
    this.#link = attachWorkerLink(this.#server, this.#noticing(this.#engine), {
      authorize: () => true,
      log: silentLog,
    });
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async stopEngine(): Promise<void> {
    await this.#link!.close();
    await new Promise((resolve) => this.#server!.close(resolve));
    await this.#engine!.close();
  }

  async restartEngine(): Promise<void> {
    const port = this.#port;
    const registered = this.#workers && this.#nextRegistration();
    await this.stopEngine();
    await this.startEngine(port);
    await registered;
  }

  async startWorkers(): Promise<void> {
    if (this.#workers) return;
    const { cacheSize, stepSlots, turnTimeoutMs, maxHeapMb, resultFormat = 'current', limits } = this.options;
    const registered = this.#nextRegistration();
    this.#workers = startWorkers({
      directory: this.#directory,
      serverUrl: `http://127.0.0.1:${this.#port}`,
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
    await Promise.all([this.#workers.ready, registered]);
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
    await this.stopEngine();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  get #port(): number {
    return (this.#server!.address() as AddressInfo).port;
  }

  /** The engine, with a look at when a worker has told what it runs. */
  #noticing(engine: TaskSource): TaskSource {
    return {
      connect: (send) => {
        const session = engine.connect(send);
        return {
          receive: (message) => {
            session.receive(message);
            if (message.kind === 'register') this.#onRegistered?.();
          },
          disconnected: () => session.disconnected(),
        };
      },
    };
  }

  #nextRegistration(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no worker within ${REGISTER_MS} ms`)), REGISTER_MS);
      this.#onRegistered = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }
}
