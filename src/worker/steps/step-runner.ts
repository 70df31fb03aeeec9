/**
 * Runs the code of steps.
 *
 * 1. Every task gets exactly one answer, unless it was stopped for a reason after which nobody waits for one.
 * 2. Nothing that a step does, returns or throws escapes as anything but its own answer.
 * 3. A step that ignores its AbortSignal runs on, and whatever it then says is dropped.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import { faultPoint } from '../../core/fault-point.js';
import { type Failure, toFailure } from '../../core/history/failure.js';
import { retryAfterOf } from '../../core/run/retry.js';
import type { FromWorker, StepAttempt, StepStopReason, StepTask } from '../../core/task.js';
import { decodePayload, encodePayload, type Payload } from '../../core/values/json.js';
import type { StepDefinition } from '../../sdk/definition.js';
import {
  CancelledError,
  isCancellation,
  TerminatedError,
  TimeoutError,
  ValidationError,
} from '../../sdk/errors.js';
import { executeParsed, parseStepInput } from '../../sdk/step.js';
import { provideStepContext } from '../../sdk/step-context.js';
import type { AttemptSpans } from '../../telemetry/attempt-spans.js';
import { withoutOwnFrames } from '../loading/own-frames.js';
import { letOthersLook } from '../watchdog/running-code.js';
import { stepKey } from '../watchdog/watchdog-memory.js';
import { BuiltIns } from './built-ins.js';
import { isLargerThan, PayloadTooLargeError } from './payload-size.js';
import { RunningStep, type RunningStepOptions, WorkerStoppedError } from './running-step.js';

export { WorkerStoppedError } from './running-step.js';

export interface StepRunnerOptions extends RunningStepOptions {
  find(workflowType: string, stepName: string): StepDefinition | undefined;
  /** Begins the turn that follows, if that is possible; answers with its time. */
  begin?(task: StepTask, result: Payload | undefined, elapsedMs: number): number | undefined;
  /** Tells OpenTelemetry of attempts, where anybody listens. */
  spans?: AttemptSpans;
  /** The process is somebody else's, such as a test's, and so are its built-ins. */
  leavesBuiltIns?: boolean;
  /** Told of every step that starts and ends; answers with a ticket for the end. */
  watch?: { begin(task: StepTask): number; end(ticket: number): void };
}

const storage = new AsyncLocalStorage<RunningStep>();
provideStepContext(() => storage.getStore());
letOthersLook(() => {
  const step = storage.getStore();
  return step && stepKey(step.task);
});

/** Of the steps under way that a line of the log names. */
const MAX_NAMED = 5;

export class StepRunner {
  readonly #running = new Map<string, RunningStep>();
  #whenIdle: (() => void)[] = [];
  readonly #builtIns: BuiltIns | undefined;

