/**
 * The way of a step from scheduled to closed: queued, handed to a worker, answered, retried, timed out, cancelled.
 *
 * 1. An attempt is on disk as running before it is sent, so after a crash it counts as made, never as not yet made.
 * 2. Only the current attempt of a pending step is answered; anything else is stale and changes nothing.
 * 3. A step closes exactly once: by its one closing event, in the history or in the inbox.
 */
import type { NewEvent, RetryState } from '../core/event.js';
import { type Failure, stepTimeoutMessage } from '../core/failure.js';
import { unreachable } from '../core/invariant.js';
import type { Payload } from '../core/json.js';
import { decideRetry } from '../core/retry.js';
import type { StepAttempt, StepStopReason } from '../core/task.js';
import { type ActiveRun, EVENT_BEFORE } from './active-run.js';
import type { Machine } from './machine.js';
import { type PendingStep, stepDueAt } from './state.js';
import { attemptKey, type HandedOut, type WorkerConnection } from './workers.js';

/** Further ones count as tries, so that a step which kills its worker late does not do so for ever. */
const MAX_CRASHES = 10;

export class StepDelivery {
  /** Who has which attempt. */
  readonly #holders = new Map<string, WorkerConnection>();

  constructor(private readonly machine: Machine) {}

  /** The step's delivery changed and it waits for a worker. */
  requeue(run: ActiveRun, step: PendingStep): void {
    run.changedSteps.add(step.scheduledEventId);
    this.machine.commit.changed(run);
    this.enqueue(run, step);
  }

  /** The step waits for a worker; that it does follows from what is on disk. */
  enqueue(run: ActiveRun, step: PendingStep): void {
    this.machine.dispatcher.enqueue(
      run.state.started.catalog,
      { kind: 'step', runId: run.state.runId, scheduledEventId: step.scheduledEventId },
      step.delivery.crashes > 1,
    );
  }

  /** Gives the step to the worker, unless it is no longer there to be given. */
  handOut(runId: string, scheduledEventId: number, worker: WorkerConnection): string | undefined {
    const run = this.machine.runs.get(runId);
    const step = run?.state.steps.get(scheduledEventId);
    if (!run || !step || step.closing || step.delivery.status !== 'queued') return undefined;
    const { state } = run;
    const { delivery, settings } = step;
    delivery.status = 'running';
    const scheduled = run.unsavedEvent(scheduledEventId);
    if (scheduled?.type === 'ACTIVITY_TASK_SCHEDULED' && delivery.attempt === 1) {
      // The usual case needs no row of its own: the event says that the step was given out with it.
      scheduled.attributes.handedOut = true;
      delivery.startedAt = scheduled.at;
    } else {
      delivery.startedAt = this.machine.clock.now();
      run.changedSteps.add(scheduledEventId);
    }
    this.machine.commit.changed(run);
    const attempt = { runId, scheduledEventId, attempt: delivery.attempt };
    const key = attemptKey(attempt);
    const handedOut: HandedOut = { ...attempt, isSent: false };
    worker.steps.set(key, handedOut);
    this.#holders.set(key, worker);
    run.handedOut.set(scheduledEventId, delivery.attempt);
    this.machine.commit.afterCommit(() => {
      if (worker.steps.get(key) !== handedOut) return;
      handedOut.isSent = true;
      const next = this.machine.turns.offer(run, step, worker);
      handedOut.nextTurnId = next?.turnId;
      worker.send({
        kind: 'step',
        runId,
        scheduledEventId,
        attempt: attempt.attempt,
        workflowId: state.workflowId,
        workflowType: state.started.workflowType,
        stepName: step.stepName,
        input: step.input,
        timeoutMs: Math.max(1, this.#deadline(step) - delivery.startedAt),
        heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
        lastHeartbeat: delivery.heartbeat,
        idempotencyKey: `${runId}/${step.activityId}`,
        next,
      });
    });
    return key;
  }

  completed(
    worker: WorkerConnection,
    attempt: StepAttempt,
    result: Payload | undefined,
    begunAt?: number,
  ): void {
    if (!this.#completed(worker, attempt, result, begunAt) && begunAt !== undefined) {
      this.machine.turns.refuseBegun(worker, attempt.runId);
    }
  }

  /** Returns whether the turn that the worker has begun is the one that follows. */
  #completed(
    worker: WorkerConnection,
    attempt: StepAttempt,
    result: Payload | undefined,
    begunAt: number | undefined,
  ): boolean {
    const limit = this.machine.limits.payloadBytes;
    if (result !== undefined && result.length * 3 > limit && Buffer.byteLength(result) > limit) {
      this.failed(worker, attempt, {
        kind: 'application',
        type: 'PayloadTooLargeError',
        message: `the result has ${Buffer.byteLength(result)} bytes; the limit is ${limit}`,
        nonRetryable: true,
      });
      return false;
    }
    const current = this.#take(worker, attempt);
    if (!current) return false;
    const { run, step, nextTurnId } = current;
    this.#observe(run, step, 'completed');
    const { scheduledEventId } = attempt;
    const completed = {
      type: 'ACTIVITY_TASK_COMPLETED',
      attributes: { scheduledEventId, startedEventId: EVENT_BEFORE, result },
    } as const;
    if (nextTurnId === undefined || !this.machine.turns.isBegun(run, step, worker, begunAt)) {
      this.#close(run, step, completed);
      return false;
    }
    this.#close(run, step, completed, true);
    this.machine.turns.begun(run, worker, nextTurnId, begunAt);
    return true;
  }

