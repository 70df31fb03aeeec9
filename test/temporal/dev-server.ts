/**
 * A Temporal server for tests: the dev server of Temporal's own program, as a process of its own.
 *
 * Its state is in a file, so that it can be killed and started again on the same port with everything it had
 * acknowledged. It takes about a second and 100 MB; whoever starts one has it alone and stops it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { findTemporal } from './binary.js';

const SERVES_WITHIN_MS = 60_000;
const STARTS = 3;
const STOPS_WITHIN_MS = 10_000;
/** Below the range that the system gives out for outgoing connections: nobody takes it while the server is away. */
const PORTS = { first: 20_000, count: 10_000 };
const GRPC_NOT_FOUND = 5;
/** Clients look for a server that was away about once a second. */
const FOUND_WITHIN_MS = 2_000;
/** Cases that run side by side find the same server away. */
const REVIVED_ONCE_MS = 30_000;

export interface DevServerOptions {
  /** Dynamic configuration by its keys, such as `history.maxInFlightUpdates`. */
  config?: Record<string, string | number | boolean>;
}

/** What the tests of one machine want of any server. */
const CONFIG = {
  // One partition, so that a task never waits in one that no poller is at.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // All of a suite's cases poll and list side by side.
  'frontend.namespaceCount': 10_000,
  'frontend.namespaceRPS': 20_000,
  'frontend.namespaceRPS.visibility': 2_000,
};

export class DevServer {
  static readonly #inUse = new Set<DevServer>();
  static #reviving: { at: number; done: Promise<unknown> } | undefined;

  readonly namespace = 'default';
  #process: ChildProcess | undefined;
  /** The process, from when it serves until it is told to end. */
  #serving: ChildProcess | undefined;
  #output = '';
  /** While it comes back after it has ended by itself. */
  #comingBack: Promise<void> | undefined;
  #isStopped = false;

  private constructor(
    private readonly binary: string,
    private readonly folder: string,
    readonly port: number,
    private readonly options: DevServerOptions,
  ) {}

  /** Serves when this resolves. */
  static async start(options: DevServerOptions = {}): Promise<DevServer> {
    const binary = findTemporal();
    if (binary === undefined)
      throw new Error('there is no Temporal server: npm run temporal:install gets one');
    return startedAtLast(() => DevServer.#start(binary, options));
  }

  static async #start(binary: string, options: DevServerOptions): Promise<DevServer> {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-temporal-'));
    const server = new DevServer(binary, folder, await freePort(), options);
    try {
      await server.restart();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Starts it again on the state that it had; resolves when it serves. */
  async restart(): Promise<void> {
    if (this.isRunning) await this.kill('SIGTERM');
    const config = Object.entries({ ...CONFIG, ...this.options.config }).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]);
    const child = spawn(
      this.binary,
      [
        ...['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', `${this.port}`],
        ...['--db-filename', join(this.folder, 'temporal.db'), '--log-level', 'error'],
        // A log ahead of the file: a commit is one sync, and what was committed outlives a kill.
        ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=FULL'],
        ...config,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, HOME: this.folder } },
    );
    this.#process = child;
    this.#output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-10_000);
      });
    }
    // Nobody is left to stop it when this process ends early.
    const end = () => child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', (code, signal) => {
      process.off('exit', end);
      if (this.#process !== child) return;
      this.#process = undefined;
      if (this.#serving === child) this.#comeBack(signal ?? `exit code ${code}`);
    });
    await this.#serves(child);
    this.#serving = child;
    DevServer.#inUse.add(this);
  }

  /** Starts those anew that should serve; whoever reads the output is told how they were. */
  static async reviveAll(): Promise<void> {
    const now = performance.now();
    if (DevServer.#reviving === undefined || now - DevServer.#reviving.at > REVIVED_ONCE_MS) {
      const serving = [...DevServer.#inUse].filter((server) => server.#serving);
      DevServer.#reviving = { at: now, done: Promise.all(serving.map((server) => server.#revive())) };
    }
    await DevServer.#reviving.done;
  }

  async #revive(): Promise<void> {
    const child = this.#serving!;
    const how = await Promise.race([
      this.#serves(child).then(() => 'serves', String),
      new Promise((resolve) => setTimeout(resolve, 2 * FOUND_WITHIN_MS, 'does not serve')),
    ]);
    console.warn(`a Temporal server could not be reached and is started again; it ${how}: ${this.#output}`);
    await this.restart();
    await new Promise((resolve) => setTimeout(resolve, FOUND_WITHIN_MS));
  }

  /** Resolves at once while it serves, and otherwise when it does again after it has ended by itself. */
  async whenBack(): Promise<void> {
    await this.#comingBack;
  }

  /** It has ended though nobody asked it to. Its clients see a server that was away, and whoever reads the output why. */
  #comeBack(how: string): void {
    console.warn(`the Temporal server has ended by itself (${how}) and is started again: ${this.#output}`);
    const back = startedAtLast(
      () => this.restart(),
      () => !this.#isStopped,
    );
    this.#comingBack = back;
    back.catch((error: unknown) => console.error(error));
  }

  /** As a crash does it, unless told otherwise. Resolves when the process is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (!child) return;
    this.#serving = undefined;
    const gone = once(child, 'exit');
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
    await gone;
    clearTimeout(late);
  }

  /** Ends it, and removes its state. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    DevServer.#inUse.delete(this);
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Each of its services answers: the frontend, and behind it those of histories and of task queues. */
  async #serves(child: ChildProcess): Promise<void> {
    const { namespace } = this;
    const deadline = Date.now() + SERVES_WITHIN_MS;
    const connection = Connection.lazy({ address: this.address });
    const { workflowService } = connection;
    try {
      for (;;) {
        try {
          await connection.withDeadline(Date.now() + 1_000, async () => {
            await workflowService.describeNamespace({ namespace });
            await workflowService.describeTaskQueue({
              namespace,
              taskQueue: { name: 'any' },
              taskQueueType: 1,
            });
            await workflowService
              .describeWorkflowExecution({ namespace, execution: { workflowId: 'none' } })
              .catch((error: { code?: number }) => {
                if (error.code !== GRPC_NOT_FOUND) throw error;
              });
          });
          return;
        } catch (error) {
          if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
            throw new Error(`the Temporal server does not serve: ${this.#output || error}`);
          }
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    } finally {
      await connection.close();
    }
  }
}

/** The server looks for further ports by itself, and another process may take one of them before it does. */
async function startedAtLast<T>(start: () => Promise<T>, isWanted = () => true): Promise<T> {
  for (let left = STARTS - 1; ; left--) {
    try {
      return await start();
    } catch (error) {
      if (left === 0 || !isWanted()) throw error;
      console.warn('the Temporal server did not start, and is started anew:', error);
    }
  }
}

async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error('no free port was found');
}
