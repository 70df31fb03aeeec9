/** What whoever operates the service hears of attempts. */
import type { Failure } from '../../core/history/failure.js';
import type { AttemptOutcome, FailedAttempt } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import { type PendingStep, tracedRun } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import type { WorkerConnection } from '../workers/worker-connection.js';

export class AttemptReports {
  constructor(private readonly kernel: Kernel) {}

  ended(
    { state }: ActiveRun,
    step: PendingStep,
    outcome: AttemptOutcome,
    worker?: WorkerConnection,
    failure?: Failure,
  ): void {
    const { clock, observer } = this.kernel;
    observer.attemptEnded?.({
      workflowType: state.started.workflowType,
      stepName: step.stepName,
      attempt: step.delivery.attempt,
      outcome,
      ...(failure && { errorType: failure.type }),
      durationMs: clock.now() - step.delivery.startedAt,
      run: tracedRun(state),
      hasSpan: worker?.makesSpans === true,
    });
  }

  /** Whoever operates the service hears of it once it is true: `step` is as it is after the decision. */
  failed(run: ActiveRun, step: PendingStep, attempt: number, failure: Failure, isLast: boolean): void {
    const { observer, clock } = this.kernel;
    if (!observer.attemptFailed) return;
    const { workflowId, runId, started } = run.state;
    const { status, availableAt } = step.delivery;
    const failed: FailedAttempt = {
      ...{ workflowId, runId, workflowType: started.workflowType, stepName: step.stepName, attempt, failure },
      maximumAttempts: step.settings.retry.maximumAttempts,
      nextAttemptAt: isLast ? null : status === 'backoff' ? availableAt : clock.now(),
    };
    this.kernel.commit.afterCommit(() => observer.attemptFailed?.(failed));
  }
}
