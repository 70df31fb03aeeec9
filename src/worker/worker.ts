/**
 * A worker: takes turns and steps from the server, runs them, answers.
 *
 * 1. The messages of a frame are handled in order; turns run at once, one after the other, steps run beside them.
 * 2. A lost connection means a fresh start: cached runs are dropped, steps are aborted and their answers are not sent.
 */
import crypto, { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setImmediate } from 'node:timers';
import { faultPoint } from '../core/fault-point.js';
import { invariant, unreachable } from '../core/invariant.js';
import type { Log } from '../core/log.js';
import { type CallbackRef, callbackAddresses, tokenTools } from '../core/run/callback.js';
import type { FromWorker, StepTask, ToWorker, TurnTask, WorkerPool } from '../core/task.js';
import type { Payload } from '../core/values/json.js';
import { LinkClient } from '../link/client.js';
import { registeredAttemptSpans } from '../telemetry/attempt-spans.js';
import { ABORT_MS, within } from './grace.js';
import { LoadError } from './loading/load-error.js';
import type { LoadedWorkflows } from './loading/loader.js';
import { firstUnsent, nextTurn } from './next-turn.js';
import { createSandbox, type Sandbox } from './sandbox/host.js';
import { StepRunner } from './steps/step-runner.js';
import { TurnAnswers } from './turn-answers.js';
import { Watchdog } from './watchdog/watchdog.js';
import type { CommonWorkerOptions } from './worker-options.js';

type Welcome = Extract<ToWorker, { kind: 'welcome' }>;

export interface WorkerOptions extends CommonWorkerOptions {
  serverUrl: string;
  token?: string;
  pool: WorkerPool;
}

export class Worker {
  readonly #sandbox: Sandbox;
  readonly #turns: TurnAnswers;
  readonly #steps: StepRunner;
  readonly #watchdog: Watchdog;
  readonly #link: LinkClient;
  /** By which the server knows of whom the watchdog's witness speaks. */
  readonly #id = randomUUID();
  /** Turns that follow steps which have completed; told to the server, but not run yet. */
  #begun: TurnTask[] = [];
  /** Gives the address of a callback, once the server has said how. */
  #callbacks: ((callback: CallbackRef) => string) | undefined;
  #draining = false;
  readonly #spans = registeredAttemptSpans();
  #onRegistered!: () => void;
  /** The server knows, for the first time, what this worker can do. */
  readonly registered = new Promise<void>((resolve) => {
    this.#onRegistered = resolve;
  });

  constructor(
    private readonly loaded: LoadedWorkflows,
    private readonly options: WorkerOptions,
    private readonly log: Log,
  ) {
    this.#sandbox = createSandbox({
      workflows: loaded.bundles,
      library: loaded.library,
      cacheSize: options.cacheSize,
      stacks: loaded.sourceLines,
      callbackUrl: (callback) => this.#callbackUrl(callback),
      log,
      onReplayed: () => {
        this.#watchdog.replayed();
        faultPoint('workerReplay');
      },
    });
    refuseBroken(this.#sandbox, loaded.directory);
    this.#turns = new TurnAnswers(this.#sandbox, loaded.sourceLines, options.payloadBytes);
    const { serverUrl, token, watchdog: limits, pulseFd } = options;
    this.#watchdog = new Watchdog({
      ...{ limits, pulseFd, witness: { serverUrl, token, workerId: this.#id } },
      onTick: () => this.#steps.stopOverdue(),
    });
    this.#steps = new StepRunner({
      find: (workflowType, stepName) => loaded.steps.find(workflowType, stepName),
      send: (message) => this.#link.send(message),
      begin: (task, result, elapsedMs) => this.#begin(task, result, elapsedMs),
      log,
      payloadBytes: options.payloadBytes,
      watch: this.#watchdog,
      spans: this.#spans,
    });
    this.#link = new LinkClient({
      ...{ serverUrl, token, log },
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
    const wait = this.#steps.describeWait(graceMs);
    if (wait !== undefined) this.log.info({}, wait);
    await within(graceMs, ended);
    this.#steps.stopAll('the worker is shutting down', true);
    // A step that listens to its signal ends now, and its answer still counts.
    await within(ABORT_MS, ended);
    await this.#link.close();
  }

  /** User code has broken this process: sends what is waiting, and whose code it was. */
  async close(reason: string): Promise<void> {
    const { culprit, started } = this.#steps.blame();
    this.#link.send({
      ...{ kind: 'lastWords', workerId: this.#id, started, reason },
      ...(culprit && { culprit }),
    });
    await this.#link.close();
  }

  /** User code ends this process at this moment. */
  exiting(): void {
    this.#watchdog.exiting(this.#steps.blame().culprit);
  }

  #register(): void {
    const { catalog, slots, resultFormat, pool, versionName } = this.options;
    const { registered: workflows, codeId } = this.loaded;
    const host = hostname();
    const { pid } = process;
    if (this.#draining) return;
    this.#link.send({
      kind: 'register',
      catalog,
      workflows,
      slots,
      resultFormat,
      identity: `${host}/${pid}`,
      codeId,
      ...(versionName !== undefined && { versionName }),
      host,
      pid,
      workerId: this.#id,
      pool,
      ...(this.#spans && { makesSpans: true }),
    });
    // A server that cannot take what it was told ends the connection instead of answering.
    void this.#link.roundTrip().then(() => {
      if (this.#link.isOpen) this.#onRegistered();
    });
  }

  #receive(messages: ToWorker[]): void {
    let hasTurns = false;
    for (const message of messages) {
      switch (message.kind) {
        case 'welcome':
          this.#callbacks = this.#callbacksOf(message);
          break;
        case 'turn':
          this.#link.send(this.#runTurn(message));
          hasTurns = true;
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
        case 'othersWait':
          // For witnesses.
          break;
        default:
          unreachable(message);
      }
    }
    this.#tellEvicted();
    // The answers to turns are all there; those of steps are not.
    if (hasTurns) this.#link.flush();
  }

  #callbackUrl(callback: CallbackRef): string {
    // A task comes after the welcome.
    invariant(this.#callbacks, 'the server has not said how callbacks are signed');
    return this.#callbacks(callback);
  }

  #callbacksOf({ callbackKey: key, publicUrl }: Welcome): (callback: CallbackRef) => string {
    const { publicUrl: own, serverUrl } = this.options;
    return callbackAddresses(tokenTools(crypto, Buffer), { key, publicUrl: own ?? publicUrl ?? serverUrl });
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
    this.#link.flush();
  }

  #runTurn(task: TurnTask): FromWorker {
    const { turnId, runId } = task;
    faultPoint('workerTurn');
    this.#watchdog.beginTurn(turnId, `${task.workflowType} ${task.workflowId} (run ${runId})`);
    try {
      return this.#turns.to(task);
    } finally {
      this.#watchdog.endTurn();
    }
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
