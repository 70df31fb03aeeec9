/**
 * Runs the code of steps.
 *
 * 1. Every task gets exactly one answer, unless it was stopped for a reason after which nobody waits for one.
 * 2. Nothing that a step does, returns or throws escapes as anything but its own answer.
 * 3. A step that ignores its AbortSignal runs on, and whatever it then says is dropped.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Failure, toFailure } from '../core/failure.js';
import { decodePayload, encodePayload, type Payload } from '../core/json.js';
import type { FromWorker, StepAttempt, StepStopReason, StepTask } from '../core/task.js';
import type { StepDefinition } from '../sdk/definition.js';
import { CancelledError, isCancellation, TerminatedError, TimeoutError } from '../sdk/errors.js';
import { executeStep } from '../sdk/step.js';
import { provideStepContext } from '../sdk/step-context.js';
import { withoutOwnFrames } from './own-frames.js';
import { isLargerThan, PayloadTooLargeError } from './payload-size.js';
import { RunningStep, type RunningStepOptions } from './running-step.js';

export interface StepRunnerOptions extends RunningStepOptions {
  find(workflowType: string, stepName: string): StepDefinition | undefined;
  /** Begins the turn that follows, if that is possible; answers with its time. */
  begin?(task: StepTask, result: Payload | undefined, elapsedMs: number): number | undefined;
  /** Told of every step that starts and ends; answers with a ticket for the end. */
  watch?: { begin(label: string, timeoutMs: number): number; end(ticket: number): void };
}

/** The reason of the AbortSignal when the worker itself ends or loses its server. */
export class WorkerStoppedError extends Error {
  override readonly name = 'WorkerStoppedError';
}

/** Longer messages and traces say nothing more to a reader, and every failure is kept in a history. */
const MAX_MESSAGE_LENGTH = 20_000;
const MAX_STACK_LENGTH = 10_000;

const storage = new AsyncLocalStorage<RunningStep>();
provideStepContext(() => storage.getStore());

export class StepRunner {
  readonly #running = new Map<string, RunningStep>();
  #whenIdle: (() => void)[] = [];

  constructor(private readonly options: StepRunnerOptions) {}

  get running(): number {
    return this.#running.size;
  }

  run(task: StepTask): void {
    const definition = this.options.find(task.workflowType, task.stepName);
    if (!definition) {
      const { runId, scheduledEventId, attempt } = task;
      this.options.send({
        kind: 'stepFailed',
        failure: notRegistered(task),
        runId,
        scheduledEventId,
        attempt,
      });
      return;
    }
    const step = new RunningStep(task, this.options);
    const key = keyOf(task);
    // A newer attempt of the same step: the older one was given up by the engine.
    this.#running
      .get(key)
      ?.abort(new TimeoutError('another attempt of this step has started'), { isAwaited: false });
    this.#running.set(key, step);
    step.ticket = this.options.watch?.begin(
      `step "${task.stepName}" of ${task.workflowType} ${task.workflowId}`,
      task.timeoutMs,
    );
    void storage
      .run(step, () => this.#execute(step, definition))
      .then((answer) => {
        this.#unwatch(step);
        if (this.#running.get(key) === step) this.#running.delete(key);
        if (step.isAwaited) this.#answer(step, answer);
        step.ended();
        if (this.#running.size === 0) for (const idle of this.#whenIdle.splice(0)) idle();
      });
  }

  stop(attempt: StepAttempt, reason: StepStopReason): void {
    const step = this.#running.get(keyOf(attempt));
    if (!step || step.attempt !== attempt.attempt) return;
    switch (reason) {
      case 'cancelled':
        step.abort(new CancelledError('the step was cancelled'), { isAwaited: true, isCancelled: true });
        break;
      case 'timedOut':
        step.abort(new TimeoutError('the step timed out'), { isAwaited: false });
        break;
      case 'runClosed':
        step.abort(new TerminatedError('the run of the step is closed'), { isAwaited: false });
        break;
    }
  }

  /** Aborts all steps. Their answers are sent only if somebody is there to hear them. */
  stopAll(reason: string, isAwaited: boolean): void {
    for (const step of this.#running.values()) step.abort(new WorkerStoppedError(reason), { isAwaited });
    if (!isAwaited) this.#running.clear();
  }

  /** Aborts what has used up its time; the engine counts that time too, and gives the next attempt itself. */
  stopOverdue(now = performance.now()): void {
    for (const step of this.#running.values()) {
      if (step.deadline > now) continue;
      step.abort(new TimeoutError('the step timed out', 'START_TO_CLOSE'), { isAwaited: false });
      // It does not block the worker, or this code would not run.
      this.#unwatch(step);
    }
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#running.size === 0) resolve();
      else this.#whenIdle.push(resolve);
    });
  }

  #answer({ task, elapsedMs }: RunningStep, answer: FromWorker): void {
    if (answer.kind === 'stepCompleted') {
      answer.begunAt = this.options.begin?.(task, answer.result, elapsedMs);
    }
    this.options.send(answer);
  }

  #unwatch(step: RunningStep): void {
    if (step.ticket !== undefined) this.options.watch?.end(step.ticket);
    step.ticket = undefined;
  }

