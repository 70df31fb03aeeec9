/** One worker process, from its start to its end. */
import { ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { parse } from 'node:path';
import type { Readable } from 'node:stream';
import type { Log } from '../../core/log.js';
import { LoadError } from '../loading/load-error.js';
import type { FolderSnapshot } from '../loading/snapshot.js';
import { type ClosingRun, isFromChild, PULSE, PULSE_FD, type ToChild } from './child-protocol.js';
import { forwardOutput, LastLines } from './output.js';

/** Bundling and importing take a second or two; a file that waits for something at its top level takes forever. */
const LOAD_TIMEOUT_MS = 60_000;
/** What comes then is ours; it takes that long only where others have the machine, and is worth another try. */
const BEGIN_TIMEOUT_MS = 120_000;

/** Checks in a row without a sign of life, after which a process is taken for frozen: at once if the system says so. */
const STOPPED_CHECKS = 3;
const SILENT_CHECKS = 12;
/** How often `check` is to be called: a sign of life comes somewhat more often. */
export const CHECK_EVERY_MS = 250;

/** The process was killed while it loaded, or ended afterwards; that says nothing about what it loaded. */
export class InterruptedLoadError extends LoadError {}

export interface ChildOptions {
  /** The program of the process: the path of a module that calls `runWorkerProcess`. */
  program: string;
  directory: string;
  /** For the kind of worker that the program runs. */
  worker: unknown;
  env: NodeJS.ProcessEnv;
  /** MiB of V8's heap; Node's own choice when absent. */
  maxHeapMb?: number;
  log: Log;
  onRunClosing?(run: ClosingRun): void;
  /** What another process has read of the folder: this one runs the same, whatever has become of the files. */
  snapshot?: FolderSnapshot;
}

export class Child {
  readonly #process: ChildProcess;
  readonly exited: Promise<string>;
  /** With what it has read of the folder. Rejects with a LoadError when that cannot be loaded, for whatever reason. */
  readonly ready: Promise<FolderSnapshot | undefined>;
  /** Its engine knows it. */
  readonly registered: Promise<void>;
  /** The files outside the folder that it has loaded, once it is ready. */
  outside: readonly string[] = [];
  readonly #log: Log;
  readonly #lastLines = new LastLines();
  #readyAt: number | undefined;
  #hasWorked = false;
  #isBlocked = false;
  #hasShownItself = false;
  #silentChecks = 0;

  constructor({ program, directory, worker, env, maxHeapMb, log, onRunClosing, snapshot }: ChildOptions) {
    const child = forked(program, {
      cwd: workingFolder(directory),
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
      // Carries buffers too, such as certificates.
      serialization: 'advanced',
      execArgv: ['--enable-source-maps', ...(maxHeapMb ? [`--max-old-space-size=${maxHeapMb}`] : [])],
    });
    this.#process = child;
    this.#log = log;
    if (this.hasBegun) {
      this.#listen(child.stdio[PULSE_FD] as Readable);
      forwardOutput(child.stdout!, 'info', this.pid, log, this.#lastLines);
      forwardOutput(child.stderr!, 'warn', this.pid, log, this.#lastLines);
    }
    this.exited = new Promise((resolve) => {
      // `close` comes after the last of its output, `exit` may come before.
      child.once('close', (code, signal) => resolve(signal ? `${BY_SIGNAL}${signal}` : `exit code ${code}`));
      child.on('error', (error) => {
        if (!this.hasBegun) resolve(error.message);
      });
    });
    child.on('message', (message: unknown) => {
      if (isFromChild(message) && message.kind === 'closing') onRunClosing?.(message.run);
    });
    this.registered = new Promise((resolve) => {
      child.on('message', (message: unknown) => {
        if (isFromChild(message) && message.kind === 'registered') resolve();
      });
    });
    this.ready = this.#loaded(directory);
    this.ready.then(
      () => {
        this.#readyAt = performance.now();
      },
      () => {},
    );
    this.#send({ kind: 'start', supervisor: process.pid, directory, options: worker, snapshot });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** Whether there ever was a process: the system may have had no room for one, or this process no descriptors for its pipes. */
  get hasBegun(): boolean {
    return this.#process.pid !== undefined;
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Since it has loaded its files: how long that takes says nothing of what it does then. */
  get livedMs(): number {
    return this.#readyAt === undefined ? 0 : performance.now() - this.#readyAt;
  }

  /** Whether it was ever given a task, which then may be what it ended of. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  /** It runs, or should, but nothing can be done there at the moment. */
  get isOutOfOrder(): boolean {
    return this.#isBlocked || this.#silentChecks >= STOPPED_CHECKS;
  }

  /**
   * Ends a process that does not run at all, such as one that was stopped. Counts checks rather than time: while this
   * process is suspended or late itself, it checks nobody.
   */
  check(): void {
    if (!this.isRunning) return;
    // While it loads it gives no signs of life: only the system knows.
    const isAlive = this.#readyAt !== undefined ? this.#hasShownItself : !isStopped(this.pid);
    this.#silentChecks = isAlive ? 0 : this.#silentChecks + 1;
    this.#hasShownItself = false;
    if (this.#silentChecks < STOPPED_CHECKS) return;
    if (this.#silentChecks < SILENT_CHECKS && !isStopped(this.pid)) return;
    this.#log.warn({ worker: this.pid }, `worker ${this.pid} is frozen: it is killed`);
    this.kill();
  }

  /** Lets it finish what it has within `graceMs`, and kills it if it does not end by itself. */
  async stop(graceMs: number): Promise<void> {
    this.#send({ kind: 'drain', graceMs });
    const impatience = setTimeout(() => this.kill(), graceMs + KILL_AFTER_MS);
    await this.exited;
    clearTimeout(impatience);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #listen(pulse: Readable): void {
    pulse.setEncoding('latin1');
    pulse.on('data', (signs: string) => {
      this.#hasShownItself = true;
      if (signs.includes(PULSE.works)) this.#hasWorked = true;
      const last = signs.at(-1);
      if (last !== PULSE.works) this.#isBlocked = last === PULSE.blocked;
    });
    pulse.on('error', () => {});
  }

  #loaded(directory: string): Promise<FolderSnapshot | undefined> {
    let hasFiles = false;
    return new Promise((resolve, reject) => {
      const refuse = (message: string) => reject(new LoadError(directory, [{ message }]));
      let timeout = setTimeout(() => {
        refuse(
          `loading did not end within ${LOAD_TIMEOUT_MS / 1_000} s. Does a file wait for something at its top level?`,
        );
        this.kill();
      }, LOAD_TIMEOUT_MS);
      this.#process.on('message', (message: unknown) => {
        if (!isFromChild(message)) return;
        if (message.kind === 'loaded') {
          hasFiles = true;
          clearTimeout(timeout);
          timeout = setTimeout(() => this.kill(), BEGIN_TIMEOUT_MS);
        }
        if (message.kind !== 'ready' && message.kind !== 'loadFailed') return;
        clearTimeout(timeout);
        if (message.kind === 'ready') {
          this.outside = message.outside;
          resolve(message.snapshot);
        } else reject(new LoadError(message.directory, message.problems, message.outside));
      });
      void this.exited.then((how) => {
        clearTimeout(timeout);
        const isInterrupted = hasFiles || how.startsWith(BY_SIGNAL) || !this.hasBegun;
        const when = hasFiles ? 'before it had begun' : 'while it loaded them';
        const hint = isInterrupted ? '' : ' Does a file end the process?';
        const message = this.hasBegun
          ? `the worker process ended ${when} (${how}).${hint} The last it said: ${this.#lastLines}`
          : `the worker process could not be started (${how})`;
        const FittingError = isInterrupted ? InterruptedLoadError : LoadError;
        reject(new FittingError(directory, [{ message }]));
      });
    });
  }

  #send(message: ToChild): void {
    // Fails only when the child is gone, which `exited` tells.
    if (this.#process.connected) this.#process.send(message, () => {});
  }
}

/** Beyond the grace: for aborted steps to clean up, and for the process to end. */
const KILL_AFTER_MS = 3_000;

const BY_SIGNAL = 'signal ';

/** Tells by the event `error` alone of what keeps it from being started; `fork` throws some of it, such as a lack of memory. */
function forked(program: string, options: ForkOptions): ChildProcess {
  try {
    return fork(program, options);
  } catch (error) {
    const none = new ChildProcess();
    process.nextTick(() => none.emit('error', error));
    return none;
  }
}

/** Where this process is at work, unless that folder has been removed: Node starts no threads there. */
function workingFolder(workflows: string): string {
  for (const folder of ['.', workflows]) {
    try {
      return realpathSync.native(folder);
    } catch {
      // Gone. What was read of the workflows is enough to go on with.
    }
  }
  return parse(workflows).root;
}

/** Where the system tells. */
function isStopped(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).startsWith('T');
  } catch {
    return false;
  }
}