  constructor(private readonly options: StepRunnerOptions) {
    if (!options.leavesBuiltIns) this.#builtIns = new BuiltIns();
  }

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
    step.ticket = this.options.watch?.begin(task);
    const span = this.options.spans?.begin(task);
    step.span = span;
    const execute = () => this.#execute(step, definition);
    const answered = storage.run(step, span ? () => span.within(execute) : execute);
    this.#afterUserCode(step);
    void answered.then((answer) => {
      if (answer.kind === 'stepFailed') step.endSpan('failed', answer.failure.type);
      else step.endSpan(answer.kind === 'stepCompleted' ? 'completed' : 'cancelled');
      if (this.#running.get(key) === step) this.#running.delete(key);
      if (step.isAwaited) this.#answer(step, withCosts(answer, step));
      // Until its answer has left with this round it may be lost with the process: last words must not call it unstarted.
      setImmediate(() => this.#unwatch(step));
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
    this.#tell(this.#builtIns?.restoreAll(), {});
    for (const step of this.#running.values()) {
      if (step.deadline > now) continue;
      step.abort(new TimeoutError('the step timed out', 'START_TO_CLOSE'), { isAwaited: false });
      // It does not block the worker, or this code would not run.
      this.#unwatch(step);
    }
  }

  /** The step whose code is running at this moment, and all that are under way. */
  blame(): { culprit: StepAttempt | undefined; started: StepAttempt[] } {
    const step = storage.getStore();
    return {
      culprit: step && attemptOf(step),
      started: [...this.#running.values()].map(attemptOf),
    };
  }

  /** What a worker says that waits for its steps; undefined when there are none. */
  describeWait(graceMs: number): string | undefined {
    if (this.#running.size === 0) return undefined;
    const steps = [...this.#running.values()]
      .slice(0, MAX_NAMED)
      .map(({ task }) => `"${task.stepName}" of ${task.workflowId}`);
    const more = this.#running.size - steps.length;
    return `this worker ends, and waits up to ${graceMs / 1_000} s for what it has under way: step ${steps.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#running.size === 0) resolve();
      else this.#whenIdle.push(resolve);
    });
  }

  #answer({ task, elapsedMs }: RunningStep, answer: FromWorker): void {
    faultPoint('workerStepDone');
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
    let hasInput = false;
    try {
      const input = await parseStepInput(definition, decodePayload(task.input[0]));
      hasInput = true;
      const output = await executeParsed(definition, input);
      this.#afterUserCode(step);
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
      this.#afterUserCode(step);
      if (step.isCancelled && (error === step.abortReason || isAbort(error))) {
        return { kind: 'stepCancelled', runId, scheduledEventId, attempt };
      }
      // The next attempt starts from the latest details, so they must not be lost to the throttle.
      step.flushHeartbeat();
      const failure = this.#failureOf(error, task);
      return {
        kind: 'stepFailed',
        failure,
        retryAfterMs: retryAfterOf(error),
        ...(!hasInput && error instanceof ValidationError && { refusesInput: true as const }),
        runId,
        scheduledEventId,
        attempt,
      };
    }
  }

  /** All steps and the worker itself stand on the same built-ins. */
  #afterUserCode({ task }: RunningStep): void {
    const replaced = this.#builtIns?.restoreVital();
    if (replaced)
      this.#tell(replaced, { step: task.stepName, workflowId: task.workflowId, runId: task.runId });
  }

  #tell(replaced: string[] | undefined, fields: object): void {
    if (!replaced) return;
    this.options.log.error(
      fields,
      `built-ins were replaced while steps were running (${replaced.join(', ')}) and have been put back: all steps of a worker share them`,
    );
  }

  #failureOf(error: unknown, task: StepTask): Failure {
    const failure = toFailure(error);
    failure.activityType = `${task.workflowType}#${task.stepName}`;
    failure.attempt = task.attempt;
    for (let at: Failure | undefined = failure; at; at = at.cause) {
      if (at.stackTrace !== undefined) at.stackTrace = withoutOwnFrames(at.stackTrace);
    }
    return failure;
  }
}

/** The outcome carries what the attempt has said since it last sent anything. */
function withCosts(answer: FromWorker, step: RunningStep): FromWorker {
  const costs = step.takeCosts();
  return costs ? ({ ...answer, costs } as FromWorker) : answer;
}

const keyOf = ({ runId, scheduledEventId }: StepAttempt): string => `${runId}/${scheduledEventId}`;

const attemptOf = ({ task: { runId, scheduledEventId, attempt } }: RunningStep): StepAttempt => ({
  ...{ runId, scheduledEventId, attempt },
});

const isAbort = (error: unknown): boolean => isCancellation(error) || toFailure(error).type === 'AbortError';

function notRegistered({ workflowType, stepName, attempt }: StepTask): Failure {
  return {
    kind: 'application',
    type: 'StepNotRegistered',
    message: `this worker has no step "${stepName}" for workflow "${workflowType}". Its steps module may have been renamed or removed while the run was under way`,
    activityType: `${workflowType}#${stepName}`,
    attempt,
  };
}
