/**
 * Keeps a number of worker processes running, and a spare one that has loaded everything and stands by.
 *
 * 1. A process that ends is replaced at once, or ever more slowly while new ones end before they were given anything.
 *    One that is frozen is killed, and while one is blocked by user code another one stands by in its place.
 * 2. The folder is read once: all processes run the same code, those too that take the place of others. New code takes over
 *    when it is to be watched for, and only once it has been loaded; until then, and when it cannot be, the old code goes on.
 * 3. After `stop` no process is left. When this process dies without it, its workers end by themselves (main.ts).
 */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_LIMITS, DEFAULT_WORKER_SLOTS } from '../../core/bounds/limits.js';
import type { Log } from '../../core/log.js';
import type { ResultFormat } from '../../core/run/run.js';
import type { WorkerSlots } from '../../core/task.js';
import type { PrivateAddresses } from '../../core/values/addresses.js';
import { LoadError } from '../loading/load-error.js';
import type { WatchdogLimits } from '../watchdog/watchdog-memory.js';
import type { WorkerOptions } from '../worker.js';
import type { CommonWorkerOptions } from '../worker-options.js';
import { CHECK_EVERY_MS, Child, type ChildOptions, InterruptedLoadError } from './child.js';
import { type ClosingRun, PULSE_FD } from './child-protocol.js';
import { SourceWatch } from './watch.js';

/** What workers of every kind are told. */
export interface WorkersOptions {
  /** The folder of the workflows. */
  directory: string;
  catalog: string;
  count: number;
  /** Processes beside those, which stand by: with none, what goes wrong in one is felt until another has loaded. */
  spares?: number;
  resultFormat: ResultFormat;
  slots?: Partial<WorkerSlots>;
  /** What the operator calls the code: a release, a commit. */
  versionName?: string;
  cacheSize?: number;
  /** Loads changed files anew; for development. */
  watch?: boolean;
  log: Log;
  payloadBytes?: number;
  watchdog?: Partial<WatchdogLimits>;
  maxHeapMb?: number;
  /** Which private addresses the HTTP helpers of the SDK may reach; none if not given. */
  allowPrivateAddresses?: PrivateAddresses;
  /** Under which outsiders reach the server; by default what the workers know of where that is. */
  publicUrl?: string;
  /** What workers see of the environment; by default everything but what is the server's own. */
  env?: NodeJS.ProcessEnv;
  /** Called when the last turn of a run is on its way to the engine, by workers that tell. */
  onRunClosing?(run: ClosingRun): void;
}

export interface StartWorkersOptions extends WorkersOptions {
  /** Of the server's HTTP port, such as `http://127.0.0.1:3001`. */
  serverUrl: string;
  token?: string;
}

export interface WorkerSupervisor {
  /** All workers have loaded the folder and look for their engine. Rejects with a LoadError, and then nothing runs. */
  ready: Promise<void>;
  /** As many workers as are meant to work are known to their engine, for the first time. One that is refused never is. */
  registered: Promise<void>;
  /** Lets running steps end within `graceMs`. */
  stop(graceMs: number): Promise<void>;
  pids(): number[];
  /** Processes that have ended by themselves and were replaced. */
  restarts(): number;
}

const DEFAULT_CACHE_SIZE = 2_000;
const DEFAULT_WATCHDOG: WatchdogLimits = {
  turnTimeoutMs: 1_000,
  blockMs: 1_000,
  hangMs: 60_000,
  maxRssBytes: 2 * 2 ** 30,
};
/** One is enough: it is replaced in about a second. */
const DEFAULT_SPARES = 1;

/** A process that lived this long ended for a new reason. */
const STABLE_MS = 10_000;
const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** What steps of replaced code get to end. */
const RELOAD_GRACE_MS = 10_000;
/** A load of changed files that takes longer may never end: it is told, and given up for files that have changed again. */
const SLOW_LOAD_MS = 5_000;
/** A process that ended before it could begin is tried again so often; then the folder may be what ends it. */
const MAX_INTERRUPTED_LOADS = 5;
/** One process too many, started for another that works again by now, is kept for so long. */
const SURPLUS_MS = 10_000;

