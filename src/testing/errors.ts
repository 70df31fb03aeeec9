/** What a test is told when a workflow did not come to a result. */
import type { ClosedStatus } from '../core/run/run.js';

export interface WhichRun {
  workflowType: string;
  workflowId: string;
  runId: string;
}

/** The workflow failed, was cancelled or terminated, or took longer than it may. `cause` is the error that ended it. */
export class WorkflowFailedError extends Error {
  override readonly name = 'WorkflowFailedError';
  readonly workflowType: string;
  readonly workflowId: string;
  readonly runId: string;
  constructor(
    run: WhichRun,
    readonly status: ClosedStatus,
    override readonly cause: Error,
  ) {
    super(
      `workflow "${run.workflowType}" (${run.workflowId}) ${STATUS[status]}: ${cause.name}: ${cause.message}`,
      {
        cause,
      },
    );
    ({ workflowType: this.workflowType, workflowId: this.workflowId, runId: this.runId } = run);
  }
}

const STATUS: Record<ClosedStatus, string> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
  terminated: 'was terminated',
  timed_out: 'timed out',
  continued_as_new: 'continued as new',
};

/** The workflow has no result and will have none: it waits for what nobody sends, or its code does not fit its history. */
export class WorkflowStuckError extends Error {
  override readonly name = 'WorkflowStuckError';
  readonly workflowId: string;
  readonly runId: string;
  constructor({ workflowType, workflowId, runId }: WhichRun, why: string) {
    super(`workflow "${workflowType}" (${workflowId}) will not come to an end by itself: ${why}`);
    this.workflowId = workflowId;
    this.runId = runId;
  }
}

/** What the program came to depends on what went wrong on the way. */
export class CrashDifferenceError extends Error {
  override readonly name = 'CrashDifferenceError';
  constructor(
    readonly seed: number,
    /** Where it went wrong: pass it as `point` to have that trial alone. */
    readonly point: string,
    what: string,
    options?: ErrorOptions,
  ) {
    super(
      `${what} (seed ${seed}, point "${point}"). To have this trial alone: crashEverywhere(env, program, { seed: ${seed}, point: ${JSON.stringify(point)} })`,
      options,
    );
  }
}
