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
import { bounded, type Cost, type CostRecord } from '../../core/cost/cost.js';
import type { Failure } from '../../core/history/failure.js';
import type { FromWorker, StepAttempt, StepTask } from '../../core/task.js';
import type { Payload } from '../../core/values/json.js';
import type { FailedAttempt } from '../../engine.js';
import { StepRunner, type StepRunnerOptions } from '../../worker/steps/step-runner.js';
import {
  activityTypeOf,
  LIVENESS_HEADER,
  PURSE,
  PURSE_HEADER,
  PURSE_WORKFLOW_TYPE,
  type Spending,
  stepNameOf,
} from '../cluster/conventions.js';
import { fromHeartbeat, heartbeatDetails, payloadWithCosts, withCosts } from '../translate/costs.js';
import { failureToProto } from '../translate/failure.js';
import { decoded, toPayload } from '../translate/payload.js';
import { toDuration } from '../translate/proto.js';
import { traceContextIn } from '../translate/tracer-header.js';
import type { Budgets } from './budgets.js';
import { failedAttempt } from './failed-attempt.js';
import type { HandBack } from './hand-back.js';
import type { WhilePaused } from './paused-runs.js';
import { SIGNS_PER_TIMEOUT, type Signs, type SignsOfLife } from './signs-of-life.js';
import { attemptTimeoutMs } from './step-deadline.js';

/** The steps of a purse. */
const IS_IN_USE = activityTypeOf(PURSE_WORKFLOW_TYPE, PURSE.isInUse);
const WAKE = activityTypeOf(PURSE_WORKFLOW_TYPE, PURSE.wake);

interface UnderWay {
  context: Context;
  resolve(result: RawValue): void;
  reject(error: Error): void;
  /** What the next attempt would start from. */
  lastHeartbeat: Payload | undefined;
  /** None for a step that gives its own. */
  signs: Signs | undefined;
  /** What this attempt and those before it have spent. */
  costs: CostRecord[];
  /** Of a run that has a budget. */
  purseId: string | undefined;
  /** The purse has heard of all that was spent. */
  told: Promise<void>;
  /** What it may not have heard yet. */
  untold: Spending[];
  tellings: number;
}

export class Steps {
  readonly #runner: StepRunner;
  readonly #underWay = new Map<string, UnderWay>();
  #lastOwnNumber = 0;