/** Built code, from src/ and from dist/ alike: a worker process knows no TypeScript of ours. */
const PROGRAM = fileURLToPath(new URL('../../../dist/worker/main.js', import.meta.url));

export function startWorkers(options: StartWorkersOptions): WorkerSupervisor {
  const { serverUrl, token } = options;
  return superviseWorkers(PROGRAM, options, (common): WorkerOptions => ({ serverUrl, token, ...common }));
}

/** Keeps workers running whose processes run `program` with the options that `complete` gives. */
export function superviseWorkers(
  program: string,
  options: WorkersOptions,
  complete: (common: CommonWorkerOptions) => unknown,
): WorkerSupervisor {
  const supervisor = new Supervisor(program, options, complete);
  return {
    ready: supervisor.ready,
    registered: supervisor.registered,
    stop: (graceMs) => supervisor.stop(graceMs),
    pids: () => supervisor.pids(),
    restarts: () => supervisor.restarts,
  };
}

class Supervisor {
  readonly ready: Promise<void>;
  readonly registered: Promise<void>;
  #onRegistered!: () => void;
  #registeredCount = 0;
  readonly #log: Log;
  readonly #spares: number;
  readonly #childOptions: () => ChildOptions;
  /** Of the code that is in use; new code makes a new one. */
  #generation: ChildOptions;
  /** Those that take tasks or stand by, or are about to; the youngest last. */
  #current = new Set<Child>();
  /** All processes that have not ended. */
  readonly #alive = new Set<Child>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  restarts = 0;
  #quickEnds = 0;
  #surplusSince: number | undefined;
  #checks: NodeJS.Timeout | undefined;
  #stopping = false;
  #reloading = false;
  #changedAgain = false;
  /** Gives up a load that takes long. */
  #abandonLoad: (() => void) | undefined;
  /** New code is loaded, and processes with the code before are ending. */
  #waitsForSteps = false;
  #watch: SourceWatch | undefined;
  #followed: readonly string[] = [];

