/**
 * A worker in the test's own process: the same sandbox, the same turns and the same step runner as everywhere, with a
 * direct way to the engine in place of a connection.
 *
 * 1. Messages travel at the instant they are sent, one after the other, and never inside a call of the engine.
 * 2. As with a real worker, a lost engine means a fresh start: cached runs are dropped, steps are aborted and their
 *    answers are not sent.
 */
import { setTimeout } from 'node:timers';
import { DEFAULT_LIMITS } from '../core/bounds/limits.js';
import type { Log } from '../core/log.js';
import type { FromWorker, StepAttempt, ToWorker, TurnTask } from '../core/task.js';
import type { TaskSource, WorkerSession } from '../engine.js';
import type { LoadedWorkflows } from '../worker/loading/loader.js';
import type { Sandbox } from '../worker/sandbox/host.js';
import { StepRunner } from '../worker/steps/step-runner.js';
import { TurnAnswers } from '../worker/turn-answers.js';
import { Owner } from './agenda.js';
import { type BorrowedSandbox, borrowSandbox } from './sandboxes.js';
import type { StepBook } from './step-book.js';
import type { VirtualTime } from './virtual-time.js';

/** The only one there is: tests have no use for several. */
export const CATALOG = 'default';

/** More than any test has under way, so that nothing waits for a place. */
const SLOTS = { turns: 1_000, steps: 100_000 };

/** In real time: what a step whose answer nobody waits for any more has to clean up. Code that goes on longer may go on for ever. */
const CLEANUP_MS = 200;

/** What becomes of an answer on its way: it arrives, it arrives when nothing else is left to happen, it arrives then as well, or its worker is lost first. */
export type Fate = 'arrives' | 'late' | 'twice' | 'lost';

export interface LocalWorkerOptions {
  loaded: LoadedWorkflows;
  isReplayingEveryTurn: boolean;
  log: Log;
  steps: StepBook;
  time: VirtualTime;
  fateOf(answer: FromWorker): Fate;
  onTurnFailed(task: TurnTask, message: string): void;
  /** An answer was lost together with the worker, which is gone. */
  onLost(): void;
}

export class LocalWorker {
  readonly #borrowed: BorrowedSandbox;
  readonly #sandbox: Sandbox;
  readonly #turns: TurnAnswers;
  #steps: StepRunner;
  #session: WorkerSession | undefined;
  #owner = new Owner();
  #held: FromWorker[] = [];
  /** Of the steps that it was given, by their attempts. */
  readonly #names = new Map<string, string>();
  /** Attempts that were given up, and whose code has not ended since: nothing waits for it. */
  readonly #left = new Set<string>();
  #onChange: (() => void)[] = [];

  constructor(private readonly options: LocalWorkerOptions) {
    const { loaded, isReplayingEveryTurn, log } = options;
    this.#borrowed = borrowSandbox(loaded, isReplayingEveryTurn, log);
    this.#sandbox = this.#borrowed.sandbox;
    this.#turns = new TurnAnswers(this.#sandbox, loaded.sourceLines, DEFAULT_LIMITS.payloadBytes);
    this.#steps = this.#newSteps();
  }

  /** Steps whose code is running, and may still have something to say. */
  get running(): number {
    return this.#left.size === 0 ? this.#steps.running : this.#started.length;
  }

  get runningSteps(): string[] {
    return this.#started.map((attempt) => this.#names.get(attempt) ?? 'unknown');
  }

  get #started(): string[] {
    const started = this.#steps.blame().started.map(attemptOf);
    return started.filter((attempt) => !this.#left.has(attempt));
  }

  /** Resolves when a step has said something or has ended. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange.push(resolve);
      void this.#steps.idle().then(() => this.#changed());
    });
  }

  connect(source: TaskSource): void {
    const { time, loaded } = this.options;
    const owner = new Owner();
    this.#owner = owner;
    const session = source.connect((message) => time.soon(owner, () => this.#receive(message)));
    this.#session = session;
    session.receive({
      kind: 'register',
      catalog: CATALOG,
      workflows: loaded.registered,
      slots: SLOTS,
      resultFormat: 'current',
      identity: 'the test',
      codeId: loaded.codeId,
    });
  }

  /** The engine is gone. */
  disconnect(): void {
    this.#owner.isAlive = false;
    this.#session = undefined;
    this.#held = [];
    this.#sandbox.forgetAll();
    this.#steps.stopAll('the worker has lost its server', false);
    this.#steps = this.#newSteps();
    this.#changed();
  }

  /** The worker itself ends. */
  end(): void {
    this.disconnect();
    this.#borrowed.giveBack();
  }

  /** Lets what was held back arrive; whether there was something. */
  release(): boolean {
    const held = this.#held;
    this.#held = [];
    for (const message of held) this.#deliver(message);
    return held.length > 0;
  }

  #newSteps(): StepRunner {
    const { steps, log } = this.options;
    return new StepRunner({
      find: (workflowType, stepName) => steps.find(workflowType, stepName),
      send: (message) => this.#answer(message),
      givenUp: (attempt) => this.#leave(attemptOf(attempt)),
      log,
      payloadBytes: DEFAULT_LIMITS.payloadBytes,
      isEveryHeartbeatSent: true,
      leavesBuiltIns: true,
    });
  }

  #receive(message: ToWorker): void {
    switch (message.kind) {
      case 'turn': {
        const answer = this.#turns.to(message);
        if (answer.kind === 'turnFailed') this.options.onTurnFailed(message, answer.failure.message);
        this.#answer(answer);
        break;
      }
      case 'step':
        this.options.steps.called(message);
        this.#names.set(attemptOf(message), message.stepName);
        this.#steps.run(message);
        break;
      case 'ping':
        this.#deliver({ kind: 'pong' });
        break;
      case 'stopStep':
        this.#steps.stop(message, message.reason);
        break;
      case 'forget':
        this.#sandbox.forget(message.runId);
        break;
      default:
    }
    const evicted = this.#sandbox.takeEvicted();
    if (evicted.length > 0) this.#deliver({ kind: 'evicted', runIds: evicted });
  }

  #leave(attempt: string): void {
    const leave = () => {
      this.#left.add(attempt);
      this.#changed();
    };
    setTimeout(leave, CLEANUP_MS).unref();
  }

  #answer(message: FromWorker): void {
    if (!this.#session) return;
    this.#changed();
    switch (this.options.fateOf(message)) {
      case 'arrives':
        this.#deliver(message);
        return;
      case 'late':
        this.#held.push(message);
        return;
      case 'twice':
        this.#deliver(message);
        this.#held.push(message);
        return;
      case 'lost': {
        const session = this.#session;
        this.end();
        session.disconnected();
        this.options.onLost();
      }
    }
  }

  #deliver(message: FromWorker): void {
    const session = this.#session;
    this.options.time.soon(this.#owner, () => session?.receive(message));
  }

  #changed(): void {
    for (const resolve of this.#onChange.splice(0)) resolve();
  }
}

const attemptOf = ({ runId, scheduledEventId, attempt }: StepAttempt): string =>
  `${runId}/${scheduledEventId}/${attempt}`;
