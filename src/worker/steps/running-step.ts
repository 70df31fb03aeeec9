/** One attempt of a step under way: what its code sees of itself, and what the worker may do to it. */
import { AsyncResource } from 'node:async_hooks';
import type { Cost, CostInput } from '../../core/cost/cost.js';
import type { Log } from '../../core/log.js';
import type { FromWorker, StepAttempt, StepTask } from '../../core/task.js';
import { decodePayload, encodePayload, type Payload } from '../../core/values/json.js';
import { TimeoutError } from '../../sdk/errors.js';
import { checkedCost, type Logger, type StepContext } from '../../sdk/step-context.js';
import type { AttemptOutcome, AttemptSpan } from '../../telemetry/attempt-spans.js';
import { isLargerThan, PayloadTooLargeError } from './payload-size.js';
import { SaidCosts } from './said-costs.js';

/** Heartbeats leave at most this often; those in between are replaced by the latest. */
const MIN_HEARTBEAT_INTERVAL_MS = 1_000;

/** The reason of the AbortSignal when the worker itself ends or loses its server. */
export class WorkerStoppedError extends Error {
  override readonly name = 'WorkerStoppedError';
}

export interface RunningStepOptions {
  send(message: FromWorker): void;
  /** From now on nobody waits for the answer of this attempt, and none is sent. */
  givenUp?(attempt: StepAttempt): void;
  log: Log;
  /** Bytes of one result or of the details of a heartbeat. */
  payloadBytes: number;
  /** Every heartbeat is sent, where its way costs nothing; else those of one second are sent as one. */
  isEveryHeartbeatSent?: boolean;
}

export class RunningStep implements StepContext {
  readonly #startedAt = performance.now();
  readonly deadline: number;
  /** Of the watchdog, while it watches the step. */
  ticket: number | undefined;
  /** Of OpenTelemetry, until it is told how the attempt has ended. */
  span: AttemptSpan | undefined;
  #controller: AbortController | undefined;
  /** In the context of the step: listeners are its code, and who breaks the process there is to be known. */
  #fire: ((reason: Error) => void) | undefined;
  #abortReason: Error | undefined;
  #isAwaited = true;
  #isCancelled = false;
  #hasEnded = false;
  #heartbeatDue: { details: Payload | undefined } | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;
  /** Made with the first thing that the step says: most say nothing. */
  #costs: SaidCosts | undefined;
  #isLateKnown = false;

