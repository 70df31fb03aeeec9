/** The embedded engine as a system: in this process, on a folder of its own, with worker processes on a free port. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/core/log.js';
import { checkEverything } from '../../src/embedded/commit-check.fixture.js';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import type { Engine, TaskSource } from '../../src/engine.js';
import { attachWorkerLink, type WorkerLink } from '../../src/link/server.js';
import { startWorkers, type WorkersOptions } from '../../src/worker/supervision/supervisor.js';
import type { StartSystem, SystemOptions } from './system.js';
import { SystemWithWorkers } from './with-workers.js';

const REGISTER_MS = 110_000;

export const startEmbedded: StartSystem = async (options) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-contract-'));
  const system = new EmbeddedSystem(dataDir, options);
  await system.startEngine(0);
  await system.startWorkers();
  return system;
};

/** Others run it on a store of their own making. */
export class EmbeddedSystem extends SystemWithWorkers {
  #engine: EmbeddedEngine | undefined;
  #server: Server | undefined;
  #link: WorkerLink | undefined;
  #onRegistered: (() => void) | undefined;

  constructor(
    protected readonly dataDir: string,
    options: SystemOptions,
  ) {
    super(options);
  }

  get engine(): Engine {
    return this.#engine!;
  }

  async startEngine(port: number): Promise<void> {
    this.#engine = this.openEngine();
    this.#server = createServer();
    this.#link = attachWorkerLink(this.#server, this.#noticing(this.#engine), {
      authorize: () => true,
      log: silentLog,
    });
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  protected openEngine(): EmbeddedEngine {
    return EmbeddedEngine.open({
      dataDir: this.dataDir,
      limits: this.options.limits,
      inspectCommit: checkEverything,
    });
  }

  async stopEngine(): Promise<void> {
    await this.#link!.close();
    await new Promise((resolve) => this.#server!.close(resolve));
    await this.#engine!.close();
  }

  async restartEngine(): Promise<void> {
    const { port } = this;
    const registered = this.hasWorkers ? this.#nextRegistration() : undefined;
    await this.stopEngine();
    await this.startEngine(port);
    await registered;
  }

  protected launch(options: WorkersOptions) {
    const registered = this.#nextRegistration();
    const workers = startWorkers({ ...options, serverUrl: `http://127.0.0.1:${this.port}` });
    return { workers, registered };
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    await this.stopEngine();
    this.lookAtTheEnd();
    const { problems } = checkDataFolder(this.dataDir);
    if (problems.length > 0)
      throw new Error(`the data folder is left with problems: ${JSON.stringify(problems)}`);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** The engine has left the folder for good. */
  protected lookAtTheEnd(): void {}

  protected get port(): number {
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