  constructor(
    program: string,
    private readonly options: WorkersOptions,
    complete: (common: CommonWorkerOptions) => unknown,
  ) {
    this.#log = options.log;
    this.#spares = options.spares ?? DEFAULT_SPARES;
    this.#childOptions = () => ({
      program,
      directory: resolve(options.directory),
      worker: complete({
        catalog: options.catalog,
        slots: { ...DEFAULT_WORKER_SLOTS, ...options.slots },
        versionName: options.versionName,
        cacheSize: options.cacheSize ?? DEFAULT_CACHE_SIZE,
        resultFormat: options.resultFormat,
        payloadBytes: options.payloadBytes ?? DEFAULT_LIMITS.payloadBytes,
        watchdog: { ...DEFAULT_WATCHDOG, ...options.watchdog },
        allowPrivateAddresses: options.allowPrivateAddresses ?? 'none',
        publicUrl: options.publicUrl,
        pulseFd: PULSE_FD,
        pool: { id: randomUUID(), size: options.count, spares: this.#spares },
      }),
      env: options.env ?? workerEnvironment(process.env),
      maxHeapMb: options.maxHeapMb,
      log: options.log,
      onRunClosing: options.onRunClosing,
    });
    this.#generation = this.#childOptions();
    this.registered = new Promise((resolve) => {
      this.#onRegistered = resolve;
    });
    this.ready = this.#begin();
    this.ready.catch(() => {});
  }

  pids(): number[] {
    return [...this.#alive].map((child) => child.pid);
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#watch?.close();
    clearInterval(this.#checks);
    for (const restart of this.#restarts) clearTimeout(restart);
    await Promise.all([...this.#alive].map((child) => child.stop(graceMs)));
  }

  async #begin(): Promise<void> {
    const children = await this.#load(this.#generation).catch((error: unknown) => {
      this.#stopping = true;
      throw error;
    });
    if (this.#stopping) return;
    this.#adopt(children);
    this.#checks = setInterval(() => this.#check(), CHECK_EVERY_MS);
    if (!this.options.watch) return;
    this.#watch = new SourceWatch(this.#generation.directory, {
      onChange: () => void this.#reload(),
      onFailure: (error) => this.#log.warn({}, `${UNSEEN_CHANGES}: ${error.message}`),
    });
    this.#follow(outsideOf(children));
  }

  /** As many processes as are meant to work, with everything loaded. @throws LoadError, and then none is left */
  async #load(generation: ChildOptions, abandoned?: AbortSignal): Promise<Child[]> {
    const children: Child[] = [];
    let isGivenUp = false;
    abandoned?.addEventListener('abort', () => {
      isGivenUp = true;
      for (const child of children) child.kill();
    });
    const loadOne = async () => {
      for (let attempt = 1; ; attempt++) {
        const child = this.#spawn(generation);
        children.push(child);
        try {
          const snapshot = await child.ready;
          generation.snapshot ??= snapshot;
          return child;
        } catch (error) {
          const isFinal = !(error instanceof InterruptedLoadError) || attempt >= MAX_INTERRUPTED_LOADS;
          if (isFinal || isGivenUp || this.#stopping) throw error;
          this.#log.warn({ worker: child.pid }, `${describe(error)}\nIt is tried again`);
        }
      }
    };
    try {
      // The others run what the first has read, whatever becomes of the files.
      const first = await loadOne();
      return [first, ...(await Promise.all(Array.from({ length: this.options.count - 1 }, loadOne)))];
    } catch (error) {
      isGivenUp = true;
      for (const child of children) child.kill();
      await Promise.all(children.map((child) => child.exited));
      throw error;
    }
  }

  #spawn(generation: ChildOptions): Child {
    const child = new Child(generation);
    this.#alive.add(child);
    void child.registered.then(() => {
      if (++this.#registeredCount === this.options.count) this.#onRegistered();
    });
    void child.exited.then((how) => {
      this.#alive.delete(child);
      if (this.#current.delete(child) && !this.#stopping) this.#replace(child, how);
    });
    return child;
  }

  /** From here on these are the workers, and each that ends is replaced. */
  #adopt(children: Child[]): void {
    this.#current = new Set(children.filter((child) => child.isRunning));
    this.#fill();
  }

  /** Starts what is missing, those that stand by included. */
  #fill(): void {
    for (let has = this.#current.size + this.#restarts.size; has < this.#wanted; has++) this.#restart(0);
  }

  /** One that is out of order does no work, so another one stands by in its place. */
  get #wanted(): number {
    const { count } = this.options;
    let outOfOrder = 0;
    if (this.#spares > 0) for (const child of this.#current) if (child.isOutOfOrder) outOfOrder++;
    return count + this.#spares + Math.min(outOfOrder, count);
  }

  #check(): void {
    for (const child of this.#current) child.check();
    this.#fill();
    const youngest = [...this.#current].at(-1);
    if (!youngest || this.#current.size <= this.#wanted) {
      this.#surplusSince = undefined;
      return;
    }
    const now = performance.now();
    this.#surplusSince ??= now;
    if (now - this.#surplusSince < SURPLUS_MS) return;
    this.#surplusSince = undefined;
    this.#current.delete(youngest);
    void youngest.stop(RELOAD_GRACE_MS);
  }

  /**
   * What it was given to do is tried again where it harms nobody, so it is no reason to wait. A process that ends of
   * itself would do so again.
   */
  #replace(child: Child, how: string): void {
    this.restarts++;
    this.#quickEnds = child.hasWorked || child.livedMs >= STABLE_MS ? 0 : this.#quickEnds + 1;
    const waitMs =
      this.#quickEnds <= 1 ? 0 : Math.min(MIN_BACKOFF_MS * 2 ** (this.#quickEnds - 2), MAX_BACKOFF_MS);
    const isReplaced = this.#current.size + this.#restarts.size >= this.#wanted;
    const when = isReplaced || waitMs === 0 ? 'now' : `in ${waitMs} ms`;
    if (child.hasBegun)
      this.#log.warn({ worker: child.pid }, `worker ${child.pid} ended (${how}); another one starts ${when}`);
    else this.#log.warn({}, `a worker could not be started (${how}); it is tried again ${when}`);
    if (!isReplaced) this.#restart(waitMs);
  }

  #restart(waitMs: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      const child = this.#spawn(this.#generation);
      this.#current.add(child);
      child.ready.catch((error: unknown) => {
        if (this.#stopping || !this.#current.has(child)) return;
        // What is wrong with a folder is told in full by its message; a stack would be ours, and help nobody.
        this.#log.error(error instanceof LoadError ? {} : { err: error }, describe(error));
        // Its end brings the next try.
        child.kill();
      });
    }, waitMs);
    this.#restarts.add(timer);
  }

  async #reload(): Promise<void> {
    if (this.#stopping) return;
    if (this.#reloading) {
      if (this.#waitsForSteps && !this.#changedAgain) this.#log.info({}, CHANGE_WAITS);
      this.#changedAgain = true;
      this.#abandonLoad?.();
      return;
    }
    this.#reloading = true;
    do {
      this.#changedAgain = false;
      await this.#takeOver();
    } while (this.#changedAgain && !this.#stopping);
    this.#reloading = false;
  }

  async #takeOver(): Promise<void> {
    const generation = this.#childOptions();
    const abandoning = new AbortController();
    const slow = setTimeout(() => {
      this.#abandonLoad = () => abandoning.abort();
      if (this.#changedAgain) this.#abandonLoad();
      else this.#log.warn({}, SLOW_LOAD);
    }, SLOW_LOAD_MS);
    let children: Child[];
    try {
      children = await this.#load(generation, abandoning.signal);
    } catch (error) {
      if (!this.#stopping && !abandoning.signal.aborted) {
        this.#log.error({}, `${describe(error)}\nThe workflows as they were before go on running`);
        // It may be any of these that is mended next.
        if (error instanceof LoadError) this.#follow([...this.#followed, ...error.outside]);
      }
      return;
    } finally {
      clearTimeout(slow);
      this.#abandonLoad = undefined;
    }
    if (this.#stopping) return;
    const previous = [...this.#current];
    for (const restart of this.#restarts) clearTimeout(restart);
    this.#restarts.clear();
    this.#generation = generation;
    this.#adopt(children);
    this.#follow(outsideOf(children));
    this.#log.info({}, 'the changed workflows are loaded');
    this.#waitsForSteps = true;
    if (this.#changedAgain) this.#log.info({}, CHANGE_WAITS);
    await Promise.all(previous.map((child) => child.stop(RELOAD_GRACE_MS)));
    this.#waitsForSteps = false;
  }

  #follow(files: readonly string[]): void {
    this.#followed = [...new Set(files)];
    this.#watch?.follow(this.#followed);
  }
}

const UNSEEN_CHANGES = 'not every change of a file will be seen; restart to have all of them loaded';

const SLOW_LOAD =
  'loading the changed workflows takes long. Does a file wait for something at its top level? The workflows as they were before go on running';

const CHANGE_WAITS = `files have changed again: they are loaded when the steps of the code before have ended, or in about ${RELOAD_GRACE_MS / 1_000} s`;

const outsideOf = (children: readonly Child[]): string[] => [
  ...new Set(children.flatMap(({ outside }) => outside)),
];

const describe = (error: unknown): string => (error instanceof LoadError ? error.message : String(error));

/** Secrets and settings of the server are none of user code's business. */
function workerEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SERVERS_OWN.test(name)));
}

const SERVERS_OWN = /^(API_AUTH_TOKEN|PERDURE_|TEMPORAL_)/;
