/**
 * The engine and its worker in the test's process, and what may happen to them: the engine is opened on a database in
 * memory, killed right after a commit, and opened again on what that commit left.
 *
 * A call that a kill interrupts is made again on the next engine. Whether it had happened is always known, since a kill
 * comes only when all that its commit holds has been acknowledged.
 */
import { setImmediate } from 'node:timers';
import { type Log, silentLog } from '../core/log.js';
import type { FromWorker } from '../core/task.js';
import { idsFrom } from '../core/values/id.js';
import { EmbeddedEngine, InMemory } from '../embedded/index.js';
import { UsageError } from '../sdk/errors.js';
import type { LoadedWorkflows } from '../worker/loading/loader.js';
import { Owner } from './agenda.js';
import { type Fate, LocalWorker } from './local-worker.js';
import { Random } from './random.js';
import type { StepBook } from './step-book.js';
import type { VirtualTime } from './virtual-time.js';

/** What goes wrong on purpose, and when. */
export interface Faults {
  /** Whether the engine is killed right after the commit that was just made; `what` says what is in it. */
  killsAfterCommit(what: () => string): boolean;
  fateOf(answer: FromWorker): Fate;
}

const NO_FAULTS: Faults = { killsAfterCommit: () => false, fateOf: () => 'arrives' };

export interface StageOptions {
  loaded: LoadedWorkflows;
  isReplayingEveryTurn: boolean;
  log: Log;
  steps: StepBook;
  time: VirtualTime;
  seed: number;
  faults?: Faults;
}

/** Ids that a call takes rather than new ones: those that it had when it was made before. */
export interface CallIds {
  runId?: string;
  updateId?: string;
}

interface Life {
  engine: EmbeddedEngine;
  owner: Owner;
  /** Resolves when it was killed and all that it had acknowledged has been heard. */
  ended: Promise<void>;
}

/** Rounds of the loop in which everybody hears what the engine told them before it was killed. */
const ROUNDS_TO_HEAR = 3;

export class Stage {
  readonly #ids;
  readonly #faults: Faults;
  #worker: LocalWorker;
  #life: Promise<Life> | Life;
  /** What turns have failed with, by their runs. */
  readonly turnFailures = new Map<string, { workflowId: string; message: string }>();
  /** Ids that the next transition takes rather than new ones: those that it had when it was tried before. */
  #runIds: string[] = [];
  #updateIds: string[] = [];
  /** The one that was opened last, alive or not: what it has committed can be read. */
  #latest!: EmbeddedEngine;
  #commits = 0;
  #isClosed = false;

