/**
 * The way of a step from scheduled to closed: queued (step-queue.ts), handed to a worker, answered, timed out or cancelled,
 * and then retried or closed (step-endings.ts).
 *
 * 1. An attempt is on disk as running before it is sent, so after a crash it counts as made, never as not yet made.
 * 2. Only the current attempt of a pending step is answered; anything else is stale and changes nothing.
 * 3. A step closes exactly once: by its one closing event, in the history or in the inbox.
 */
import type { Cost } from '../../core/cost/cost.js';
import { faultPoint } from '../../core/fault-point.js';
import type { Failure } from '../../core/history/failure.js';
import { unreachable } from '../../core/invariant.js';
import type { StepAttempt, StepStopReason } from '../../core/task.js';
import type { Payload } from '../../core/values/json.js';
import { TurnoverMap } from '../../core/values/turnover.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import { Piece } from '../life/piecemeal.js';
import type { Purses } from '../life/purses.js';
import { type PendingStep, stepDueAt } from '../state/run-state.js';
import { type ActiveRun, EVENT_BEFORE } from '../store/active-run.js';
import { attemptKey, type HandedOut, type WorkerConnection } from '../workers/worker-connection.js';
import type { AttemptReports } from './attempt-reports.js';
import type { BegunTurns } from './begun-turns.js';
import { type StepCosts, withCosts } from './step-costs.js';
import { attemptDeadline, type StepEndings, type StepTimeout } from './step-endings.js';
import { isAskedBy, type StepQueue } from './step-queue.js';

/** Attempts that are taken from a lost worker before others get their turn. */
const LOST_AT_ONCE = 100;

