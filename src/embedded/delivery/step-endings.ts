/** How an attempt of a step ends, and whether another follows it or the step is over. */
import type { NewEvent, RetryState } from '../../core/history/event.js';
import { type Failure, stepTimeoutMessage } from '../../core/history/failure.js';
import { decideRetry } from '../../core/run/retry.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { PendingStep } from '../state/run-state.js';
import { type ActiveRun, EVENT_BEFORE } from '../store/active-run.js';
import type { Verdict } from '../workers/worker-connection.js';
import type { AttemptReports } from './attempt-reports.js';
import { withCosts } from './step-costs.js';
import { PROVEN_CRASHES, type StepQueue } from './step-queue.js';

/** Crashes beyond these count as tries, so that a step which kills its worker late does not do so for ever. */
const MAX_CRASHES = 10;

export type StepTimeout = 'START_TO_CLOSE' | 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE' | 'HEARTBEAT';

export class StepEndings {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly queue: StepQueue,
    private readonly reports: AttemptReports,
  ) {}

  /**
   * The attempt has no outcome and never will. It counts as a try only if the step itself is to blame, and not for the
   * first time: it may have harmed nobody, had it been alone.
   */
  attemptLost(run: ActiveRun, step: PendingStep, message: string, verdict: Verdict): void {
    const { delivery, settings } = step;
    this.reports.ended(run, step, 'lost');
    const isProven = verdict === 'guilty' && delivery.crashes > 0;
    if (verdict === 'suspect') delivery.crashes++;
    if (verdict === 'guilty') delivery.crashes = Math.max(delivery.crashes + 1, PROVEN_CRASHES);
    // Where one attempt is all that is allowed, it counts: it may have had its effect.
    const counts = isProven || delivery.crashes > MAX_CRASHES || settings.retry.maximumAttempts === 1;
    if (!counts) delivery.lost++;
    this.attemptFailed(run, step, { kind: 'application', type: 'WorkerCrashed', message }, !isProven);
  }

  /** There is another attempt, or the step has failed. */
  attemptFailed(
    run: ActiveRun,
    step: PendingStep,
    failure: Failure,
    wasLost: boolean,
    retryAfterMs?: number,
  ): void {
    const { attempt } = step.delivery;
    const retryState = this.#retry(run, step, failure, wasLost, retryAfterMs);
    this.reports.failed(run, step, attempt, failure, retryState !== undefined);
    if (retryState === undefined) return;
    const { scheduledEventId, activityType } = step;
    this.close(run, step, {
      type: 'ACTIVITY_TASK_FAILED',
      attributes: {
        scheduledEventId,
        startedEventId: EVENT_BEFORE,
        failure: { ...failure, activityType, attempt: step.delivery.attempt },
        retryState,
      },
    });
  }

  timedOut(run: ActiveRun, step: PendingStep, timeoutType: StepTimeout, timeoutMs: number): void {
    const { delivery, scheduledEventId, activityType } = step;
    const wasRunning = delivery.status === 'running';
    const failure: Failure = {
      kind: 'timeout',
      type: 'TimeoutError',
      message: stepTimeoutMessage(activityType, timeoutType, timeoutMs),
      timeoutType,
      ...(delivery.lastFailure && { cause: delivery.lastFailure }),
    };
    const { attempt } = delivery;
    const isFinal = timeoutType === 'SCHEDULE_TO_START' || timeoutType === 'SCHEDULE_TO_CLOSE';
    const retryState = isFinal ? 'TIMEOUT' : this.#retry(run, step, failure, false);
    this.reports.failed(run, step, attempt, failure, retryState !== undefined);
    if (retryState === undefined) return;
    this.close(run, step, {
      type: 'ACTIVITY_TASK_TIMED_OUT',
      attributes: {
        scheduledEventId,
        startedEventId: wasRunning ? EVENT_BEFORE : 0,
        failure: { ...failure, activityType, attempt: delivery.attempt },
        retryState,
      },
    });
  }

  /** Arranges the next attempt and returns undefined, or says why there is none. A lost attempt is repeated at once. */
  #retry(
    run: ActiveRun,
    step: PendingStep,
    failure: Failure,
    wasLost: boolean,
    retryAfterMs?: number,
  ): RetryState | undefined {
    if (step.cancelRequestedEventId !== undefined) return 'CANCEL_REQUESTED';
    const { delivery, settings } = step;
    const now = this.kernel.clock.now();
    const counted = delivery.attempt - delivery.lost;
    const decision = decideRetry(settings.retry, counted, failure, now, expiresAt(step), retryAfterMs);
    if (decision.kind === 'stop') return decision.state;
    delivery.attempt++;
    delivery.lastFailure = failure;
    delivery.heartbeatAt = 0;
    if (wasLost || decision.afterMs === 0) {
      delivery.status = 'queued';
      this.queue.requeue(run, step);
    } else {
      delivery.status = 'backoff';
      delivery.availableAt = now + decision.afterMs;
      run.changedSteps.add(step.scheduledEventId);
      this.kernel.commit.changed(run);
    }
    return undefined;
  }

  /** The step is over, by this event; the run sees it in its next turn. */
  close(
    run: ActiveRun,
    step: PendingStep,
    event: NewEvent & { attributes: { startedEventId: number } },
    isBegun = false,
  ): void {
    const events: NewEvent[] = [];
    if (event.attributes.startedEventId === EVENT_BEFORE) {
      const { attempt, lastFailure, startedAt } = step.delivery;
      events.push({
        type: 'ACTIVITY_TASK_STARTED',
        at: startedAt,
        attributes: { scheduledEventId: step.scheduledEventId, attempt, ...(lastFailure && { lastFailure }) },
      });
    }
    events.push(withCosts(run, step, event));
    run.changedSteps.add(step.scheduledEventId);
    this.kernel.commit.keepBack(() => this.lifecycle.receive(run, events, isBegun));
  }
}

/** When the attempt that runs has to be over. */
export function attemptDeadline(step: PendingStep): number {
  return Math.min(step.delivery.startedAt + step.settings.startToCloseTimeoutMs, expiresAt(step));
}

function expiresAt(step: PendingStep): number {
  const { scheduleToCloseTimeoutMs } = step.settings;
  return scheduleToCloseTimeoutMs === undefined
    ? Number.POSITIVE_INFINITY
    : step.scheduledAt + scheduleToCloseTimeoutMs;
}
