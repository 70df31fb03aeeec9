/** Steps that wait for a worker. */
import type { Kernel } from '../kernel.js';
import type { Delivery, PendingStep } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import { stepNeed, type TaskNeed } from '../workers/task-need.js';

/** Crashes from which on a step is tried alone. */
export const PROVEN_CRASHES = 2;

export class StepQueue {
  constructor(private readonly kernel: Kernel) {}

  /** The step's delivery changed and it waits for a worker. */
  requeue(run: ActiveRun, step: PendingStep): void {
    run.changedSteps.add(step.scheduledEventId);
    this.kernel.commit.changed(run);
    this.enqueue(run, step);
  }

  /** The run is paused no more: what waited for that waits for a worker. With `before` only what was asked for until then. */
  resumed(run: ActiveRun, before = Number.POSITIVE_INFINITY): void {
    for (const step of run.state.steps.values()) {
      const { scheduledEventId, delivery, closing } = step;
      if (scheduledEventId < before && delivery.status === 'queued' && !closing) this.enqueue(run, step);
    }
  }

  /** The step waits for a worker, or for its run to be resumed; that it does follows from what is on disk. */
  enqueue(run: ActiveRun, step: PendingStep): void {
    if (run.isPaused) return;
    const { crashes } = step.delivery;
    const { runId, started } = run.state;
    this.kernel.dispatcher.enqueue(
      started.catalog,
      { kind: 'step', runId, need: needOf(run, step), scheduledEventId: step.scheduledEventId },
      run.tree,
      crashes === 0 ? 'none' : crashes < PROVEN_CRASHES ? 'suspect' : 'proven',
    );
  }
}

/** What the step needs of the worker that gets it. */
export function needOf(run: ActiveRun, { stepName, delivery }: PendingStep): TaskNeed {
  const { workflowType } = run.state.started;
  return stepNeed(workflowType, stepName, askedBy(run, delivery), delivery.refused?.by);
}

/** Whether it was this code, by the id of its version, whose turn asked for the step: that is known for certain. */
export const isAskedBy = (codeId: string, run: ActiveRun, delivery: Delivery): boolean =>
  delivery.isCodeGuessed !== true && askedBy(run, delivery) === codeId;

/** The code whose turn asked for the step, by the id of its version. */
const askedBy = ({ version }: ActiveRun, { codeId }: Delivery): string | undefined => codeId ?? version?.id;