  async #execute(step: RunningStep, definition: StepDefinition): Promise<FromWorker> {
    const { task } = step;
    const { runId, scheduledEventId, attempt } = task;
    try {
      const output = await executeStep(definition, decodePayload(task.input[0]));
      const result = encodePayload(output, `the result of step "${task.stepName}"`);
      if (result !== undefined && isLargerThan(result, this.options.payloadBytes)) {
        throw new PayloadTooLargeError(
          `the result of step "${task.stepName}"`,
          result,
          this.options.payloadBytes,
        );
      }
      return { kind: 'stepCompleted', result, runId, scheduledEventId, attempt };
    } catch (error) {
      if (step.isCancelled && (error === step.abortReason || isAbort(error))) {
        return { kind: 'stepCancelled', runId, scheduledEventId, attempt };
      }
      // The next attempt starts from the latest details, so they must not be lost to the throttle.
      step.flushHeartbeat();
      return { kind: 'stepFailed', failure: this.#failureOf(error, task), runId, scheduledEventId, attempt };
    }
  }

  #failureOf(error: unknown, task: StepTask): Failure {
    const failure = describe(error);
    failure.activityType = `${task.workflowType}#${task.stepName}`;
    failure.attempt = task.attempt;
    bound(failure, this.options.payloadBytes);
    return failure;
  }
}

const keyOf = ({ runId, scheduledEventId }: StepAttempt): string => `${runId}/${scheduledEventId}`;

const isAbort = (error: unknown): boolean =>
  isCancellation(error) || (error instanceof Error && error.name === 'AbortError');

/** What was thrown may be anything, such as an object whose getters throw. */
function describe(error: unknown): Failure {
  try {
    return toFailure(error);
  } catch {
    return {
      kind: 'application',
      type: 'Error',
      message: 'the step threw something that cannot be described',
    };
  }
}

function bound(failure: Failure, payloadBytes: number): void {
  for (let at: Failure | undefined = failure; at; at = at.cause) {
    at.message = cut(at.message, MAX_MESSAGE_LENGTH);
    if (at.stackTrace !== undefined) at.stackTrace = cut(withoutOwnFrames(at.stackTrace), MAX_STACK_LENGTH);
    if (at.properties && isLargerThan(JSON.stringify(at.properties), payloadBytes / 10)) delete at.properties;
  }
}

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}… (${text.length} characters)` : text;

function notRegistered({ workflowType, stepName, attempt }: StepTask): Failure {
  return {
    kind: 'application',
    type: 'StepNotRegistered',
    message: `this worker has no step "${stepName}" for workflow "${workflowType}". Its steps module may have been renamed or removed while the run was under way`,
    activityType: `${workflowType}#${stepName}`,
    attempt,
  };
}
