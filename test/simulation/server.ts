/**
 * The engine with its workers, and what happens to them: it is opened on what the disk has, killed, and opened again; every
 * commit goes by the oracle before anybody is told of it.
 */
import { PerdureError } from '../../src/core/errors.js';
import type { Log } from '../../src/core/log.js';
import { idsFrom } from '../../src/core/values/id.js';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import type { Random } from '../../src/testing/random.js';
import type { Answer } from './clients.js';
import { type CommitFault, Disk } from './disk.js';
import type { Oracle } from './oracle.js';
import type { Plan, PlannedFault } from './plan.js';
import { CODES } from './program.js';
import { Violation } from './run-record.js';
import { Owner, type VirtualTime } from './virtual-time.js';
import { VirtualWorker } from './virtual-worker.js';

/** The engine was killed while it was doing something. */
export class Killed extends Error {}

interface Life {
  owner: Owner;
  engine: EmbeddedEngine | undefined;
  path: string;
  end(): void;
  ended: Promise<void>;
  startedAt: number;
}

/** Who hears of what happens. */
export interface Witness {
  trace(what: string): void;
  violated(message: string): void;
  failed(error: unknown): void;
}

export class Server {
  readonly #disk: Disk;
  readonly #ids;
  /** Of the machine, which outlives the processes on it. */
  readonly #owner = new Owner();
  #life: Life | undefined;
  #workers: VirtualWorker[] = [];
  #workerNumber = 0;
  #lives = 0;
  kills = 0;
  answered = 0;
  misfits = 0;
  isCalm = false;
  /** Faults that wait for their moment. */
  #killsAfterCommit = 0;
  #commitFaults: ('before' | 'after')[] = [];
  #turnFailures = 0;
  fullUntil = 0;
  /** Something has happened for which the engine may blame the code that a worker has. */
  #hasBlamed = false;
  /** The last commit was made, but its engine was told that it failed. */
  #isUnclear = false;
  readonly callsUnderWay = new Set<{ what: string; since: number }>();

  constructor(
    private readonly plan: Plan,
    private readonly time: VirtualTime,
    private readonly random: Random,
    private readonly oracle: Oracle,
    private readonly witness: Witness,
  ) {
    this.#ids = idsFrom((bytes) => random.bytes(bytes));
    this.#disk = new Disk(() => this.#faultOfCommit());
    oracle.codes = this;
  }

  get isBlaming(): boolean {
    return this.#hasBlamed;
  }

