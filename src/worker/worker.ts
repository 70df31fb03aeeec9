/**
 * A worker: takes turns and steps from the server, runs them, answers.
 *
 * 1. The messages of a frame are handled in order; turns run at once, one after the other, steps run beside them.
 * 2. A lost connection means a fresh start: cached runs are dropped, steps are aborted and their answers are not sent.
 * 3. A turn that fails by our own fault is answered as failed, so that its run is told rather than forgotten.
 */
import { hostname } from 'node:os';
import { toFailure } from '../core/failure.js';
import { unreachable } from '../core/invariant.js';
import type { Payload } from '../core/json.js';
import type { Log } from '../core/log.js';
import type { FromWorker, StepTask, ToWorker, TurnTask } from '../core/task.js';
import { LinkClient } from '../link/client.js';
import { ABORT_MS, within } from './grace.js';
import { LoadError } from './load-error.js';
import type { LoadedWorkflows } from './loader.js';
import { firstUnsent, nextTurn } from './next-turn.js';
import { createSandbox, type Sandbox } from './sandbox/host.js';
import { StepRunner } from './step-runner.js';
import type { CommonWorkerOptions } from './supervisor.js';
import { Watchdog } from './watchdog.js';

export interface WorkerOptions extends CommonWorkerOptions {
  serverUrl: string;
  token?: string;
}

export class Worker {
  readonly #sandbox: Sandbox;
  readonly #steps: StepRunner;
  readonly #watchdog: Watchdog;
  readonly #link: LinkClient;
  /** Turns that follow steps which have completed; told to the server, but not run yet. */
  #begun: TurnTask[] = [];
  #draining = false;
  #onRegistered!: () => void;
  /** The server has been told, for the first time, what this worker can do. */
  readonly registered = new Promise<void>((resolve) => {
    this.#onRegistered = resolve;
  });

  constructor(
    private readonly loaded: LoadedWorkflows,
    private readonly options: WorkerOptions,
    log: Log,
  ) {
    this.#sandbox = createSandbox({
      workflows: loaded.bundles,
      library: loaded.library,
      cacheSize: options.cacheSize,
      stacks: loaded.sourceLines,
      log,
    });
    refuseBroken(this.#sandbox, loaded.directory);
    this.#watchdog = new Watchdog(options.watchdog, () => this.#steps.stopOverdue());
    this.#steps = new StepRunner({
      find: (workflowType, stepName) => loaded.steps.find(workflowType, stepName),
      send: (message) => this.#link.send(message),
      begin: (task, result, elapsedMs) => this.#begin(task, result, elapsedMs),
      log,
      payloadBytes: options.payloadBytes,
      watch: this.#watchdog,
    });
    this.#link = new LinkClient({
      serverUrl: options.serverUrl,
      token: options.token,
      log,
      onOpen: () => this.#register(),
      onMessages: (messages) => this.#receive(messages),
      onClose: () => this.#forgetAll(),
    });
  }

  /** Takes nothing new, gives running steps `graceMs` to end, then aborts them and ends the connection. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    this.#link.send({ kind: 'draining' });
    // Tasks that were on their way are still this worker's to do.
    await within(ABORT_MS, this.#link.roundTrip());
    const ended = this.#steps.idle();
    await within(graceMs, ended);
    this.#steps.stopAll('the worker is shutting down', true);
    // A step that listens to its signal ends now, and its answer still counts.
    await within(ABORT_MS, ended);
    await this.#link.close();
  }

  /** Sends what is waiting, and nothing more. */
  async close(): Promise<void> {
    await this.#link.close();
  }

  #register(): void {
    const { catalog, slots, resultFormat } = this.options;
    const { registered: workflows, codeId } = this.loaded;
    if (this.#draining) return;
    this.#link.send({
      kind: 'register',
      catalog,
      workflows,
      slots,
      resultFormat,
      identity: `${hostname()}/${process.pid}`,
      codeId,
    });
    setImmediate(this.#onRegistered);
  }

  #receive(messages: ToWorker[]): void {
    for (const message of messages) {
      switch (message.kind) {
        case 'turn':
          this.#link.send(this.#runTurn(message));
          break;
        case 'step':
          this.#steps.run(message);
          break;
        case 'ping':
          this.#link.send({ kind: 'pong' });
          break;
        case 'stopStep':
          this.#steps.stop(message, message.reason);
          break;
        case 'forget':
          this.#sandbox.forget(message.runId);
          break;
        default:
          unreachable(message);
      }
    }
    this.#tellEvicted();
  }

  #tellEvicted(): void {
    const evicted = this.#sandbox.takeEvicted();
    if (evicted.length > 0) this.#link.send({ kind: 'evicted', runIds: evicted });
  }

  /** Begins the turn that follows the step, if the run is as the server saw it when it sent the step. */
  #begin(task: StepTask, result: Payload | undefined, elapsedMs: number): number | undefined {
    const { next, runId } = task;
    if (!next || this.#draining || !this.#sandbox.isAt(runId, firstUnsent(task))) return undefined;
    const startedAt = next.sentAt + Math.floor(elapsedMs);
    if (this.#begun.length === 0) setImmediate(() => this.#runBegun());
    this.#begun.push(nextTurn(task, next, this.options.catalog, result, startedAt));
    return startedAt;
  }

  #runBegun(): void {
    const begun = this.#begun;
    this.#begun = [];
    // The results leave first: a turn that hangs must not take them along.
    this.#link.flush();
    for (const task of begun) this.#link.send(this.#runTurn(task));
    this.#tellEvicted();
  }

  #runTurn(task: TurnTask): FromWorker {
    const { turnId, runId } = task;
    this.#watchdog.beginTurn(`${task.workflowType} ${task.workflowId} (run ${runId})`);
    try {
      const answer = this.#sandbox.runTurn(task);
      this.#restoreSourceLines(answer);
      return answer;
    } catch (error) {
      this.#sandbox.forget(runId);
      const cause = 'WORKFLOW_WORKER_UNHANDLED_FAILURE';
      return { kind: 'turnFailed', turnId, runId, cause, failure: toFailure(error) };
    } finally {
      this.#watchdog.endTurn();
    }
  }

  /** Stack traces that people will read speak of their own files. */
  #restoreSourceLines(answer: FromWorker): void {
    const { sourceLines } = this.loaded;
    if (answer.kind === 'turnFailed') sourceLines.restore(answer.failure);
    if (answer.kind !== 'turnCompleted') return;
    for (const command of answer.commands) {
      if ('failure' in command && command.failure) sourceLines.restore(command.failure);
    }
    for (const query of answer.answers) if (query.kind === 'failed') sourceLines.restore(query.failure);
  }

  #forgetAll(): void {
    this.#sandbox.forgetAll();
    this.#begun = [];
    this.#steps.stopAll('the worker has lost its server', false);
  }
}

/**
 * Files that use at their top level what workflows must not are refused now, not when the first run needs them.
 * @throws LoadError
 */
export function refuseBroken(sandbox: Sandbox, directory: string): void {
  const problems = sandbox.check().map(({ filename, failure }) => ({
    file: filename,
    message: `the workflow's side of this file cannot be evaluated: ${failure.message}`,
  }));
  if (problems.length > 0) throw new LoadError(directory, problems);
}
