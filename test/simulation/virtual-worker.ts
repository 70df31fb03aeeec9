/**
 * A worker that speaks to the engine as a real one does: registers, takes turns and steps, keeps runs in its cache,
 * begins turns by itself, and dies, freezes and forgets when the plan says so.
 */
import type { Cost } from '../../src/core/cost/cost.js';
import type { FromWorker, StepAttempt, StepTask, ToWorker, TurnTask } from '../../src/core/task.js';
import { workflow } from '../../src/embedded/scripted-worker.fixture.js';
import type { TaskSource } from '../../src/engine.js';
import type { Random } from '../../src/testing/random.js';
import { firstUnsent, nextTurn } from '../../src/worker/next-turn.js';
import { AbandonedTurnError } from '../../src/worker/sandbox/run/history.js';
import { costOf } from './ledger.js';
import { Link, type LinkFaults } from './link.js';
import { MAX_RUNS, REFUSED, TIME_LIMITS_MS } from './program.js';
import { OtherCode, ReplayMismatch, type StepInput, VirtualRun, workflowTypeOf } from './virtual-run.js';
import { Owner, type VirtualTime } from './virtual-time.js';

export const CATALOG = 'default';

const RETRY = {
  initialIntervalMs: 100,
  backoffCoefficient: 2,
  maximumIntervalMs: 1_000,
  maximumAttempts: MAX_RUNS,
  nonRetryableErrorTypes: [],
};

const WORKFLOWS = [undefined, ...TIME_LIMITS_MS].flatMap((timeLimitMs) => {
  const limit = { ...(timeLimitMs !== undefined && { executionTimeoutMs: timeLimitMs }) };
  return [
    workflow(workflowTypeOf({ failures: 0, timeLimitMs }), limit),
    workflow(workflowTypeOf({ failures: 1, timeLimitMs }), { ...limit, retry: RETRY }),
  ];
});

/** What the worker needs of the world around it. */
export interface Surroundings {
  time: VirtualTime;
  others: readonly string[];
  linkFaults(): LinkFaults;
  /** A turn of this run must not be answered but fail, as with code that does not fit. */
  takeTurnFailure(): boolean;
  /** It cannot make a turn, or does not take a step, which other code can. */
  misfits(): void;
  /** The engine has sent an attempt, at the moment it does. */
  attemptSent(task: StepTask): void;
  attemptStarted(task: StepTask): void;
  attemptCompleted(task: StepTask): void;
  /** What an attempt has spent is with the engine. */
  costsArrived(attempt: StepAttempt, costs: readonly Cost[] | undefined): void;
  trace(what: string): void;
  violated(message: string): void;
}

interface Attempt {
  task: StepTask;
  startedAt: number;
  /** Its answer is known, or nobody wants one. */
  isStopped: boolean;
  /** What it has spent and not said yet. */
  unsaid: Cost[];
}

const keyOf = ({
  runId,
  scheduledEventId,
  attempt,
}: {
  runId: string;
  scheduledEventId: number;
  attempt: number;
}) => `${runId}/${scheduledEventId}/${attempt}`;

export class VirtualWorker {
  /** Ends with this life of the worker: of its process, or of its connection. */
  readonly owner = new Owner();
  readonly #cache = new Map<string, VirtualRun>();
  readonly #attempts = new Map<string, Attempt>();
  /** Attempts that have said what they had spent before their answer. */
  readonly #spenders = new Set<string>();
  readonly #toEngine: Link<FromWorker>;
  readonly #fromEngine: Link<ToWorker>;
  readonly #session;
  #frozenUntil = 0;

