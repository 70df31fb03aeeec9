/**
 * Keeps a number of worker processes running.
 *
 * 1. A process that ends is replaced: at once the first time, then ever more slowly while new ones keep ending.
 * 2. New code takes over only once it has been loaded; until then, and when it cannot be loaded, the old code goes on.
 * 3. After `stop` no process is left. When this process dies without it, its workers end by themselves (main.ts).
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_LIMITS } from '../core/limits.js';
import type { Log } from '../core/log.js';
import type { ResultFormat } from '../core/run.js';
import type { WorkerSlots } from '../core/task.js';
import { Child, type ChildOptions } from './child.js';
import type { ClosingRun } from './child-protocol.js';
import { LoadError } from './load-error.js';
import { watchFolder } from './watch.js';
import type { WatchdogLimits } from './watchdog-memory.js';
import type { WorkerOptions } from './worker.js';

/** What workers of every kind are told. */
export interface WorkersOptions {
  /** The folder of the workflows. */
  directory: string;
  catalog: string;
  count: number;
  resultFormat: ResultFormat;
  slots?: Partial<WorkerSlots>;
  cacheSize?: number;
  /** Loads changed files anew; for development. */
  watch?: boolean;
  log: Log;
  payloadBytes?: number;
  watchdog?: Partial<WatchdogLimits>;
  maxHeapMb?: number;
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

/** The options of a worker that workers of every kind have, with nothing left open. */
export interface CommonWorkerOptions {
  catalog: string;
  slots: WorkerSlots;
  /** Runs whose state is kept between turns; the rest is replayed. */
  cacheSize: number;
  resultFormat: ResultFormat;
  payloadBytes: number;
  watchdog: WatchdogLimits;
}

export interface WorkerSupervisor {
  /** All workers have loaded the folder and look for their engine. Rejects with a LoadError, and then nothing runs. */
  ready: Promise<void>;
  /** Lets running steps end within `graceMs`. */
  stop(graceMs: number): Promise<void>;
  pids(): number[];
  /** Processes that have ended by themselves and were replaced. */
  restarts(): number;
}

/** As many turns as keep a worker busy while its answers travel; they run one after the other. */
const DEFAULT_SLOTS: WorkerSlots = { turns: 100, steps: 200 };
const DEFAULT_CACHE_SIZE = 2_000;
const DEFAULT_WATCHDOG: WatchdogLimits = { turnTimeoutMs: 10_000, hangMs: 60_000, maxRssBytes: 2 * 2 ** 30 };

/** A process that lived this long ended for a new reason. */
const STABLE_MS = 10_000;
const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** What steps of replaced code get to end. */
const RELOAD_GRACE_MS = 10_000;

/** Built code, from src/ and from dist/ alike: a worker process knows no TypeScript of ours. */
const PROGRAM = fileURLToPath(new URL('../../dist/worker/main.js', import.meta.url));

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
    stop: (graceMs) => supervisor.stop(graceMs),
    pids: () => supervisor.pids(),
    restarts: () => supervisor.restarts,
  };
}

class Supervisor {
  readonly ready: Promise<void>;
  readonly #log: Log;
  readonly #child: ChildOptions;
  /** Those that take tasks, or are about to. */
  #current = new Set<Child>();
  /** All processes that have not ended. */
  readonly #alive = new Set<Child>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  restarts = 0;
  #quickEnds = 0;
  #stopping = false;
  #reloading = false;
  #changedAgain = false;
  #unwatch: (() => void) | undefined;

