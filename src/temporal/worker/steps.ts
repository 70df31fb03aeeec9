/**
 * Steps as Temporal's activities: the embedded worker's own step runner executes them.
 *
 * Temporal tells an activity of its cancellation, of its time that is up and of its run that is closed only in answer
 * to a heartbeat. So a running step gives signs of life without its author's doing, unless the author has said how
 * often the step itself has to: they also say early that a worker is gone.
 */
import { CompleteAsyncError, type Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, RawValue } from '@temporalio/common';
import type { ActivityExecuteInput } from '@temporalio/worker';
import type { Failure } from '../../core/failure.js';
import type { Payload } from '../../core/json.js';
import type { FromWorker, StepAttempt, StepTask } from '../../core/task.js';
import { StepRunner, type StepRunnerOptions } from '../../worker/step-runner.js';
import { LIVENESS_HEADER, stepNameOf } from '../conventions.js';
import { failureToProto } from '../translate/failure.js';
import { toPayload } from '../translate/payload.js';
import type { Signs, SignsOfLife } from './signs-of-life.js';

interface UnderWay {
  context: Context;
  resolve(result: RawValue): void;
  reject(error: Error): void;
  /** What the next attempt would start from. */
  lastHeartbeat: Payload | undefined;
  /** None for a step that gives its own. */
  signs: Signs | undefined;
}

export class Steps {
  readonly #runner: StepRunner;
  readonly #underWay = new Map<string, UnderWay>();
  #lastOwnNumber = 0;

  constructor(
    options: Omit<StepRunnerOptions, 'send' | 'givenUp'>,
    private readonly signs: SignsOfLife,
  ) {
    this.#runner = new StepRunner({
      ...options,
      send: (message) => this.#answered(message),
      // Temporal does not wait for it either: it has counted the same time, or has closed the run.
      givenUp: (attempt) => this.#take(attempt)?.reject(new CompleteAsyncError()),
    });
  }

  /** One attempt, from Temporal's call to its answer. */
  async execute(context: Context, input: ActivityExecuteInput): Promise<unknown> {
    const task = this.#taskOf(context, input);
    const key = keyOf(task);
    const ended = new AbortController();
    const { lastHeartbeat } = task;
    const beats = () => {
      const underWay = this.#underWay.get(key);
      if (underWay) beat(underWay);
    };
    // Before the step begins, which may block this thread at once.
    const signs =
      LIVENESS_HEADER in input.headers ? this.signs.give(context, lastHeartbeat, beats) : undefined;
    const result = new Promise<RawValue>((resolve, reject) => {
      this.#underWay.set(key, { context, resolve, reject, lastHeartbeat, signs });
    });
    context.cancellationSignal.addEventListener('abort', () => this.#stop(context, task), {
      signal: ended.signal,
    });
    this.#runner.run(task);
    try {
      return await result;
    } finally {
      signs?.end();
      ended.abort();
      this.#underWay.delete(key);
    }
  }

  idle(): Promise<void> {
    return this.#runner.idle();
  }

  stopAll(reason: string): void {
    this.#runner.stopAll(reason, true);
  }

  stopOverdue(): void {
    this.#runner.stopOverdue();
  }

  /** The process ends: attempts that do not end by themselves are reported as failed, so that others begin at once. */
  abandon(reason: string): void {
    for (const { reject } of this.#underWay.values()) {
      reject(failed({ kind: 'application', type: 'WorkerStoppedError', message: reason }));
    }
  }

  #taskOf({ info }: Context, { args }: ActivityExecuteInput): StepTask {
    const { activityId, activityType, attempt, scheduleToCloseTimeoutMs, scheduledTimestampMs } = info;
    const { workflowId, runId } = info.workflowExecution ?? { workflowId: '', runId: '' };
    const leftMs =
      scheduleToCloseTimeoutMs > 0
        ? scheduledTimestampMs + scheduleToCloseTimeoutMs - Date.now()
        : Number.POSITIVE_INFINITY;
    const startToCloseMs = info.startToCloseTimeoutMs || Number.POSITIVE_INFINITY;
    return {
      kind: 'step',
      workflowId,
      runId,
      workflowType:
        activityType.slice(0, Math.max(0, activityType.indexOf('#'))) || (info.workflowType ?? ''),
      stepName: stepNameOf(activityType),
      scheduledEventId: this.#numberOf(activityId),
      attempt,
      input: args[0] === undefined ? [] : [JSON.stringify(args[0])],
      timeoutMs: Math.max(1, Math.min(startToCloseMs, leftMs)),
      ...(info.heartbeatTimeoutMs && { heartbeatTimeoutMs: info.heartbeatTimeoutMs }),
      ...(info.heartbeatDetails !== undefined && { lastHeartbeat: JSON.stringify(info.heartbeatDetails) }),
      idempotencyKey: `${runId}/${activityId}`,
    };
  }

  /** Our runs number their steps; those of other makers may name theirs as they like. */
  #numberOf(activityId: string): number {
    return /^\d{1,15}$/.test(activityId) ? Number(activityId) : --this.#lastOwnNumber;
  }

  #stop({ cancellationDetails }: Context, task: StepTask): void {
    // When the worker itself ends, `drain` says for how long steps may still run.
    if (cancellationDetails?.workerShutdown) return;
    if (cancellationDetails?.timedOut) this.#runner.stop(task, 'timedOut');
    else if (cancellationDetails?.notFound) this.#runner.stop(task, 'runClosed');
    else this.#runner.stop(task, 'cancelled');
  }

  #answered(message: FromWorker): void {
    switch (message.kind) {
      case 'stepCompleted':
        this.#take(message)?.resolve(raw(message.result));
        break;
      case 'stepFailed':
        this.#take(message)?.reject(failed(message.failure));
        break;
      case 'stepCancelled':
        this.#take(message)?.reject(new CancelledFailure('the step was cancelled'));
        break;
      case 'stepHeartbeat': {
        const underWay = this.#underWay.get(keyOf(message));
        if (!underWay) break;
        underWay.lastHeartbeat = message.details;
        underWay.signs?.repeat(message.details);
        beat(underWay);
        break;
      }
      default:
    }
  }

  #take(attempt: StepAttempt): UnderWay | undefined {
    const key = keyOf(attempt);
    const underWay = this.#underWay.get(key);
    this.#underWay.delete(key);
    return underWay;
  }
}

/** A mere sign of life repeats the last details. */
function beat({ context, lastHeartbeat }: UnderWay): void {
  context.heartbeat(lastHeartbeat === undefined ? undefined : raw(lastHeartbeat));
}

const raw = (text: Payload | undefined): RawValue => RawValue.fromPayload(toPayload(text) as never);

/** An error that Temporal's worker turns into exactly this failure. */
function failed(failure: Failure): Error {
  const error = ApplicationFailure.create({
    message: failure.message,
    type: failure.type,
    nonRetryable: failure.nonRetryable === true,
  });
  error.failure = failureToProto(failure) as never;
  return error;
}

const keyOf = ({ runId, scheduledEventId, attempt }: StepAttempt): string =>
  `${runId}/${scheduledEventId}/${attempt}`;
