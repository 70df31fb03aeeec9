/**
 * Turns that a worker begins by itself, as soon as the step that its run waits for has completed.
 *
 * 1. Such a turn counts only if it saw the very history that the engine would have sent.
 */
import type { NextTurn } from '../../core/task.js';
import type { Kernel } from '../kernel.js';
import { type PendingStep, pendingCount } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import type { WorkerConnection } from '../workers/worker-connection.js';
import { suggestsContinueAsNew, turnIsSent } from './turn-task.js';

export class BegunTurns {
  constructor(private readonly kernel: Kernel) {}

  /** The turn after `step`, for a worker that can begin it: the step is all that the run waits for. */
  offer(run: ActiveRun, step: PendingStep, worker: WorkerConnection): NextTurn | undefined {
    const { activityId, scheduledEventId } = step;
    const isOffered =
      hasOnlyRecord(run, step, worker) &&
      pendingCount(run.state) === 1 &&
      !run.wasBegunInVain &&
      run.suspicion === 'none';
    if (!isOffered) return undefined;
    return {
      turnId: this.kernel.dispatcher.nextTurnId(),
      activityId,
      sentAt: Math.max(this.kernel.clock.now(), run.state.lastAt),
      continueAsNewSuggested: suggestsContinueAsNew(this.kernel, scheduledEventId + EVENTS_OF_STEP),
    };
  }

  /** Whether the turn that the worker has begun is the one that it would be given now. */
  isBegun(
    run: ActiveRun,
    step: PendingStep,
    worker: WorkerConnection,
    begunAt: number | undefined,
  ): begunAt is number {
    return (
      begunAt !== undefined &&
      begunAt >= run.state.lastAt &&
      begunAt <= this.kernel.clock.now() &&
      hasOnlyRecord(run, step, worker) &&
      !worker.isDraining
    );
  }

  begun(run: ActiveRun, worker: WorkerConnection, turnId: number, workflowTime: number): void {
    const { runId, lastEventId: upTo, lastAt: startedAt } = run.state;
    if (run.isClosed) return;
    const sentAt = this.kernel.scheduler.monotonicMs();
    run.turn = { turnId, worker, startedAt, workflowTime, sentAt, upTo, updates: [], queries: [] };
    worker.turns.set(turnId, runId);
    turnIsSent(this.kernel, run, run.turn);
  }

  /** The worker's copy of the run has lived through a turn that will not be. */
  refuseBegun(worker: WorkerConnection, runId: string): void {
    const run = this.kernel.runs.inMemory(runId);
    if (run) run.wasBegunInVain = true;
    if (this.kernel.dispatcher.cachedBy(runId) === worker) this.kernel.dispatcher.forget(runId, true);
  }
}

/** A step that completes is recorded as started and completed, and a turn is scheduled. */
const EVENTS_OF_STEP = 3;
/** A turn that does nothing but schedule a step is recorded as started and completed, followed by the step. */
const EVENTS_OF_TURN = 3;

/** Whether nothing has happened since the turn that scheduled the step, and the worker lacks nothing but that turn's record. */
function hasOnlyRecord(
  { state, turn, inbox }: ActiveRun,
  { scheduledEventId }: PendingStep,
  worker: WorkerConnection,
): boolean {
  return (
    state.lastEventId === scheduledEventId &&
    worker.cached.get(state.runId) === scheduledEventId - EVENTS_OF_TURN &&
    turn === undefined &&
    inbox.length === 0
  );
}
