/**
 * One data folder and the engines that have it one after the other, each with a worker in this process: when one stops
 * because its disk has failed, what it left is looked through and the next one begins.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Limits } from '../../src/core/bounds/limits.js';
import { DataFolderError, EmbeddedEngine } from '../../src/embedded/index.js';
import type { ActiveRun } from '../../src/embedded/store/active-run.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import { checkCommit } from '../../src/embedded/store/check/projection-check.js';
import type { Connect } from '../../src/embedded/store/folder/database.js';
import type { Tables } from '../../src/embedded/store/tables/tables.js';
import type { Engine } from '../../src/engine.js';
import { isPutIn } from './faulty-database.js';
import { brokenInvariants, Operations } from './operations.js';
import type { Lives as EngineLives } from './patient-client.js';
import { ReplayingWorker } from './replaying-worker.js';
import { Stored } from './stored.js';

/** Starts in a row that a failing disk may cost; by then it is mended. */
const MAX_STARTS = 200;

export interface LivesOptions {
  connect: Connect;
  /** Runs what the test itself reads. */
  undisturbed<T>(look: () => T): T;
  /** Told after every commit, when the tables were found sound. */
  committed?: (dataDir: string) => void;
}

export class Lives implements EngineLives {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'perdure-lives-'));
  readonly operations = new Operations();
  readonly problems: string[] = [];
  count = 0;
  #limits: Partial<Limits> = {};
  #engine: EmbeddedEngine | undefined;
  #next: Promise<void> | undefined;
  readonly #over = new WeakSet<Engine>();
  readonly #silent = new WeakSet<Engine>();
  /** Steps whose end is on disk, by run and scheduled event. */
  readonly #ended = new Set<string>();

  constructor(private readonly options: LivesOptions) {}

  async current(): Promise<Engine> {
    while (this.#next) await this.#next;
    this.#engine ??= this.#open();
    return this.#engine;
  }

  /** Closed runs are removed in this life. */
  get hasRetention(): boolean {
    return this.#limits.retentionMs !== undefined;
  }

  isOver(engine: Engine): boolean {
    return this.#over.has(engine);
  }

  isSilent(engine: Engine): boolean {
    return this.#silent.has(engine);
  }

  /** Ends this life in order, and begins the next one with other limits. */
  async restart(limits: Partial<Limits>): Promise<void> {
    const engine = await this.current();
    this.#end(engine as EmbeddedEngine, false, limits);
    await this.current();
  }

  async close(): Promise<void> {
    const engine = await this.current();
    this.#over.add(engine);
    await engine.close();
    this.#look();
  }

  remove(): void {
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  #open(): EmbeddedEngine {
    const { connect, undisturbed, committed } = this.options;
    for (let tries = 1; ; tries++) {
      let engine: EmbeddedEngine | undefined;
      let hasFailed = false;
      try {
        engine = EmbeddedEngine.open({
          dataDir: this.dataDir,
          limits: this.#limits,
          connect,
          inspectCommit: (tables: Tables, runs: ReadonlySet<ActiveRun>) =>
            undisturbed(() => {
              checkCommit(tables, runs);
              committed?.(this.dataDir);
            }),
          onFatal: (error) => {
            hasFailed = true;
            if (!isPutIn(error)) this.problems.push(`the engine has stopped: ${error.message}`);
            if (engine) this.#end(engine, true);
          },
        });
      } catch (error) {
        if (!(error instanceof DataFolderError) || tries >= MAX_STARTS) throw error;
        continue;
      }
      this.count++;
      const opened = engine;
      if (hasFailed) queueMicrotask(() => this.#end(opened, true));
      else new ReplayingWorker(opened, (attempt) => this.#attempted(attempt));
      return opened;
    }
  }

  #end(engine: EmbeddedEngine, hasFailed: boolean, limits = this.#limits): void {
    if (this.#over.has(engine)) return;
    this.#over.add(engine);
    if (hasFailed) setImmediate(() => this.#silent.add(engine));
    this.#next = this.#replace(engine, hasFailed, limits).finally(() => {
      this.#next = undefined;
    });
    // Whoever waits for the next one is told why there is none.
    this.#next.catch((error: Error) => this.problems.push(`it could not begin anew: ${error.message}`));
  }

  async #replace(engine: EmbeddedEngine, hasFailed: boolean, limits: Partial<Limits>): Promise<void> {
    if (hasFailed) await this.#requireSilence(engine);
    await engine.close();
    this.#silent.add(engine);
    this.#look();
    this.#limits = limits;
    this.#engine = this.#open();
  }

  /** One that has stopped by itself serves nobody any more (I19). */
  async #requireSilence(engine: EmbeddedEngine): Promise<void> {
    const answers = await Promise.allSettled([
      engine.ready(),
      engine.start({ workflowType: 'victim', catalog: 'scenario', input: [], workflowId: 'too late' }),
      engine.list({}, { limit: 1 }),
    ]);
    for (const { status } of answers) {
      if (status === 'fulfilled') this.problems.push('an engine that has stopped goes on to answer');
    }
  }

  /** Between two lives, from the file alone. */
  #look(): void {
    const { problems } = checkDataFolder(this.dataDir);
    this.problems.push(...problems.map(({ workflowId, problem }) => `${workflowId ?? ''}: ${problem}`));
    Stored.look(this.dataDir, (stored) => {
      this.problems.push(...this.operations.settle(stored), ...brokenInvariants(stored));
      // Retention takes away what was acknowledged, and should.
      if (!this.hasRetention) this.problems.push(...this.operations.problems(stored));
      for (const { row, events } of stored.runs()) {
        for (const event of events) {
          if (/^ACTIVITY_TASK_(COMPLETED|FAILED|TIMED_OUT|CANCELED)$/.test(event.type)) {
            const { scheduledEventId } = event.attributes as { scheduledEventId: number };
            this.#ended.add(`${row.run_id}/${scheduledEventId}`);
          }
        }
      }
    });
  }

  #attempted({ runId, scheduledEventId }: { runId: string; scheduledEventId: number }): void {
    const step = `${runId}/${scheduledEventId}`;
    if (this.#ended.has(step)) this.problems.push(`step ${step} runs again after its end`);
  }
}
