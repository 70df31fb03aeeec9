/**
 * The embedded engine of the contract suite on a store whose calls fail, started again whenever it has stopped, as systemd
 * or a container's restart policy does it. What nobody knows when it stops is looked up before the next one begins.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolderError, EmbeddedEngine } from '../../src/embedded/index.js';
import { checkCommit } from '../../src/embedded/store/check/projection-check.js';
import type { Engine } from '../../src/engine.js';
import { EmbeddedSystem } from '../contract/embedded.js';
import type { StartSystem, SystemOptions } from '../contract/system.js';
import type { Restarts } from './attempts.js';
import { Copies, readEveryRun } from './copies.js';
import { connecting, isPutIn } from './faulty-database.js';
import { brokenInvariants, Operations } from './operations.js';
import { type Lives, PatientClient } from './patient-client.js';
import type { RandomFaults } from './plans.js';
import { attemptName, Stored } from './stored.js';

/** Starts in a row that a disk which fails now and then may fail. */
const MAX_STARTS = 50;

export interface Totals {
  lives: number;
  failedStarts: number;
  copies: number;
  acknowledged: number;
}

/** Which commits are copied: what `isWanted` says, asked after every commit, up to so many of one system. */
export interface Copying {
  isWanted(): boolean;
  atMost: number;
}

export function startSupervised(
  faults: RandomFaults,
  totals: Totals,
  restarts: Restarts,
  copying: Copying,
): StartSystem {
  return async (options) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'perdure-store-faults-'));
    const system = new SupervisedSystem(dataDir, options, faults, totals, restarts, copying);
    await system.startEngine(0);
    await system.startWorkers();
    return system;
  };
}

class SupervisedSystem extends EmbeddedSystem implements Lives {
  readonly #operations = new Operations();
  readonly #client = new PatientClient(this, this.#operations, (workflowId) =>
    this.restarts.started(workflowId),
  );
  readonly #over = new WeakSet<Engine>();
  readonly #silent = new WeakSet<Engine>();
  readonly #copies = new Copies(readEveryRun);
  /** Resolves with the engine that serves next. */
  #next: Promise<Engine> | undefined;
  /** Attempts that ended with a life. */
  readonly #cutOff = new Set<string>();
  /** What must never be and was found between two lives. */
  readonly #problems: string[] = [];

  constructor(
    dataDir: string,
    options: SystemOptions,
    private readonly faults: RandomFaults,
    private readonly totals: Totals,
    private readonly restarts: Restarts,
    private readonly copying: Copying,
  ) {
    super(dataDir, options);
  }

  override get engine(): Engine {
    return this.#client;
  }

  async current(): Promise<Engine> {
    while (this.#next) await this.#next;
    return super.engine;
  }

  isOver(engine: Engine): boolean {
    return this.#over.has(engine);
  }

  isSilent(engine: Engine): boolean {
    return this.#silent.has(engine);
  }

  /** As often as it takes; a start that fails has changed nothing. */
  protected override openEngine(): EmbeddedEngine {
    for (let tries = 1; ; tries++) {
      let opened: EmbeddedEngine | undefined;
      let hasFailed = false;
      try {
        opened = EmbeddedEngine.open({
          dataDir: this.dataDir,
          limits: this.options.limits,
          connect: connecting(this.faults),
          inspectCommit: (tables, runs) =>
            this.faults.without(() => {
              checkCommit(tables, runs);
              if (this.#copies.count < this.copying.atMost && this.copying.isWanted())
                this.#copies.take(this.dataDir, this.#operations);
            }),
          onFatal: (error) => {
            hasFailed = true;
            if (!isPutIn(error)) this.#problems.push(`the engine has stopped: ${error.message}`);
            if (opened) this.#failed(opened);
          },
        });
        this.totals.lives++;
        const engine = opened;
        if (hasFailed) queueMicrotask(() => this.#failed(engine));
        return engine;
      } catch (error) {
        if (!(error instanceof DataFolderError) || tries >= MAX_STARTS) throw error;
        this.totals.failedStarts++;
      }
    }
  }

  #failed(engine: EmbeddedEngine): void {
    if (this.#over.has(engine)) return;
    this.#over.add(engine);
    setImmediate(() => this.#silent.add(engine));
    void this.#replace(() => this.#startAgain());
  }

  override async restartEngine(): Promise<void> {
    await this.current();
    await this.#replace(async () => {
      this.#over.add(super.engine);
      await super.restartEngine();
    });
    await this.current();
  }

  /** One end at a time: what comes meanwhile waits for it. */
  #replace(replacement: () => Promise<void>): Promise<unknown> {
    const before = this.#next ?? Promise.resolve();
    const next: Promise<Engine> = before.then(replacement).then(() => super.engine);
    this.#next = next.finally(() => {
      if (this.#next === settled) this.#next = undefined;
    });
    const settled = this.#next;
    // Whoever waits for the engine is told; without anybody the end of the suite tells.
    settled.catch((error: Error) => this.#problems.push(`it could not be started again: ${error.message}`));
    return settled;
  }

  async #startAgain(): Promise<void> {
    const port = this.port;
    await this.stopEngine();
    // A case that restarts the engine itself knows what it cuts off.
    const cutOff = Stored.look(this.dataDir, (stored) => [...stored.attempts()]);
    for (const { name } of cutOff) this.#cutOff.add(name);
    this.restarts.restarted(cutOff);
    await this.startEngine(port);
  }

  override async stopEngine(): Promise<void> {
    const engine = super.engine;
    this.#over.add(engine);
    await super.stopEngine();
    this.#silent.add(engine);
    this.#problems.push(...Stored.look(this.dataDir, (stored) => this.#operations.settle(stored)));
  }

  isCutOff({ idempotencyKey, attempt }: { idempotencyKey: string; attempt: number }): boolean {
    return this.#cutOff.has(attemptName(idempotencyKey, attempt));
  }

  override async stop(): Promise<void> {
    this.faults.isOn = false;
    try {
      await this.current();
      await super.stop();
      await this.#copies.check();
      this.#problems.push(...this.#copies.problems);
    } finally {
      this.faults.isOn = true;
    }
    if (this.#problems.length > 0) throw new Error(`invariants are broken: ${this.#problems.join('; ')}`);
  }

  protected override lookAtTheEnd(): void {
    this.totals.acknowledged += this.#operations.acknowledged;
    this.totals.copies += this.#copies.count;
    Stored.look(this.dataDir, (stored) => {
      this.#problems.push(...this.#operations.problems(stored), ...brokenInvariants(stored));
    });
  }
}