export class StepDelivery {
  /** Who has which attempt. */
  readonly #holders = new TurnoverMap<string, WorkerConnection>();

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly queue: StepQueue,
    private readonly endings: StepEndings,
    private readonly begunTurns: BegunTurns,
    private readonly purses: Purses,
    private readonly stepCosts: StepCosts,
    private readonly reports: AttemptReports,
  ) {}

  /** Gives the step to the worker, unless it is no longer there to be given. */
  handOut(
    runId: string,
    scheduledEventId: number,
    worker: WorkerConnection,
    isSuspect: boolean,
  ): string | undefined {
    const run = this.kernel.runs.get(runId);
    const step = run?.state.steps.get(scheduledEventId);
    if (!run || !step || step.closing || step.delivery.status !== 'queued') return undefined;
    // It was queued twice, as one whose run was resumed may be, and has ended its worker since: it has a place apart by now.
    if (step.delivery.crashes > 0 && !isSuspect) return undefined;
    // So it was, and this code has refused it since: it waits for another one in its other place.
    if (step.delivery.refused?.by.includes(worker.version.id)) return undefined;
    // It was queued before its run was paused.
    if (run.isPaused || this.#isUnpaid(run)) return undefined;
    const { state } = run;
    const { delivery, settings } = step;
    delivery.status = 'running';
    const scheduled = run.unsavedEvent(scheduledEventId);
    if (scheduled?.type === 'ACTIVITY_TASK_SCHEDULED' && delivery.attempt === 1) {
      // The usual case needs no row of its own: the event says that the step was given out with it.
      scheduled.attributes.handedOut = true;
      delivery.startedAt = step.scheduledAt;
    } else {
      delivery.startedAt = this.kernel.clock.now();
      run.changedSteps.add(scheduledEventId);
    }
    this.kernel.commit.changed(run);
    const { attempt } = delivery;
    // With all of its members from the beginning: objects that get one later cost a multiple.
    const handedOut: HandedOut = { runId, scheduledEventId, attempt, isSent: false, nextTurnId: undefined };
    const key = attemptKey(handedOut);
    worker.steps.set(key, handedOut);
    this.#holders.set(key, worker);
    run.handedOut.set(scheduledEventId, delivery.attempt);
    this.kernel.commit.afterCommit(() => {
      if (worker.steps.get(key) !== handedOut || !worker.isConnected) return;
      faultPoint('stepGoesOut');
      handedOut.isSent = true;
      const next = this.begunTurns.offer(run, step, worker);
      handedOut.nextTurnId = next?.turnId;
      worker.send({
        kind: 'step',
        runId,
        scheduledEventId,
        attempt,
        workflowId: state.workflowId,
        workflowType: state.started.workflowType,
        stepName: step.stepName,
        input: step.input,
        timeoutMs: Math.max(1, attemptDeadline(step) - delivery.startedAt),
        heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
        lastHeartbeat: delivery.heartbeat,
        idempotencyKey: `${runId}/${step.activityId}`,
        traceContext: state.started.traceContext,
        isOnlyAttempt: settings.retry.maximumAttempts === 1 || undefined,
        next,
      });
      faultPoint('stepIsOut');
    });
    return key;
  }

  /**
   * Pauses the run whose budget is spent. One that was asked to stop cleans up first, whatever that costs; what it asked
   * for before it knew of that may be nothing that it still wants, so nothing is spent on it until it does.
   */
  #isUnpaid(run: ActiveRun): boolean {
    const reason = this.purses.emptyFor(run);
    if (reason === undefined) return false;
    if (this.lifecycle.isAskedToStop(run)) return run.state.isStopNews;
    this.lifecycle.pause(run, { reason, by: 'budget' });
    return true;
  }

  /** Which worker has the step, by its own name for itself. */
  workerOf(run: ActiveRun, { scheduledEventId, delivery }: PendingStep): string | undefined {
    const key = attemptKey({ runId: run.state.runId, scheduledEventId, attempt: delivery.attempt });
    return this.#holders.get(key)?.identity;
  }

  completed(
    worker: WorkerConnection,
    attempt: StepAttempt,
    result: Payload | undefined,
    begunAt?: number,
    costs?: readonly Cost[],
  ): void {
    if (!this.#completed(worker, attempt, result, begunAt, costs) && begunAt !== undefined) {
      this.begunTurns.refuseBegun(worker, attempt.runId);
    }
  }

  /** Returns whether the turn that the worker has begun is the one that follows. */
  #completed(
    worker: WorkerConnection,
    attempt: StepAttempt,
    result: Payload | undefined,
    begunAt: number | undefined,
    costs: readonly Cost[] | undefined,
  ): boolean {
    const limit = this.kernel.limits.payloadBytes;
    if (result !== undefined && result.length * 3 > limit && Buffer.byteLength(result) > limit) {
      const failure: Failure = {
        kind: 'application',
        type: 'PayloadTooLargeError',
        message: `the result has ${Buffer.byteLength(result)} bytes; the limit is ${limit}`,
        nonRetryable: true,
      };
      this.failed(worker, attempt, failure, undefined, costs);
      return false;
    }
    const current = this.#take(worker, attempt);
    if (!current) {
      this.#stale(worker, attempt, costs);
      return false;
    }
    const { run, step, nextTurnId } = current;
    this.stepCosts.spent(run, step, costs);
    this.reports.ended(run, step, 'completed', worker);
    const { scheduledEventId } = attempt;
    const completed = {
      type: 'ACTIVITY_TASK_COMPLETED',
      attributes: { scheduledEventId, startedEventId: EVENT_BEFORE, result },
    } as const;
    if (nextTurnId === undefined || !this.begunTurns.isBegun(run, step, worker, begunAt)) {
      this.endings.close(run, step, completed);
      faultPoint('stepCompleted');
      return false;
    }
    this.endings.close(run, step, completed, true);
    this.begunTurns.begun(run, worker, nextTurnId, begunAt);
    faultPoint('stepCompleted');
    return true;
  }

  failed(
    worker: WorkerConnection,
    attempt: StepAttempt,
    failure: Failure,
    retryAfterMs?: number,
    costs?: readonly Cost[],
  ): void {
    const current = this.#take(worker, attempt);
    if (!current) {
      this.#stale(worker, attempt, costs);
      return;
    }
    this.stepCosts.spent(current.run, current.step, costs);
    this.reports.ended(current.run, current.step, 'failed', worker, failure);
    this.endings.attemptFailed(current.run, current.step, failure, false, retryAfterMs);
  }

  /**
   * The input does not fit the schema that the worker's code has for the step, none of which has run. Where other code has asked
   * for the step, somebody else may take it, and the attempt is still to be made.
   */
  refused(worker: WorkerConnection, attempt: StepAttempt, failure: Failure): void {
    const current = this.#underWay(worker, attempt);
    const { id } = worker.version;
    const isItsOwn = current && isAskedBy(id, current.run, current.step.delivery);
    if (!current || isItsOwn || !this.#take(worker, attempt)) {
      this.failed(worker, attempt, failure);
      return;
    }
    const { run, step } = current;
    const by = [...(step.delivery.refused?.by ?? []), id].sort();
    step.delivery.refused = { by, failure };
    this.#notBegun(run, step);
  }

  /** Nobody has come for the step but code that refuses its input. */
  fitsNobody(runId: string, scheduledEventId: number): void {
    const run = this.kernel.runs.get(runId);
    const step = run?.state.steps.get(scheduledEventId);
    if (!run || !step || step.closing || step.delivery.status !== 'queued' || run.isPaused) return;
    const { refused } = step.delivery;
    if (!refused) return;
    this.reports.ended(run, step, 'failed', undefined, refused.failure);
    this.endings.attemptFailed(run, step, refused.failure, false);
  }

  cancelled(
    worker: WorkerConnection,
    attempt: StepAttempt,
    details: Payload | undefined,
    costs?: readonly Cost[],
  ): void {
    const current = this.#take(worker, attempt);
    if (!current) {
      this.#stale(worker, attempt, costs);
      return;
    }
    const { run, step } = current;
    this.stepCosts.spent(run, step, costs);
    this.reports.ended(run, step, 'cancelled', worker);
    if (step.cancelRequestedEventId === undefined) {
      const failure: Failure = {
        kind: 'cancelled',
        type: 'CancelledError',
        message: 'the step ended as cancelled, but nobody had cancelled it',
      };
      this.endings.attemptFailed(run, step, failure, false);
      return;
    }
    this.endings.close(run, step, {
      type: 'ACTIVITY_TASK_CANCELED',
      attributes: {
        scheduledEventId: step.scheduledEventId,
        startedEventId: EVENT_BEFORE,
        latestCancelRequestedEventId: step.cancelRequestedEventId,
        details,
      },
    });
  }

  /** Nobody waits for the answer any more, and it is the last that comes of the attempt; what was spent is spent. */
  #stale(worker: WorkerConnection, attempt: StepAttempt, costs: readonly Cost[] | undefined): void {
    this.stepCosts.spentLate(worker, attempt, costs);
    worker.stopped.delete(attemptKey(attempt));
  }

  /** What an attempt has spent so far. */
  costs(worker: WorkerConnection, attempt: StepAttempt, costs: readonly Cost[]): void {
    const current = this.#underWay(worker, attempt);
    if (current) this.stepCosts.spent(current.run, current.step, costs);
    else this.stepCosts.spentLate(worker, attempt, costs);
  }

  #underWay(
    worker: WorkerConnection,
    attempt: StepAttempt,
  ): { run: ActiveRun; step: PendingStep } | undefined {
    if (!worker.steps.has(attemptKey(attempt))) return undefined;
    const run = this.kernel.runs.get(attempt.runId);
    const step = run?.state.steps.get(attempt.scheduledEventId);
    return run && step && !step.closing ? { run, step } : undefined;
  }

  heartbeat(worker: WorkerConnection, attempt: StepAttempt, details: Payload | undefined): void {
    const current = this.#underWay(worker, attempt);
    if (!current) return;
    const { run, step } = current;
    step.delivery.heartbeatAt = this.kernel.clock.now();
    step.delivery.heartbeat = details;
    run.changedSteps.add(step.scheduledEventId);
    this.kernel.commit.changed(run);
  }

  /** The workflow no longer wants the step. */
  cancel(run: ActiveRun, scheduledEventId: number, cancelRequestedEventId: number): void {
    const step = run.state.steps.get(scheduledEventId);
    if (!step || step.closing) return;
    if (step.delivery.status === 'running') {
      const attempt = { runId: run.state.runId, scheduledEventId, attempt: step.delivery.attempt };
      const worker = this.#holders.get(attemptKey(attempt));
      this.kernel.commit.afterCommit(() =>
        worker?.send({ kind: 'stopStep', reason: 'cancelled', ...attempt }),
      );
      return;
    }
    const cancelled = cancelledUnbegun(scheduledEventId, cancelRequestedEventId);
    this.lifecycle.receive(run, [withCosts(run, step, cancelled)]);
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
          this.queue.requeue(run, step);
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

  /**
   * The worker is gone, and with it the attempts it had. Takes some of them from it, and returns whether there are more: that they
   * are under way is what is on disk, so a start takes them up as well.
   */
  workerLost(worker: WorkerConnection): boolean {
    for (const key of worker.steps.keys()) if (this.#holders.get(key) === worker) this.#holders.delete(key);
    const piece = new Piece(LOST_AT_ONCE);
    for (const [key, { runId, scheduledEventId, attempt, isSent }] of worker.steps) {
      if (piece.isFull) return true;
      worker.steps.delete(key);
      const wasThere = this.kernel.runs.inMemory(runId) !== undefined;
      const run = this.kernel.runs.get(runId);
      piece.took(wasThere ? 0 : (run?.readingCost ?? 0));
      const step = run?.state.steps.get(scheduledEventId);
      if (!run || !step || step.closing || step.delivery.attempt !== attempt) continue;
      run.handedOut.delete(scheduledEventId);
      const verdict = worker.verdict(key);
      if (!isSent || verdict === 'unstarted') {
        this.#notBegun(run, step);
      } else {
        this.endings.attemptLost(run, step, `worker ${worker.identity} ended while it ran the step`, verdict);
      }
    }
    return false;
  }

  /** Its code has not run, so the attempt is still to be made, unless nobody wants it any more. */
  #notBegun(run: ActiveRun, step: PendingStep): void {
    const { scheduledEventId, cancelRequestedEventId } = step;
    if (cancelRequestedEventId === undefined) {
      step.delivery.status = 'queued';
      this.queue.requeue(run, step);
      return;
    }
    this.endings.close(run, step, cancelledUnbegun(scheduledEventId, cancelRequestedEventId));
  }

  #timedOut(run: ActiveRun, step: PendingStep, timeout: StepTimeout, timeoutMs: number): void {
    const { delivery, scheduledEventId } = step;
    if (delivery.status === 'running') {
      const key = attemptKey({ runId: run.state.runId, scheduledEventId, attempt: delivery.attempt });
      const worker = this.#holders.get(key);
      this.reports.ended(run, step, 'timedOut', worker);
      if (worker) this.#stop(key, worker, 'timedOut');
      run.handedOut.delete(scheduledEventId);
    }
    this.endings.timedOut(run, step, timeout, timeoutMs);
  }

  /** The step whose current attempt this is, and frees the worker's slot. Undefined for a stale answer. */
  #take(
    worker: WorkerConnection,
    attempt: StepAttempt,
  ): { run: ActiveRun; step: PendingStep; nextTurnId: number | undefined } | undefined {
    const key = attemptKey(attempt);
    const handedOut = worker.steps.get(key);
    if (!handedOut) return undefined;
    const run = this.kernel.runs.get(attempt.runId);
    // Taking it up may have ended it, and the attempt with it.
    if (!worker.steps.delete(key)) return undefined;
    this.#holders.delete(key);
    this.kernel.dispatcher.freed(worker);
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
    this.kernel.dispatcher.freed(worker);
    if (!attempt?.isSent) return;
    worker.wasStopped(key);
    const { runId, scheduledEventId, attempt: number } = attempt;
    this.kernel.commit.afterCommit(() =>
      worker.send({ kind: 'stopStep', reason, runId, scheduledEventId, attempt: number }),
    );
  }
}

/** Its end, where none of its code has run since it was queued. */
function cancelledUnbegun(scheduledEventId: number, latestCancelRequestedEventId: number) {
  const attributes = { scheduledEventId, startedEventId: 0, latestCancelRequestedEventId };
  return { type: 'ACTIVITY_TASK_CANCELED', attributes } as const;
}