  constructor(
    readonly task: StepTask,
    private readonly options: RunningStepOptions,
  ) {
    this.deadline = this.#startedAt + task.timeoutMs;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#fire = AsyncResource.bind((reason: Error) => controller.abort(reason));
      if (this.#abortReason) controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get attempt(): number {
    return this.task.attempt;
  }
  get idempotencyKey(): string {
    return this.task.idempotencyKey;
  }
  get workflowId(): string {
    return this.task.workflowId;
  }
  get runId(): string {
    return this.task.runId;
  }
  get stepName(): string {
    return this.task.stepName;
  }
  get lastHeartbeat(): unknown {
    return decodePayload(this.task.lastHeartbeat);
  }

  /** A function of its own, since authors take it out of the context. */
  get heartbeat(): (details?: unknown) => void {
    return (details) => this.#beat(details);
  }

  /** A function of its own, as `heartbeat` is. */
  get cost(): (cost: CostInput) => void {
    return (given) => {
      const cost = checkedCost(given);
      if (this.#hasEnded || !this.#isAwaited) {
        this.#refuseLate(cost);
        return;
      }
      this.#costs ??= new SaidCosts((costs) => this.#sendCosts(costs), this.deadline);
      this.#costs.add(cost);
    };
  }

  /** Nobody could count it alike on every engine. It is said once, and throws nothing: the step's leftovers have no caller. */
  #refuseLate({ amount, currency }: Cost): void {
    if (this.#isLateKnown) return;
    this.#isLateKnown = true;
    const when = this.#hasEnded ? 'had ended' : 'was given up (timed out, cancelled, or its run closed)';
    this.log.warn(
      `step "${this.stepName}" said that it spent ${amount} ${currency} after its attempt ${when}: this and what it says from now on is not counted. Say what is spent as soon as it is, and before the step returns`,
    );
  }

  /** What was said and not sent yet: the outcome carries it. */
  takeCosts(): Cost[] | undefined {
    return this.#costs?.take();
  }

  get log(): Logger {
    const { workflowId, runId, stepName, attempt } = this;
    const say =
      (level: keyof Log) =>
      (message: string, fields: object = {}) =>
        this.options.log[level]({ ...fields, workflowId, runId, step: stepName, attempt }, message);
    return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  }

  /** Whether somebody waits for the answer. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get abortReason(): Error | undefined {
    return this.#abortReason;
  }

  /** Fires the signal, the first time; a later reason only decides whether an answer is still awaited. */
  abort(
    reason: Error,
    { isAwaited, isCancelled = false }: { isAwaited: boolean; isCancelled?: boolean },
  ): void {
    if (!isAwaited && this.#isAwaited) {
      this.#costs?.flush();
      this.#isAwaited = false;
      // What it does from now on counts for nothing, however long it goes on.
      this.endSpan(outcomeOf(reason));
      this.options.givenUp?.(this.task);
    }
    if (this.#abortReason) return;
    this.#abortReason = reason;
    this.#isCancelled = isCancelled;
    this.#fire?.(reason);
  }

  endSpan(outcome: AttemptOutcome, errorType?: string): void {
    this.span?.end(outcome, errorType);
    this.span = undefined;
  }

  /** Nothing that the step's leftovers do is heard any more. */
  ended(): void {
    this.#hasEnded = true;
    clearTimeout(this.#heartbeatTimer);
    this.#costs?.take();
  }

  flushHeartbeat(): void {
    clearTimeout(this.#heartbeatTimer);
    this.#heartbeatTimer = undefined;
    const due = this.#heartbeatDue;
    this.#heartbeatDue = undefined;
    if (due && this.#isAwaited) this.#sendHeartbeat(due.details);
  }

  #beat(details: unknown): void {
    if (this.#hasEnded || !this.#isAwaited) return;
    const payload = encodePayload(details, `the heartbeat details of step "${this.stepName}"`);
    if (payload !== undefined && isLargerThan(payload, this.options.payloadBytes)) {
      throw new PayloadTooLargeError(
        `the heartbeat details of step "${this.stepName}"`,
        payload,
        this.options.payloadBytes,
      );
    }
    if (this.#heartbeatTimer) {
      this.#heartbeatDue = { details: payload };
      return;
    }
    this.#sendHeartbeat(payload);
    if (!this.options.isEveryHeartbeatSent) this.#throttle();
  }

  #throttle(): void {
    const { heartbeatTimeoutMs = Number.POSITIVE_INFINITY } = this.task;
    this.#heartbeatTimer = setTimeout(
      () => {
        this.#heartbeatTimer = undefined;
        if (!this.#heartbeatDue) return;
        this.flushHeartbeat();
        this.#throttle();
      },
      Math.min(MIN_HEARTBEAT_INTERVAL_MS, heartbeatTimeoutMs / 2),
    );
    this.#heartbeatTimer.unref();
  }

  #sendCosts(costs: Cost[]): void {
    const { runId, scheduledEventId, attempt } = this.task;
    this.options.send({ kind: 'stepCosts', runId, scheduledEventId, attempt, costs });
  }

  #sendHeartbeat(details: Payload | undefined): void {
    const { runId, scheduledEventId, attempt } = this.task;
    this.options.send({
      kind: 'stepHeartbeat',
      runId,
      scheduledEventId,
      attempt,
      ...(details === undefined ? {} : { details }),
    });
  }
}

/** Of an attempt that nobody waits for any more. */
function outcomeOf(reason: Error): AttemptOutcome {
  if (reason instanceof TimeoutError) return 'timedOut';
  return reason instanceof WorkerStoppedError ? 'lost' : 'cancelled';
}