  /** Whether a worker of that code has been there for so long, and stays. */
  isThere(codeId: string, forMs: number): boolean {
    return this.#workers.some(
      (each) => each.codeId === codeId && !each.isLeaving && each.registeredAt + forMs <= this.time.ms,
    );
  }

  /** In the end some of all code is there. */
  #codeOf(name: string): string {
    const codes = CODES.slice(0, this.plan.codes);
    const missing = codes.filter(
      (codeId) => !this.#workers.some((each) => each.codeId === codeId && !each.isLeaving),
    );
    return this.isCalm && missing[0] !== undefined ? missing[0] : this.random.of(`${name} code`).pick(codes);
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  /** When the engine that is up was started; now, while none is. */
  get upSince(): number {
    return this.#life?.startedAt ?? this.time.ms;
  }

  open(): void {
    if (this.#lives++ > 0) this.#look();
    const owner = new Owner();
    let end!: () => void;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const life: Life = {
      owner,
      engine: undefined,
      path: this.#disk.path,
      end,
      ended,
      startedAt: this.time.ms,
    };
    this.#life = life;
    life.engine = EmbeddedEngine.open({
      dataDir: this.#disk.path,
      clock: this.time,
      scheduler: this.time.schedulerOf(owner),
      ids: this.#ids,
      limits: {
        cachedRuns: this.plan.cachedRuns,
        childrenEndedAtOnce: this.plan.childrenEndedAtOnce,
        messagesSentAtOnce: this.plan.messagesSentAtOnce,
      },
      freeBytes: () => Number.POSITIVE_INFINITY,
      log: this.#logOf(owner),
      onFatal: () => {
        if (owner.isAlive) this.#kill('the storage failed');
      },
      inspectCommit: (tables, runs) => {
        if (!owner.isAlive) return;
        this.witness.trace(
          `commit of ${[...runs].map(({ key, state }) => `${key}:${state.lastEventId}`).join()}`,
        );
        try {
          this.oracle.committed(tables, runs, this.time.instant());
        } catch (error) {
          // The engine would take it for a fault of its store.
          this.witness.violated((error as Error).message);
          throw error;
        }
        if (this.#killsAfterCommit > 0) {
          this.#killsAfterCommit--;
          this.#kill('right after a commit');
          throw new Killed();
        }
      },
    });
    this.witness.trace('the engine is open');
    for (let left = this.plan.workers + this.plan.spares; left > 0; left--) this.#connectWorker();
  }

  /** What went wrong in the engine's own eyes is wrong here, where nothing damages what it has stored. */
  #logOf(owner: Owner): Log {
    const ignore = () => {};
    const error: Log['error'] = (fields, message) => {
      if (owner.isAlive && /damaged|left out/.test(message)) {
        this.witness.violated(`I15: ${message} ${JSON.stringify(fields)}`);
      }
    };
    return { error, warn: ignore, info: ignore, debug: ignore } as Log;
  }

  /** As by kill -9: the engine is gone, with all that is not on disk. */
  #kill(why: string): void {
    const life = this.#life;
    if (!life) return;
    this.witness.trace(`kill: ${why}`);
    this.kills++;
    this.#disk.kill();
    life.owner.isAlive = false;
    this.#life = undefined;
    life.end();
    for (const worker of this.#workers.splice(0)) worker.owner.isAlive = false;
    this.time.after(this.random.pick([0, 1, 200, 1_500]), this.#owner, () => {
      // It lets go of its files; nobody hears of what it does on the way.
      void life.engine?.close().catch(() => {});
      this.#disk.forget(life.path);
      this.open();
    });
  }

  #faultOfCommit(): CommitFault | undefined {
    if (!this.#life?.owner.isAlive) return undefined;
    if (this.time.ms < this.fullUntil) return 'full';
    const fault = this.#commitFaults.pop();
    if (fault === 'after') this.#isUnclear = true;
    return fault;
  }

  /** Ends in order; then the folder is checked as an operator would. */
  async close(): Promise<void> {
    const { engine, owner } = this.#life!;
    this.#life = undefined;
    owner.isAlive = false;
    await engine!.close();
    const { problems } = checkDataFolder(this.#disk.path);
    if (problems.length > 0) throw new Violation(`I15: ${JSON.stringify(problems)}`);
    this.#look();
  }

  #look(): void {
    this.#disk.look((tables, rows, commits) =>
      this.oracle.found(tables, rows, commits, this.#isUnclear, this.time.instant()),
    );
    this.#isUnclear = false;
  }

  async remove(): Promise<void> {
    await this.#life?.engine?.close().catch(() => {});
    this.#disk.remove();
  }

  // ── workers ──────────────────────────────────────────────────────────────────────────────────────

  #connectWorker(): void {
    const { engine, owner } = this.#life ?? {};
    if (!engine || !owner?.isAlive) return;
    const { plan } = this;
    const name = `worker ${++this.#workerNumber}`;
    const pool = plan.spares > 0 ? { id: 'pool', size: plan.workers, spares: plan.spares } : undefined;
    const worker = new VirtualWorker(
      name,
      engine,
      this.random.of(name),
      {
        time: this.time,
        others: plan.starts.map(({ workflowId }) => workflowId),
        linkFaults: () => (this.isCalm ? { slowMs: 2, duplicates: 0, overtakes: 0 } : plan.link),
        takeTurnFailure: () => this.#turnFailures > 0 && this.#turnFailures-- > 0 && this.#blames(),
        misfits: () => {
          this.misfits++;
        },
        attemptSent: (task) => {
          try {
            this.oracle.attemptSent(task);
          } catch (error) {
            this.witness.failed(error);
          }
        },
        attemptStarted: (task) => this.oracle.attemptStarted(task),
        attemptCompleted: (task) => this.oracle.attemptCompleted(task),
        costsArrived: (attempt, costs) => this.oracle.ledger.arrived(attempt, costs),
        trace: (what) => this.witness.trace(what),
        violated: (message) => this.witness.violated(message),
      },
      { pool, slots: plan.slots, isCaching: plan.isCaching, codeId: this.#codeOf(name) },
      (ended) => {
        this.#workers = this.#workers.filter((each) => each !== ended);
        this.time.after(this.random.int(0, 1_500), owner, () => this.#connectWorker());
      },
    );
    this.#workers.push(worker);
  }

  #blames(): boolean {
    this.#hasBlamed = true;
    return true;
  }

  // ── faults ───────────────────────────────────────────────────────────────────────────────────────

  inject(fault: Exclude<PlannedFault, { kind: 'clock' }>): void {
    const worker = this.#workers.length > 0 ? this.random.pick(this.#workers) : undefined;
    switch (fault.kind) {
      case 'kill':
        this.#kill('planned');
        return;
      case 'killAfterCommit':
        this.#killsAfterCommit++;
        return;
      case 'commitFails':
        this.#commitFaults.push(fault.how);
        return;
      case 'diskFull':
        this.fullUntil = this.time.ms + fault.ms;
        return;
      case 'workerEnds':
        this.#blames();
        worker?.end('planned', fault.words);
        return;
      case 'workerFreezes':
        this.#blames();
        worker?.freeze(fault.ms, fault.isWitnessed);
        return;
      case 'evict':
        worker?.evict(fault.isTold);
        return;
      case 'turnFails':
        this.#turnFailures++;
        return;
      case 'deploy':
        worker?.leave();
        return;
    }
  }

  calmDown(): void {
    this.isCalm = true;
    this.#killsAfterCommit = 0;
    this.#commitFaults = [];
    this.#turnFailures = 0;
    for (const codeId of CODES.slice(0, this.plan.codes)) {
      if (!this.#workers.some((each) => each.codeId === codeId && !each.isLeaving)) this.#connectWorker();
    }
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────

  /** Calls the engine, if there is one; a call that a kill interrupts is unclear. */
  async call<T>(what: string, action: (engine: EmbeddedEngine) => Promise<T>): Promise<Answer<T>> {
    const life = this.#life;
    if (!life?.engine) return { kind: 'unclear' };
    this.witness.trace(`call ${what}`);
    const underWay = { what, since: this.time.ms };
    this.callsUnderWay.add(underWay);
    try {
      const answer = await Promise.race([
        action(life.engine).then((value): Answer<T> => ({ kind: 'ok', value })),
        life.ended.then((): Answer<T> => ({ kind: 'unclear' })),
      ]);
      this.answered++;
      this.witness.trace(`${what}: ${answer.kind}`);
      return answer;
    } catch (error) {
      if (!life.owner.isAlive) return { kind: 'unclear' };
      if (!(error instanceof PerdureError)) throw error;
      this.answered++;
      this.witness.trace(`${what}: ${error.name}`);
      if (error.name === 'DataCorruptionError') throw new Violation(`I15: ${what}: ${error.message}`);
      return error.name === 'EngineUnavailableError' ? { kind: 'unclear' } : { kind: 'refused', error };
    } finally {
      this.callsUnderWay.delete(underWay);
    }
  }
}
