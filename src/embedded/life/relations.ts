/**
 * What runs have to do with each other: children and parents, signals and cancellations from one workflow to another.
 * Both sides change in the same commit, so there is no moment at which only one of them knows.
 */
import { PerdureError } from '../../core/errors.js';
import { faultPoint } from '../../core/fault-point.js';
import type {
  EventOf,
  Execution,
  ExternalFailureCause,
  HistoryEvent,
  NewEvent,
} from '../../core/history/event.js';
import type { Kernel } from '../kernel.js';
import { type PendingChild, treeOf } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import { DamagedRunError } from '../store/damage.js';
import type { Lifecycle, RunClosed } from './lifecycle.js';
import { hasBudget } from './purses.js';

export class Relations {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
  ) {}

  startChild(parent: ActiveRun, initiated: EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>): void {
    const { workflowId, workflowType, catalog, input, parentClosePolicy } = initiated.attributes;
    // The turn that asked for it has closed the run: there is nobody that it could end with.
    if (parent.isClosed && parentClosePolicy !== 'ABANDON') return;
    if (this.kernel.runs.isTaken(workflowId) && !this.#canStartAgain(parent, workflowId)) {
      this.lifecycle.receive(parent, [
        {
          type: 'START_CHILD_WORKFLOW_EXECUTION_FAILED',
          attributes: {
            initiatedEventId: initiated.id,
            workflowId,
            workflowType,
            cause: 'WORKFLOW_ALREADY_EXISTS',
          },
        },
      ]);
      return;
    }
    const child = this.lifecycle.start(
      { workflowId, workflowType, catalog, input },
      {
        parent: {
          workflowId: parent.state.workflowId,
          runId: parent.state.runId,
          initiatedEventId: initiated.id,
          depth: (parent.state.started.parent?.depth ?? 0) + 1,
          tree: treeOf(parent.state),
          ...(hasBudget(parent.state) && { hasBudget: true }),
        },
        ...(parent.state.started.traceContext && { traceContext: parent.state.started.traceContext }),
      },
    );
    this.kernel.commit.together(parent, child);
    faultPoint('childStart');
    this.lifecycle.receive(parent, [
      {
        type: 'CHILD_WORKFLOW_EXECUTION_STARTED',
        attributes: {
          initiatedEventId: initiated.id,
          workflowExecution: { workflowId, runId: child.state.runId },
          workflowType,
        },
      },
    ]);
  }

  /** The id is that of a child which the parent had started in a part of its history that a reset has cut off. */
  #canStartAgain({ state }: ActiveRun, workflowId: string): boolean {
    return (
      state.restartableChildren.has(workflowId) && this.kernel.runs.latest(workflowId)?.isClosed === true
    );
  }

  signalExternal(
    sender: ActiveRun,
    initiated: EventOf<'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>,
  ): void {
    const { workflowId, signalName, input } = initiated.attributes;
    const target = this.#otherRun(sender, workflowId);
    let cause: ExternalFailureCause | undefined;
    if (!target) cause = 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND';
    else {
      const { workflowId: from, runId } = sender.state;
      this.kernel.commit.together(sender, target);
      try {
        this.lifecycle.signal(target, {
          signalName,
          input,
          externalWorkflowExecution: { workflowId: from, runId },
        });
        faultPoint('external');
      } catch (error) {
        if (!(error instanceof PerdureError)) throw error;
        cause = 'SIGNAL_COUNT_LIMIT_EXCEEDED';
      }
    }
    this.lifecycle.receive(sender, [
      cause
        ? {
            type: 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
            attributes: { initiatedEventId: initiated.id, workflowId, cause },
          }
        : {
            type: 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowExecution: { workflowId, runId: target!.state.runId },
            },
          },
    ]);
  }

  cancelExternal(
    sender: ActiveRun,
    initiated: EventOf<'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>,
  ): void {
    const { workflowId } = initiated.attributes;
    const target = this.#otherRun(sender, workflowId);
    if (target) {
      this.kernel.commit.together(sender, target);
      this.lifecycle.cancel(target, `requested by workflow ${sender.state.workflowId}`);
    }
    // To have stopped already is what was asked for.
    const runId = target?.state.runId ?? this.#closedRun(sender, workflowId);
    this.lifecycle.receive(sender, [
      runId !== undefined
        ? {
            type: 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowExecution: { workflowId, runId },
            },
          }
        : {
            type: 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowId,
              cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
            },
          },
    ]);
  }

  /** A run has closed: its parent hears of it, unless another run goes on in its place. */
  closed({ run, event, successor, isReset }: RunClosed): void {
    if (!isReset && !successor) this.#tellParent(run, event);
  }

  /** As on Temporal, a workflow is no other workflow to itself: what it sends to its own id finds nobody. */
  #otherRun(sender: ActiveRun, workflowId: string): ActiveRun | undefined {
    return sender.state.workflowId === workflowId ? undefined : this.kernel.runs.open(workflowId);
  }

  #closedRun(sender: ActiveRun, workflowId: string): string | undefined {
    return sender.state.workflowId === workflowId ? undefined : this.kernel.runs.glance(workflowId)?.runId;
  }

  #tellParent(run: ActiveRun, event: HistoryEvent): void {
    const { parent } = run.state.started;
    if (!parent) return;
    // A parent that was reset goes on as another run, which still waits for this child.
    let target = this.kernel.runs.get(parent.runId);
    if (!target || target.isClosed) target = this.kernel.runs.open(parent.workflowId);
    const child = target?.state.children.get(parent.initiatedEventId);
    // Of a child that a reset has cut off, the new run may have started another in its place.
    if (!target || !child || child.closing || child.runId !== run.state.started.firstExecutionRunId) return;
    const { workflowId, runId } = run.state;
    this.kernel.commit.together(run, target);
    this.lifecycle.receive(target, [childClosed(child, { workflowId, runId }, event)]);
    faultPoint('childClosed');
  }

  /**
   * The end of a child of which a run that waits for it has not heard, from what is on disk. Undefined while the child is
   * open, and where its end cannot be read.
   */
  closedSince(child: PendingChild): NewEvent | undefined {
    if (child.runId === undefined) return undefined;
    const { tables } = this.kernel;
    const { workflowId } = child;
    try {
      const row = tables.runs.latest(workflowId);
      // Retention has removed it, and perhaps somebody else has its id by now.
      if (row?.first_run_id !== child.runId) {
        return childClosed(child, { workflowId, runId: child.runId }, undefined);
      }
      if (row.closed_at === null) return undefined;
      return childClosed(child, { workflowId, runId: row.run_id }, tables.history.last(row.key));
    } catch (error) {
      if (error instanceof DamagedRunError) return undefined;
      throw error;
    }
  }
}

/** What the parent records of a child that closed with `event`; one that retention has removed counts as terminated. */
export function childClosed(
  { initiatedEventId, startedEventId = 0, workflowType }: PendingChild,
  workflowExecution: Execution,
  event: HistoryEvent | undefined,
): NewEvent {
  const child = { initiatedEventId, startedEventId, workflowExecution, workflowType };
  switch (event?.type) {
    case 'WORKFLOW_EXECUTION_COMPLETED':
      return {
        type: 'CHILD_WORKFLOW_EXECUTION_COMPLETED',
        attributes: { ...child, result: event.attributes.result },
      };
    case 'WORKFLOW_EXECUTION_FAILED':
      return {
        type: 'CHILD_WORKFLOW_EXECUTION_FAILED',
        attributes: { ...child, failure: event.attributes.failure },
      };
    case 'WORKFLOW_EXECUTION_CANCELED':
      return { type: 'CHILD_WORKFLOW_EXECUTION_CANCELED', attributes: child };
    case 'WORKFLOW_EXECUTION_TIMED_OUT':
      return { type: 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT', attributes: child };
    default:
      return { type: 'CHILD_WORKFLOW_EXECUTION_TERMINATED', attributes: child };
  }
}