  constructor(private readonly options: StageOptions) {
    const random = new Random(`${options.seed}/ids`);
    const ids = idsFrom((bytes) => random.bytes(bytes));
    this.#ids = {
      newRunId: (nowMs: number) => this.#runIds.pop() ?? ids.newRunId(nowMs),
      newUpdateId: () => this.#updateIds.pop() ?? ids.newUpdateId(),
      newWorkflowId: ids.newWorkflowId,
      newSecret: ids.newSecret,
    };
    this.#faults = options.faults ?? NO_FAULTS;
    this.#worker = this.#newWorker();
    this.#life = this.#open(undefined);
  }

  /** Whether there is an engine; a moment later there is one again. */
  get isUp(): boolean {
    return 'engine' in this.#life;
  }

  /** Steps whose code is running. */
  get running(): number {
    return this.#worker.running;
  }

  /** Says to whoever watches the test that it waits for steps, since nothing else would tell. */
  tellOfSlowSteps(): void {
    const names = this.#worker.runningSteps.map((name) => `"${name}"`).join(', ');
    this.options.log.warn(
      {},
      `the test waits for the code of step ${names}, in real time: time does not jump while steps run. To test what happens when they hang, let it pass: env.advance(duration, { pastRunningSteps: true })`,
    );
  }

  /** Resolves when a step has said something or has ended. */
  stepChange(): Promise<void> {
    return this.#worker.change();
  }

  /** Lets what was held back arrive; whether there was something. */
  releaseHeld(): boolean {
    return this.#worker.release();
  }

  /** An id of each kind for a transition that may have to be made twice. */
  newIds(workflowType: string): { workflowId: string; runId: string; updateId: string } {
    return {
      workflowId: this.#ids.newWorkflowId(workflowType),
      runId: this.#ids.newRunId(this.options.time.now()),
      updateId: this.#ids.newUpdateId(),
    };
  }

  /** The latest run of the workflow id. */
  runIdOf(workflowId: string): string | undefined {
    if (this.#isClosed) throw closed();
    return this.#latest.runIdOf(workflowId);
  }

  /** Commits what the engine has kept back for a moment; whether there was something. */
  flush(): boolean {
    if (!('engine' in this.#life)) return false;
    const before = this.#commits;
    this.#life.engine.flush();
    return this.#commits > before;
  }

  /** Calls the engine; again, if it was killed before it had answered. */
  call<T>(action: (engine: EmbeddedEngine) => Promise<T>, ids: CallIds = {}): Promise<T> {
    return this.callUnless(async () => undefined, action, ids);
  }

  /** As `call`, for what is not to happen twice: before it is called again `done` is asked whether it has happened. */
  async callUnless<T>(
    done: (engine: EmbeddedEngine) => Promise<T | undefined>,
    action: (engine: EmbeddedEngine) => Promise<T>,
    ids: CallIds = {},
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.#isClosed) throw closed();
      const life = await this.#life;
      const known = attempt === 1 ? undefined : await done(life.engine);
      if (known !== undefined) return known;
      this.#runIds = ids.runId === undefined ? [] : [ids.runId];
      this.#updateIds = ids.updateId === undefined ? [] : [ids.updateId];
      const made = action(life.engine);
      this.#runIds = [];
      this.#updateIds = [];
      const answer = await Promise.race([
        made.then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        ),
        life.ended.then(() => undefined),
      ]);
      if (!answer || (!life.owner.isAlive && 'error' in answer)) continue;
      if ('error' in answer) throw answer.error;
      return answer.value;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    const { engine, owner } = await this.#life;
    this.#isClosed = true;
    owner.isAlive = false;
    this.#worker.end();
    await engine.close();
  }

  #newWorker(): LocalWorker {
    const { loaded, isReplayingEveryTurn, log, steps, time } = this.options;
    return new LocalWorker({
      ...{ loaded, isReplayingEveryTurn, log, steps, time },
      fateOf: (answer) => this.#faults.fateOf(answer),
      onTurnFailed: ({ workflowId, runId }, message) => this.turnFailures.set(runId, { workflowId, message }),
      onLost: () => {
        // Another process takes its place, with nothing of the old one.
        this.#worker = this.#newWorker();
        if ('engine' in this.#life) this.#worker.connect(this.#life.engine);
      },
    });
  }

  #open(image: Buffer | undefined): Life {
    const { time, log } = this.options;
    const owner = new Owner();
    let end!: () => void;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let life: Life | undefined;
    const engine = EmbeddedEngine.open({
      dataDir: new InMemory(image),
      clock: time,
      scheduler: time.schedulerOf(owner),
      ids: this.#ids,
      // Tests of a year look at what closed at its beginning.
      limits: { retentionMs: Number.MAX_SAFE_INTEGER },
      // What it tells operators is nothing to a test; an error would be ours.
      log: { ...silentLog, error: (fields, message) => log.error(fields, message) },
      inspectCommit: (tables, runs) => {
        this.#commits++;
        if (!life?.owner.isAlive) return;
        const what = () =>
          [...runs]
            .map(({ key, state }) => `${state.workflowId} had ${tables.history.last(key).type}`)
            .join();
        if (this.#faults.killsAfterCommit(what)) this.#kill(life, end);
      },
    });
    life = { engine, owner, ended };
    this.#latest = engine;
    this.#worker.connect(engine);
    return life;
  }

  /** As by kill -9 right after a commit: what is not in it is gone. The worker outlives it, and connects to the next one. */
  #kill({ engine, owner }: Life, end: () => void): void {
    const image = engine.image();
    owner.isAlive = false;
    this.#worker.disconnect();
    this.#life = this.#reopen(engine, image, end);
  }

  async #reopen(engine: EmbeddedEngine, image: Buffer, end: () => void): Promise<Life> {
    for (let round = 0; round < ROUNDS_TO_HEAR; round++)
      await new Promise((resolve) => setImmediate(resolve));
    end();
    await engine.close();
    const life = this.#open(image);
    this.#life = life;
    return life;
  }
}

const closed = () => new UsageError('the test environment is closed');