  constructor(
    private readonly options: Omit<StepRunnerOptions, 'send' | 'givenUp'>,
    private readonly signs: SignsOfLife,
    private readonly handBack: HandBack,
    private readonly whilePaused: WhilePaused,
    private readonly budgets: Budgets,
    private readonly onFailed: (attempt: FailedAttempt) => void,
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
    if (context.info.activityType === IS_IN_USE) {
      return raw(JSON.stringify(await this.budgets.isInUse(input.args[0])));
    }
    if (context.info.activityType === WAKE) {
      await this.budgets.wake(input.args[0], () => context.heartbeat());
      return raw(undefined);
    }
    const task = this.#taskOf(context, input);
    if (!this.options.find(task.workflowType, task.stepName)) throw await this.handBack(context.info);
    const purseId = purseIdOf(input.headers);
    const { lastHeartbeat } = task;
    const { costs, untold } = fromHeartbeat(context.info.heartbeatDetails);
    const mayItBegin = async () =>
      (purseId !== undefined && (await this.#budgetRefusal(context, purseId, untold))) ||
      (await this.whilePaused(context.info));
    const refusal = await aliveDuring(context, heartbeatDetails(lastHeartbeat, costs, untold), mayItBegin);
    if (refusal) throw refusal;
    if (isUnwanted(context)) throw cancelled(costs);
    const key = keyOf(task);
    const ended = new AbortController();
    const beats = () => {
      const underWay = this.#underWay.get(key);
      if (underWay) beat(underWay);
    };
    // Before the step begins, which may block this thread at once.
    const signs =
      LIVENESS_HEADER in input.headers
        ? this.signs.give(context, heartbeatDetails(lastHeartbeat, costs), beats)
        : undefined;
    const result = new Promise<RawValue>((resolve, reject) => {
      this.#underWay.set(key, {
        ...{ context, resolve, reject, lastHeartbeat, signs, costs, purseId },
        ...{ told: Promise.resolve(), untold: [], tellings: 0 },
      });
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

  /** What an attempt before it has spent, and could not tell, comes first. */
  async #budgetRefusal({ info }: Context, purseId: string, untold: readonly Spending[]) {
    for (const said of untold) await this.budgets.spent(purseId, said);
    return this.budgets.refusal(info, purseId);
  }

  describeWait(graceMs: number): string | undefined {
    return this.#runner.describeWait(graceMs);
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
    for (const { reject, costs } of this.#underWay.values()) {
      reject(failed({ kind: 'application', type: 'WorkerStoppedError', message: reason }, costs));
    }
  }

  #taskOf({ info }: Context, { args, headers }: ActivityExecuteInput): StepTask {
    const traceContext = traceContextIn(headers);
    const { activityId, activityType, attempt } = info;
    const { workflowId, runId } = info.workflowExecution ?? { workflowId: '', runId: '' };
    const { details } = fromHeartbeat(info.heartbeatDetails);
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
      timeoutMs: attemptTimeoutMs(info),
      ...(info.heartbeatTimeoutMs && { heartbeatTimeoutMs: info.heartbeatTimeoutMs }),
      ...(details !== undefined && { lastHeartbeat: JSON.stringify(details) }),
      idempotencyKey: `${runId}/${activityId}`,
      ...(traceContext && { traceContext }),
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
      case 'stepCompleted': {
        this.#spent(message, message.costs);
        const underWay = this.#take(message);
        void underWay?.told.then(() => underWay.resolve(rawWithCosts(message.result, underWay.costs)));
        break;
      }
      case 'stepFailed':
        this.#spent(message, message.costs);
        this.#tellNext(message);
        this.#failed(this.#take(message), message.failure, message.retryAfterMs);
        break;
      case 'stepCancelled': {
        this.#spent(message, message.costs);
        const underWay = this.#take(message);
        void underWay?.told.then(() => underWay.reject(cancelled(underWay.costs)));
        break;
      }
      case 'stepCosts':
        this.#spent(message, message.costs);
        this.#tellNext(message);
        break;
      case 'stepHeartbeat': {
        const underWay = this.#underWay.get(keyOf(message));
        if (!underWay) break;
        underWay.lastHeartbeat = message.details;
        beatAnew(underWay);
        break;
      }
      default:
    }
  }

  #spent(attempt: StepAttempt, said: readonly Cost[] | undefined): void {
    const underWay = this.#underWay.get(keyOf(attempt));
    if (!said || !underWay) return;
    const { info } = underWay.context;
    const { activityId, activityType } = info;
    const stepName = stepNameOf(activityType);
    const at = Math.max(Date.now(), underWay.costs.at(-1)?.at ?? 0);
    const place = { at, stepName, activityId, attempt: info.attempt };
    const records = said.map((cost): CostRecord => ({ ...place, ...cost }));
    underWay.costs = bounded([...underWay.costs, ...records]);
    const { purseId } = underWay;
    if (purseId === undefined) return;
    const { runId } = info.workflowExecution ?? { runId: '' };
    const id = `${runId}/${activityId}/${info.attempt}/${++underWay.tellings}`;
    const spending = { id, costs: records.map(({ currency, amount }) => ({ currency, amount })) };
    underWay.untold.push(spending);
    underWay.told = underWay.told.then(async () => {
      await this.budgets.spent(purseId, spending, { info, details: () => detailsOf(underWay) ?? 'null' });
      underWay.untold.shift();
    });
  }

  /** By a heartbeat: the cluster keeps it for the next attempt, and Temporal's worker sends the last one of a failing one. */
  #tellNext(attempt: StepAttempt): void {
    const underWay = this.#underWay.get(keyOf(attempt));
    if (underWay && underWay.costs.length > 0) beatAnew(underWay);
  }

  #failed(underWay: UnderWay | undefined, failure: Failure, retryAfterMs?: number): void {
    if (!underWay) return;
    const { told, reject, costs, context } = underWay;
    void told.then(() => reject(failed(failure, costs, retryAfterMs)));
    this.onFailed(failedAttempt(context.info, failure));
  }

  #take(attempt: StepAttempt): UnderWay | undefined {
    const key = keyOf(attempt);
    const underWay = this.#underWay.get(key);
    this.#underWay.delete(key);
    return underWay;
  }
}

