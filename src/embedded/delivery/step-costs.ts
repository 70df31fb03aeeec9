/** What attempts of steps have spent: with the step until it closes, then with the event that closes it, and out of the purse. */
import { bounded, type Cost, type CostRecord } from '../../core/cost/cost.js';
import type { NewEvent } from '../../core/history/event.js';
import type { StepAttempt } from '../../core/task.js';
import type { Kernel } from '../kernel.js';
import type { Purses } from '../life/purses.js';
import type { PendingStep } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import { attemptKey, type WorkerConnection } from '../workers/worker-connection.js';

export class StepCosts {
  constructor(
    private readonly kernel: Kernel,
    private readonly purses: Purses,
  ) {}

  /** The step with its costs until it closes, which its closing event then has. */
  spent(
    run: ActiveRun,
    step: PendingStep,
    costs: readonly Cost[] | undefined,
    attempt = step.delivery.attempt,
  ): void {
    if (!costs) return;
    const { delivery, activityId, stepName } = step;
    // In the order of their time, whatever is done to the clock.
    const at = Math.max(this.kernel.clock.now(), delivery.costs?.at(-1)?.at ?? 0);
    const said = { at, stepName, activityId, attempt };
    const records = costs.map((cost): CostRecord => ({ ...said, ...cost }));
    delivery.costs = bounded([...(delivery.costs ?? []), ...records]);
    run.changedSteps.add(step.scheduledEventId);
    this.kernel.commit.changed(run);
    this.#paid(run, records);
  }

  /**
   * The attempt had timed out, or its run had closed, when this came; it was said before. The step has it as long as there
   * is another attempt. What has closed does not change any more, but what is spent is gone from the purse all the same.
   * Of an attempt that the worker was not told to stop nothing is taken: an answer that comes twice counts once.
   */
  spentLate(worker: WorkerConnection, attempt: StepAttempt, costs: readonly Cost[] | undefined): void {
    if (!costs || !worker.stopped.has(attemptKey(attempt))) return;
    const run = this.kernel.runs.get(attempt.runId);
    if (!run) return;
    const step = run.isClosed ? undefined : run.state.steps.get(attempt.scheduledEventId);
    if (!step || step.closing) this.#paid(run, costs);
    else this.spent(run, step, costs, Math.min(attempt.attempt, step.delivery.attempt));
  }

  #paid(run: ActiveRun, costs: readonly Cost[]): void {
    this.purses.spend(run, costs);
    const { observer } = this.kernel;
    const { workflowType } = run.state.started;
    if (observer.spent) this.kernel.commit.afterCommit(() => observer.spent?.(workflowType, costs));
  }
}

/** What the step has spent goes over to the event that closes it, so that it counts once. */
export function withCosts(
  run: ActiveRun,
  { delivery, scheduledEventId }: PendingStep,
  event: NewEvent,
): NewEvent {
  const { costs } = delivery;
  if (!costs) return event;
  delete delivery.costs;
  run.changedSteps.add(scheduledEventId);
  return { ...event, attributes: { ...event.attributes, costs } } as NewEvent;
}