  failed(worker: WorkerConnection, attempt: StepAttempt, failure: Failure): void {
    const current = this.#take(worker, attempt);
    if (!current) return;
    this.#observe(current.run, current.step, 'failed');
    this.#attemptFailed(current.run, current.step, failure, false);
  }

  cancelled(worker: WorkerConnection, attempt: StepAttempt, details: Payload | undefined): void {
    const current = this.#take(worker, attempt);
    if (!current) return;
    const { run, step } = current;
    this.#observe(run, step, 'cancelled');
    if (step.cancelRequestedEventId === undefined) {
      const failure: Failure = {
        kind: 'cancelled',
        type: 'CancelledError',
        message: 'the step ended as cancelled, but nobody had cancelled it',
      };
      this.#attemptFailed(run, step, failure, false);
      return;
    }
    this.#close(run, step, {
      type: 'ACTIVITY_TASK_CANCELED',
      attributes: {
        scheduledEventId: step.scheduledEventId,
        startedEventId: EVENT_BEFORE,
        latestCancelRequestedEventId: step.cancelRequestedEventId,
        details,
      },
    });
  }

  heartbeat(worker: WorkerConnection, attempt: StepAttempt, details: Payload | undefined): void {
    if (!worker.steps.has(attemptKey(attempt))) return;
    const run = this.machine.runs.get(attempt.runId);
    const step = run?.state.steps.get(attempt.scheduledEventId);
    if (!run || !step || step.closing) return;
    step.delivery.heartbeatAt = this.machine.clock.now();
    step.delivery.heartbeat = details;
    run.changedSteps.add(step.scheduledEventId);
    this.machine.commit.changed(run);
  }

  /** The workflow no longer wants the step. */
  cancel(run: ActiveRun, scheduledEventId: number, cancelRequestedEventId: number): void {
    const step = run.state.steps.get(scheduledEventId);
    if (!step || step.closing) return;
    if (step.delivery.status === 'running') {
      const attempt = { runId: run.state.runId, scheduledEventId, attempt: step.delivery.attempt };
      const worker = this.#holders.get(attemptKey(attempt));
      this.machine.commit.afterCommit(() =>
        worker?.send({ kind: 'stopStep', reason: 'cancelled', ...attempt }),
      );
      return;
    }
    this.machine.lifecycle.receive(run, [
      {
        type: 'ACTIVITY_TASK_CANCELED',
        attributes: {
          scheduledEventId,
          startedEventId: 0,
          latestCancelRequestedEventId: cancelRequestedEventId,
        },
      },
    ]);
  }

  /** The run has closed: attempts under way are told so, and their answers are stale from now on. */
  stopAll(run: ActiveRun): void {
    for (const [scheduledEventId, attempt] of run.handedOut) {
      const key = attemptKey({ runId: run.state.runId, scheduledEventId, attempt });
      const worker = this.#holders.get(key);
      if (worker) this.#stop(key, worker, 'runClosed');
    }
    run.handedOut.clear();
  }

  /** What became due for the run's steps: retries that may start, and timeouts. */
  due(run: ActiveRun, now: number): void {
    for (const step of [...run.state.steps.values()]) {
      if (step.closing || run.isClosed) continue;
      const due = stepDueAt(step);
      if (due.at > now) continue;
      switch (due.kind) {
        case 'retry':
          step.delivery.status = 'queued';
          this.requeue(run, step);
          break;
        case 'startToClose':
          this.#timedOut(run, step, 'START_TO_CLOSE', step.settings.startToCloseTimeoutMs);
          break;
        case 'heartbeat':
          this.#timedOut(run, step, 'HEARTBEAT', step.settings.heartbeatTimeoutMs!);
          break;
        case 'scheduleToStart':
          this.#timedOut(run, step, 'SCHEDULE_TO_START', step.settings.scheduleToStartTimeoutMs!);
          break;
        case 'scheduleToClose':
          this.#timedOut(run, step, 'SCHEDULE_TO_CLOSE', step.settings.scheduleToCloseTimeoutMs!);
          break;
        default:
          unreachable(due.kind);
      }
    }
  }

  /** The worker is gone, and with it the attempts it had. */
  workerLost(worker: WorkerConnection): void {
    for (const [key, { runId, scheduledEventId, isSent }] of worker.steps) {
      this.#holders.delete(key);
      const run = this.machine.runs.get(runId);
      const step = run?.state.steps.get(scheduledEventId);
      if (!run || !step || step.closing) continue;
      run.handedOut.delete(scheduledEventId);
      if (!isSent) {
        step.delivery.status = 'queued';
        this.requeue(run, step);
      } else {
        const message = `worker ${worker.identity} ended while it ran the step`;
        const blame = worker.isToBlame(key);
        this.attemptLost(
          run,
          step,
          message,
          blame ? 'step' : blame === false || worker.isDraining ? 'other' : 'unknown',
        );
      }
    }
    worker.steps.clear();
  }

  /** The attempt has no outcome and never will. It counts as a try only if the step itself is to blame. */
  attemptLost(run: ActiveRun, step: PendingStep, message: string, blame: 'step' | 'other' | 'unknown'): void {
    const { delivery, settings } = step;
    this.#observe(run, step, 'lost');
    if (blame === 'unknown') delivery.crashes++;
    // Where one attempt is all that is allowed, it counts: it may have had its effect.
    const counts = blame === 'step' || delivery.crashes > MAX_CRASHES || settings.retry.maximumAttempts === 1;
    if (!counts) delivery.lost++;
    this.#attemptFailed(run, step, { kind: 'application', type: 'WorkerCrashed', message }, true);
  }

  #attemptFailed(run: ActiveRun, step: PendingStep, failure: Failure, wasLost: boolean): void {
    const retryState = this.#retry(run, step, failure, wasLost);
    if (retryState === undefined) return;
    const { scheduledEventId, activityType } = step;
    this.#close(run, step, {
      type: 'ACTIVITY_TASK_FAILED',
      attributes: {
        scheduledEventId,
        startedEventId: EVENT_BEFORE,
        failure: { ...failure, activityType, attempt: step.delivery.attempt },
        retryState,
      },
    });
  }

  #timedOut(
    run: ActiveRun,
    step: PendingStep,
    timeoutType: 'START_TO_CLOSE' | 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE' | 'HEARTBEAT',
    timeoutMs: number,
  ): void {
    const { delivery, scheduledEventId, activityType } = step;
    const wasRunning = delivery.status === 'running';
    if (wasRunning) {
      this.#observe(run, step, 'timedOut');
      const key = attemptKey({ runId: run.state.runId, scheduledEventId, attempt: delivery.attempt });
      const worker = this.#holders.get(key);
      if (worker) this.#stop(key, worker, 'timedOut');
      run.handedOut.delete(scheduledEventId);
    }
    const failure: Failure = {
      kind: 'timeout',
      type: 'TimeoutError',
      message: stepTimeoutMessage(activityType, timeoutType, timeoutMs),
      timeoutType,
      ...(delivery.lastFailure && { cause: delivery.lastFailure }),
    };
    const isFinal = timeoutType === 'SCHEDULE_TO_START' || timeoutType === 'SCHEDULE_TO_CLOSE';
    const retryState = isFinal ? 'TIMEOUT' : this.#retry(run, step, failure, false);
    if (retryState === undefined) return;
    this.#close(run, step, {
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
  #retry(run: ActiveRun, step: PendingStep, failure: Failure, wasLost: boolean): RetryState | undefined {
    if (step.cancelRequestedEventId !== undefined) return 'CANCEL_REQUESTED';
    const { delivery, settings } = step;
    const now = this.machine.clock.now();
    const counted = delivery.attempt - delivery.lost;
    const decision = decideRetry(settings.retry, counted, failure, now, this.#expiresAt(step));
    if (decision.kind === 'stop') return decision.state;
    delivery.attempt++;
    delivery.lastFailure = failure;
    delivery.heartbeatAt = 0;
    if (wasLost || decision.afterMs === 0) {
      delivery.status = 'queued';
      this.requeue(run, step);
    } else {
      delivery.status = 'backoff';
      delivery.availableAt = now + decision.afterMs;
      run.changedSteps.add(step.scheduledEventId);
      this.machine.commit.changed(run);
    }
    return undefined;
  }

  #close(
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
    events.push(event);
    run.changedSteps.add(step.scheduledEventId);
    this.machine.commit.keepBack(() => this.machine.lifecycle.receive(run, events, isBegun));
  }

  /** The step whose current attempt this is, and frees the worker's slot. Undefined for a stale answer. */
  #take(
    worker: WorkerConnection,
    attempt: StepAttempt,
  ): { run: ActiveRun; step: PendingStep; nextTurnId: number | undefined } | undefined {
    const key = attemptKey(attempt);
    const handedOut = worker.steps.get(key);
    if (!handedOut) return undefined;
    worker.steps.delete(key);
    this.#holders.delete(key);
    this.machine.dispatcher.freed(worker);
    const run = this.machine.runs.get(attempt.runId);
    const step = run?.state.steps.get(attempt.scheduledEventId);
    if (!run || !step || step.closing) return undefined;
    if (step.delivery.status !== 'running' || step.delivery.attempt !== attempt.attempt) return undefined;
    run.handedOut.delete(attempt.scheduledEventId);
    return { run, step, nextTurnId: handedOut.nextTurnId };
  }

  #stop(key: string, worker: WorkerConnection, reason: StepStopReason): void {
    const attempt = worker.steps.get(key);
    worker.steps.delete(key);
    this.#holders.delete(key);
    this.machine.dispatcher.freed(worker);
    if (!attempt?.isSent) return;
    const { runId, scheduledEventId, attempt: number } = attempt;
    this.machine.commit.afterCommit(() =>
      worker.send({ kind: 'stopStep', reason, runId, scheduledEventId, attempt: number }),
    );
  }

  #observe(
    { state }: ActiveRun,
    step: PendingStep,
    outcome: 'completed' | 'failed' | 'cancelled' | 'timedOut' | 'lost',
  ): void {
    const { clock, observer } = this.machine;
    observer.attemptEnded?.(step.activityType, outcome, clock.now() - step.delivery.startedAt, state);
  }

  #expiresAt(step: PendingStep): number {
    const { scheduleToCloseTimeoutMs } = step.settings;
    return scheduleToCloseTimeoutMs === undefined
      ? Number.POSITIVE_INFINITY
      : step.scheduledAt + scheduleToCloseTimeoutMs;
  }

  #deadline(step: PendingStep): number {
    return Math.min(step.delivery.startedAt + step.settings.startToCloseTimeoutMs, this.#expiresAt(step));
  }
}