  constructor(
    readonly name: string,
    engine: TaskSource,
    private readonly random: Random,
    private readonly around: Surroundings,
    options: {
      pool?: { id: string; size: number; spares: number };
      slots: number;
      isCaching: boolean;
      codeId: string;
    },
    /** The engine, or the plan, has ended it. */
    private readonly onEnd: (worker: VirtualWorker) => void,
  ) {
    const { time } = around;
    this.#isCaching = options.isCaching;
    this.codeId = options.codeId;
    this.#fromEngine = new Link(
      time,
      this.owner,
      random.of('down'),
      () => around.linkFaults(),
      (message) => this.#whenAwake(() => this.#receive(message)),
      ({ kind }) => ({ mayRepeat: kind === 'ping', mayOvertake: kind === 'ping' }),
    );
    this.#toEngine = new Link(
      time,
      this.owner,
      random.of('up'),
      () => around.linkFaults(),
      (message) => {
        if (message.kind === 'register') this.registeredAt = time.ms;
        if ('costs' in message) around.costsArrived(message, message.costs);
        this.#session.receive(message);
      },
      (message) => orderOf(message, this.#spenders),
    );
    this.#session = engine.connect(
      (message) => {
        if (!this.owner.isAlive) return;
        if (message.kind === 'step') around.attemptSent(message);
        this.#fromEngine.send(message);
      },
      () => this.end('dropped by the engine'),
    );
    this.#say({
      kind: 'register',
      catalog: CATALOG,
      workflows: WORKFLOWS,
      slots: { turns: options.slots, steps: options.slots },
      resultFormat: 'current',
      identity: name,
      codeId: options.codeId,
      workerId: name,
      pool: options.pool,
    });
  }

  readonly #isCaching: boolean;
  readonly codeId: string;
  /** When the engine has heard of it, by the monotonic clock. */
  registeredAt = Number.POSITIVE_INFINITY;
  isLeaving = false;

  #say(message: FromWorker): void {
    this.#whenAwake(() => this.#toEngine.send(message));
  }

  /** Answers an attempt, which has run for as long as its answer has not left. */
  #answer(attempt: Attempt, message: FromWorker): void {
    this.#whenAwake(() => {
      const costs = attempt.unsaid.splice(0);
      this.#toEngine.send(costs.length > 0 ? ({ ...message, costs } as FromWorker) : message);
      this.#attempts.delete(keyOf(attempt.task));
    });
  }

  #started(): StepAttempt[] {
    return [...this.#attempts.values()].map(({ task: { runId, scheduledEventId, attempt } }) => ({
      runId,
      scheduledEventId,
      attempt,
    }));
  }

  // ── what the plan does to it ─────────────────────────────────────────────────────────────────────

  /** Its connection ends, and what was on its way is lost; or its process, which has the time for last words. */
  end(why: string, words?: 'guilty' | 'unknown'): void {
    if (!this.owner.isAlive) return;
    this.around.trace(`worker ${this.name} ends: ${why}`);
    if (words) {
      this.#toEngine.flush();
      const started = this.#started();
      const culprit = words === 'guilty' && started[0] ? started[0] : undefined;
      this.#session.receive({ kind: 'lastWords', workerId: this.name, culprit, started, reason: why });
    }
    this.owner.isAlive = false;
    this.#session.disconnected();
    this.onEnd(this);
  }

  /** It takes nothing more, and is gone when it has had the time to end what it has. */
  leave(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    this.#say({ kind: 'draining' });
    this.#later(this.random.int(50, 3_000), () => this.end('it was to leave'));
  }

  /** It does nothing for a while, not even say that it is there. */
  freeze(ms: number, isWitnessed: boolean): void {
    this.around.trace(`worker ${this.name} freezes for ${ms}`);
    if (isWitnessed) {
      this.#session.receive({ kind: 'blocked', workerId: this.name, started: this.#started() });
    }
    this.#frozenUntil = Math.max(this.#frozenUntil, this.around.time.ms + ms);
  }

  /** Runs leave its cache; the engine hears of it, or finds out. */
  evict(isTold: boolean): void {
    const runIds = [...this.#cache.keys()].filter(() => this.random.chance(0.5));
    for (const runId of runIds) this.#cache.delete(runId);
    if (isTold && runIds.length > 0) this.#say({ kind: 'evicted', runIds });
  }

  #whenAwake(action: () => void): void {
    const waitMs = this.#frozenUntil - this.around.time.ms;
    if (waitMs > 0) this.around.time.after(waitMs, this.owner, () => this.#whenAwake(action));
    else action();
  }

  #later(ms: number, action: () => void): void {
    this.around.time.after(ms, this.owner, () => this.#whenAwake(action));
  }

  // ── what the engine says ─────────────────────────────────────────────────────────────────────────

  #receive(message: ToWorker): void {
    switch (message.kind) {
      case 'turn':
        this.#turn(message);
        return;
      case 'step':
        this.#step(message);
        return;
      case 'stopStep': {
        const attempt = this.#attempts.get(keyOf(message));
        if (!attempt || attempt.isStopped) return;
        if (message.reason === 'cancelled') {
          // Not every step listens.
          if (this.random.chance(0.3)) return;
          attempt.isStopped = true;
          const { runId, scheduledEventId, attempt: number } = message;
          this.#answer(attempt, { kind: 'stepCancelled', runId, scheduledEventId, attempt: number });
          return;
        }
        attempt.isStopped = true;
        this.#saySpent(attempt, attempt.unsaid.length);
        this.#attempts.delete(keyOf(message));
        return;
      }
      case 'forget':
        this.#cache.delete(message.runId);
        return;
      case 'ping':
        this.#say({ kind: 'pong' });
        return;
      case 'othersWait':
      case 'welcome':
        return;
    }
  }

  #turn(task: TurnTask): void {
    const { turnId, runId } = task;
    if (this.around.takeTurnFailure()) {
      this.#cache.delete(runId);
      const failure = { kind: 'application', type: 'Error', message: 'the code does not fit' } as const;
      this.#say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
      return;
    }
    const first = task.events[0]?.id;
    let run = this.#cache.get(runId);
    if (first === 1) {
      run = new VirtualRun(runId, task.workflowId, this.around.others, this.codeId);
      if (this.#isCaching) this.#cache.set(runId, run);
    }
    if (!run || (first !== undefined && first !== run.nextEventId)) {
      this.#cache.delete(runId);
      this.#say({ kind: 'turnMissed', turnId, runId });
      return;
    }
    try {
      const { commands, answers } = run.turn(task);
      // A turn takes a moment, and now and then so long that much arrives meanwhile.
      const ms = this.random.choose([
        [10, this.random.int(0, 3)],
        [2, this.random.int(3, 60)],
        [2, this.random.int(60, 1_500)],
      ]);
      this.around.trace(`turn ${turnId} of ${runId}: ${commands.map(({ kind }) => kind).join()}`);
      this.#later(ms, () => this.#say({ kind: 'turnCompleted', turnId, runId, commands, answers }));
    } catch (error) {
      if (error instanceof AbandonedTurnError) {
        this.#cache.delete(runId);
        this.#say({ kind: 'turnMissed', turnId, runId });
      } else if (error instanceof OtherCode) {
        this.around.misfits();
        this.#cache.delete(runId);
        const failure = { kind: 'application', type: 'Error', message: error.message } as const;
        this.#say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
      } else if (error instanceof ReplayMismatch) this.around.violated(`I5: ${error.message}`);
      else throw error;
    }
  }

  #step(task: StepTask): void {
    const { ms, fails, heartbeats, onlyFor, spends = [] } = JSON.parse(task.input[0]!) as StepInput;
    if (onlyFor !== undefined && onlyFor !== this.codeId) {
      this.around.misfits();
      const { runId, scheduledEventId, attempt } = task;
      const failure = { kind: 'application', type: REFUSED, message: onlyFor, nonRetryable: true } as const;
      this.#say({ kind: 'stepFailed', runId, scheduledEventId, attempt, failure, refusesInput: true });
      return;
    }
    const unsaid = spends.map((spend, index) => costOf(task, spend, index));
    const attempt: Attempt = { task, startedAt: this.around.time.ms, isStopped: false, unsaid };
    this.#attempts.set(keyOf(task), attempt);
    this.around.attemptStarted(task);
    if (heartbeats) this.#beat(attempt);
    if (unsaid.length > 0 && this.random.chance(0.4)) {
      this.#later(this.random.int(0, ms), () => {
        if (!attempt.isStopped) this.#saySpent(attempt, this.random.int(1, unsaid.length));
      });
    }
    this.#later(ms, () => {
      if (attempt.isStopped) return;
      attempt.isStopped = true;
      const { runId, scheduledEventId, attempt: number } = task;
      if (number <= fails) {
        const failure = { kind: 'application', type: 'Error', message: `attempt ${number}` } as const;
        this.#answer(attempt, { kind: 'stepFailed', runId, scheduledEventId, attempt: number, failure });
        return;
      }
      this.#complete(attempt);
    });
  }

  /** Before the answer of the attempt, or in its place. */
  #saySpent({ task, unsaid }: Attempt, count: number): void {
    const costs = unsaid.splice(0, count);
    if (costs.length === 0) return;
    const { runId, scheduledEventId, attempt } = task;
    this.#spenders.add(keyOf(task));
    this.#say({ kind: 'stepCosts', runId, scheduledEventId, attempt, costs });
  }

  #complete(completed: Attempt): void {
    const { task, startedAt } = completed;
    const { runId, scheduledEventId, attempt, next } = task;
    this.around.attemptCompleted(task);
    const result = JSON.stringify({ attempt, by: this.name });
    const answer = { kind: 'stepCompleted', runId, scheduledEventId, attempt, result } as const;
    const run = this.#cache.get(runId);
    if (!next || run?.nextEventId !== firstUnsent(task) || this.random.chance(0.2)) {
      this.#answer(completed, answer);
      return;
    }
    const begunAt = next.sentAt + (this.around.time.ms - startedAt);
    this.#answer(completed, { ...answer, begunAt });
    this.#turn(nextTurn(task, next, CATALOG, result, begunAt));
  }

  #beat(attempt: Attempt): void {
    this.#later(1_000, () => {
      if (attempt.isStopped || !this.#attempts.has(keyOf(attempt.task))) return;
      const { runId, scheduledEventId, attempt: number } = attempt.task;
      this.#say({ kind: 'stepHeartbeat', runId, scheduledEventId, attempt: number, details: '1' });
      this.#beat(attempt);
    });
  }
}

/**
 * The engine takes an answer once, so it may come again; one that says that a turn was begun comes before that turn's, and
 * one whose attempt has spoken before comes after that.
 */
function orderOf(
  message: FromWorker,
  spenders: ReadonlySet<string>,
): { mayRepeat: boolean; mayOvertake: boolean } {
  switch (message.kind) {
    case 'stepCompleted':
      return {
        mayRepeat: true,
        mayOvertake: message.begunAt === undefined && !spenders.has(keyOf(message)),
      };
    case 'stepFailed':
    case 'stepCancelled':
      return { mayRepeat: true, mayOvertake: !spenders.has(keyOf(message)) };
    case 'pong':
      return { mayRepeat: true, mayOvertake: true };
    case 'turnCompleted':
    case 'turnFailed':
    case 'stepHeartbeat':
      return { mayRepeat: true, mayOvertake: false };
    default:
      return { mayRepeat: false, mayOvertake: false };
  }
}