  constructor(
    program: string,
    private readonly options: WorkersOptions,
    complete: (common: CommonWorkerOptions) => unknown,
  ) {
    this.#log = options.log;
    this.#child = {
      program,
      directory: resolve(options.directory),
      worker: complete({
        catalog: options.catalog,
        slots: { ...DEFAULT_SLOTS, ...options.slots },
        cacheSize: options.cacheSize ?? DEFAULT_CACHE_SIZE,
        resultFormat: options.resultFormat,
        payloadBytes: options.payloadBytes ?? DEFAULT_LIMITS.payloadBytes,
        watchdog: { ...DEFAULT_WATCHDOG, ...options.watchdog },
      }),
      env: options.env ?? workerEnvironment(process.env),
      maxHeapMb: options.maxHeapMb,
      log: options.log,
      onRunClosing: options.onRunClosing,
    };
    this.ready = this.#begin();
    this.ready.catch(() => {});
  }

  pids(): number[] {
    return [...this.#alive].map((child) => child.pid);
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#unwatch?.();
    for (const restart of this.#restarts) clearTimeout(restart);
    await Promise.all([...this.#alive].map((child) => child.stop(graceMs)));
  }

  async #begin(): Promise<void> {
    const children = this.#spawnAll();
    try {
      await Promise.all(children.map((child) => child.ready));
    } catch (error) {
      this.#stopping = true;
      await this.#discard(children);
      throw error;
    }
    if (this.#stopping) return;
    this.#adopt(children);
    if (this.options.watch) this.#unwatch = watchFolder(this.#child.directory, () => void this.#reload());
  }

  #spawnAll(): Child[] {
    return Array.from({ length: this.options.count }, () => this.#spawn());
  }

  #spawn(): Child {
    const child = new Child(this.#child);
    this.#alive.add(child);
    void child.exited.then((how) => {
      this.#alive.delete(child);
      if (this.#current.delete(child) && !this.#stopping) this.#replace(child, how);
    });
    return child;
  }

  /** From here on these are the workers, and each that ends is replaced. */
  #adopt(children: Child[]): void {
    this.#current = new Set(children);
    for (const child of children) if (!child.isRunning) this.#current.delete(child);
    for (let missing = children.length - this.#current.size; missing > 0; missing--) this.#restart(0);
  }

  #replace(child: Child, how: string): void {
    this.restarts++;
    const livedMs = performance.now() - child.startedAt;
    this.#quickEnds = livedMs < STABLE_MS ? this.#quickEnds + 1 : 0;
    const waitMs =
      this.#quickEnds <= 1 ? 0 : Math.min(MIN_BACKOFF_MS * 2 ** (this.#quickEnds - 2), MAX_BACKOFF_MS);
    const when = waitMs === 0 ? 'now' : `in ${waitMs} ms`;
    this.#log.warn({ worker: child.pid }, `worker ${child.pid} ended (${how}); another one starts ${when}`);
    this.#restart(waitMs);
  }

  #restart(waitMs: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      const child = this.#spawn();
      this.#current.add(child);
      child.ready.catch((error: unknown) => {
        if (this.#stopping || !this.#current.has(child)) return;
        this.#log.error({ err: error }, describe(error));
        // Its end brings the next try.
        child.kill();
      });
    }, waitMs);
    this.#restarts.add(timer);
  }

  async #reload(): Promise<void> {
    if (this.#stopping) return;
    if (this.#reloading) {
      this.#changedAgain = true;
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
    const children = this.#spawnAll();
    try {
      await Promise.all(children.map((child) => child.ready));
    } catch (error) {
      if (!this.#stopping) {
        this.#log.error({}, `${describe(error)}\nThe workflows as they were before go on running`);
      }
      await this.#discard(children);
      return;
    }
    if (this.#stopping) return;
    const previous = [...this.#current];
    for (const restart of this.#restarts) clearTimeout(restart);
    this.#restarts.clear();
    this.#adopt(children);
    this.#log.info({}, 'the changed workflows are loaded');
    await Promise.all(previous.map((child) => child.stop(RELOAD_GRACE_MS)));
  }

  async #discard(children: Child[]): Promise<void> {
    for (const child of children) child.kill();
    await Promise.all(children.map((child) => child.exited));
  }
}

const describe = (error: unknown): string => (error instanceof LoadError ? error.message : String(error));

/** Secrets and settings of the server are none of user code's business. */
function workerEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SERVERS_OWN.test(name)));
}

const SERVERS_OWN = /^(API_AUTH_TOKEN$|PERDURE_|TEMPORAL_)/;