function purseIdOf(headers: ActivityExecuteInput['headers']): string | undefined {
  const id = decoded(headers[PURSE_HEADER]);
  return typeof id === 'string' ? id : undefined;
}

/** A mere sign of life repeats the last details. */
function beat(underWay: UnderWay): void {
  beatWith(underWay.context, detailsOf(underWay));
}

const detailsOf = ({ lastHeartbeat, costs, untold }: UnderWay): Payload | undefined =>
  heartbeatDetails(lastHeartbeat, costs, untold);

function beatWith(context: Context, details: Payload | undefined): void {
  context.heartbeat(details === undefined ? undefined : raw(details));
}

/** What is asked before a step begins may take longer than its author lets it be silent for, who cannot speak for it yet. */
async function aliveDuring<T>(
  context: Context,
  details: Payload | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  const { heartbeatTimeoutMs } = context.info;
  const timer =
    heartbeatTimeoutMs &&
    setInterval(() => beatWith(context, details), heartbeatTimeoutMs / SIGNS_PER_TIMEOUT);
  try {
    return await ask();
  } finally {
    clearInterval(timer);
  }
}

/** What it says is new, and what each sign of life has to repeat. */
function beatAnew(underWay: UnderWay): void {
  underWay.signs?.repeat(detailsOf(underWay));
  beat(underWay);
}

/** The answer to a sign of life may say before the step begins that it should not: another attempt may have taken its place. */
function isUnwanted({ cancellationDetails }: Context): boolean {
  const { cancelRequested, timedOut, notFound } = cancellationDetails ?? {};
  return cancelRequested === true || timedOut === true || notFound === true;
}

const cancelled = (costs: readonly CostRecord[]): CancelledFailure =>
  new CancelledFailure('the step was cancelled', costs.length > 0 ? [rawWithCosts(undefined, costs)] : []);

const raw = (text: Payload | undefined): RawValue => RawValue.fromPayload(toPayload(text) as never);

const rawWithCosts = (text: Payload | undefined, costs: readonly CostRecord[]): RawValue =>
  RawValue.fromPayload(payloadWithCosts(text, costs) as never);

/** An error that Temporal's worker turns into exactly this failure. */
function failed(failure: Failure, costs: readonly CostRecord[], retryAfterMs?: number): Error {
  const error = ApplicationFailure.create({
    message: failure.message,
    type: failure.type,
    nonRetryable: failure.nonRetryable === true,
  });
  const proto = failureToProto(failure);
  const info = proto.applicationFailureInfo;
  if (info && costs.length > 0) {
    info.details = { payloads: [withCosts(info.details?.payloads?.[0] ?? toPayload(undefined), costs)] };
  }
  // Nothing at all means to the cluster that nothing was asked for.
  if (retryAfterMs !== undefined && proto.applicationFailureInfo)
    proto.applicationFailureInfo.nextRetryDelay = toDuration(Math.max(1, retryAfterMs)) as never;
  error.failure = proto as never;
  return error;
}

const keyOf = ({ runId, scheduledEventId, attempt }: StepAttempt): string =>
  `${runId}/${scheduledEventId}/${attempt}`;
