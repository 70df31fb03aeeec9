/** One worker process, from its start to its end. */
import { type ChildProcess, fork } from 'node:child_process';
import type { Log } from '../core/log.js';
import { type ClosingRun, isFromChild, type ToChild } from './child-protocol.js';
import { LoadError } from './load-error.js';
import { forwardOutput } from './output.js';

/** Bundling and importing take a second or two; a file that waits for something at its top level takes forever. */
const LOAD_TIMEOUT_MS = 60_000;

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
}

export class Child {
  readonly #process: ChildProcess;
  readonly startedAt = performance.now();
  readonly exited: Promise<string>;
  /** Rejects with a LoadError when the workflows cannot be loaded, for whatever reason. */
  readonly ready: Promise<void>;

  constructor({ program, directory, worker, env, maxHeapMb, log, onRunClosing }: ChildOptions) {
    const child = fork(program, {
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Carries buffers too, such as certificates.
      serialization: 'advanced',
      execArgv: ['--enable-source-maps', ...(maxHeapMb ? [`--max-old-space-size=${maxHeapMb}`] : [])],
    });
    this.#process = child;
    forwardOutput(child.stdout!, 'info', this.pid, log);
    forwardOutput(child.stderr!, 'warn', this.pid, log);
    this.exited = new Promise((resolve) => {
      // `close` comes after the last of its output, `exit` may come before.
      child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
      child.once('error', (error) => resolve(error.message));
    });
    child.on('message', (message: unknown) => {
      if (isFromChild(message) && message.kind === 'closing') onRunClosing?.(message.run);
    });
    this.ready = this.#loaded(directory);
    this.ready.catch(() => {});
    this.#send({ kind: 'start', directory, options: worker });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
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

  #loaded(directory: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (message: string) => reject(new LoadError(directory, [{ message }]));
      const timeout = setTimeout(() => {
        refuse(
          `loading did not end within ${LOAD_TIMEOUT_MS / 1_000} s. Does a file wait for something at its top level?`,
        );
        this.kill();
      }, LOAD_TIMEOUT_MS);
      this.#process.on('message', (message: unknown) => {
        if (!isFromChild(message) || message.kind === 'closing') return;
        clearTimeout(timeout);
        if (message.kind === 'ready') resolve();
        else reject(new LoadError(message.directory, message.problems));
      });
      void this.exited.then((how) => {
        clearTimeout(timeout);
        refuse(
          `the worker process ended while it loaded them (${how}). Its last output is above; does a file end the process?`,
        );
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
