/**
 * What runs have to do with each other: children and parents, signals and cancellations from one workflow to another.
 * Both sides change in the same commit, so there is no moment at which only one of them knows.
 */
import { PerdureError } from '../core/errors.js';
import type {
  EventAttributes,
  EventOf,
  ExternalFailureCause,
  HistoryEvent,
  NewEvent,
} from '../core/event.js';
import type { ActiveRun } from './active-run.js';
import type { Machine } from './machine.js';
import type { PendingChild } from './state.js';

export class Relations {
  constructor(private readonly machine: Machine) {}

  startChild(parent: ActiveRun, initiated: EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>): void {
    const { workflowId, workflowType, catalog, input, parentClosePolicy } = initiated.attributes;
    // The turn that asked for it has closed the run: there is nobody that it could end with.
    if (parent.isClosed && parentClosePolicy !== 'ABANDON') return;
    if (this.machine.runs.isTaken(workflowId)) {
      this.machine.lifecycle.receive(parent, [
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
    const child = this.machine.lifecycle.start(
      { workflowId, workflowType, catalog, input },
      {
        parent: {
          workflowId: parent.state.workflowId,
          runId: parent.state.runId,
          initiatedEventId: initiated.id,
          depth: (parent.state.started.parent?.depth ?? 0) + 1,
        },
      },
    );
    this.machine.lifecycle.receive(parent, [
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
      try {
        this.machine.lifecycle.signal(target, {
          signalName,
          input,
          externalWorkflowExecution: { workflowId: from, runId },
        });
      } catch (error) {
        if (!(error instanceof PerdureError)) throw error;
        cause = 'SIGNAL_COUNT_LIMIT_EXCEEDED';
      }
    }
    this.machine.lifecycle.receive(sender, [
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
    const target = this.#otherRun(sender, workflowId, true);
    // To have stopped already is what was asked for.
    if (target && !target.isClosed)
      this.machine.lifecycle.cancel(target, `requested by workflow ${sender.state.workflowId}`);
    this.machine.lifecycle.receive(sender, [
      target
        ? {
            type: 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
            attributes: {
              initiatedEventId: initiated.id,
              workflowExecution: { workflowId, runId: target.state.runId },
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

  /** The run has closed: what its children are to do then. */
  closeChildren(run: ActiveRun): void {
    for (const child of run.state.children.values()) this.#closeChild(child);
  }

  #closeChild(child: PendingChild): void {
    if (child.runId === undefined || child.parentClosePolicy === 'ABANDON') return;
    const run = this.#openRun(child.workflowId);
    if (
      !run ||
      run.state.started.firstExecutionRunId !==
        this.machine.runs.get(child.runId)?.state.started.firstExecutionRunId
    ) {
      return;
    }
    if (child.parentClosePolicy === 'REQUEST_CANCEL') this.machine.lifecycle.cancel(run, 'the parent closed');
    else {
      this.machine.lifecycle.endFromOutside(run, {
        type: 'WORKFLOW_EXECUTION_TERMINATED',
        attributes: { reason: 'the parent closed' },
      });
    }
  }

  /** As on Temporal, a workflow is no other workflow to itself: what it sends to its own id finds nobody. */
  #otherRun(sender: ActiveRun, workflowId: string, orClosed = false): ActiveRun | undefined {
    if (sender.state.workflowId === workflowId) return undefined;
    return orClosed ? this.machine.runs.latest(workflowId) : this.#openRun(workflowId);
  }

  #openRun(workflowId: string): ActiveRun | undefined {
    const run = this.machine.runs.latest(workflowId);
    return run && !run.isClosed ? run : undefined;
  }

  tellParent(run: ActiveRun, event: HistoryEvent): void {
    const { parent } = run.state.started;
    if (!parent) return;
    // A parent that was reset goes on as another run, which still waits for this child.
    let target = this.machine.runs.get(parent.runId);
    if (!target || target.isClosed) target = this.#openRun(parent.workflowId);
    const child = target?.state.children.get(parent.initiatedEventId);
    if (!target || !child || child.closing || child.workflowId !== run.state.workflowId) return;
    const closed = {
      initiatedEventId: child.initiatedEventId,
      startedEventId: child.startedEventId ?? 0,
      workflowExecution: { workflowId: run.state.workflowId, runId: run.state.runId },
      workflowType: run.state.started.workflowType,
    };
    this.machine.lifecycle.receive(target, [childClosed(closed, event)]);
  }
}

function childClosed(
  child: EventAttributes['CHILD_WORKFLOW_EXECUTION_CANCELED'],
  event: HistoryEvent,
): NewEvent {
  switch (event.type) {
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
