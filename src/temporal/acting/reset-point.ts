/**
 * Where a history parts for a reset, found by reading through it: of the step only the numbers of its events are kept,
 * and of children which of them may be open.
 */
import { PerdureError } from '../../core/errors.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { ResetPoint, RunRef } from '../../engine.js';
import type { Histories } from '../reading/history.js';

/** One execution of the step. */
interface Execution {
  completedEventId?: number;
  /** The first turn that saw the completion. */
  turnStartedEventId?: number;
}

/** A child that would end with its parent, and of which the history does not say that it has ended. */
export interface OpenChild extends RunRef {
  initiatedEventId: number;
}

export interface Found {
  completedEventId: number;
  turnStartedEventId: number | undefined;
  /** Of the history. */
  length: number;
  /** A turn is due, or was; a run that waits for its retry has none. */
  hasTurns: boolean;
  children: OpenChild[];
}

const PAGE_EVENTS = 256;

/** The step's completion, or the very beginning, which the first turn has seen. @throws StepNotFoundError, StepNotCompletedError */
export async function findPoint(histories: Histories, run: RunRef, point: ResetPoint): Promise<Found> {
  const executions = new Map<number, Execution>();
  const start: Execution & { completedEventId: number } = { completedEventId: 0 };
  const unseen = new Set<Execution>([start]);
  const children = new Children();
  let length = 0;
  let hasTurns = false;
  for await (const event of eventsOf(histories, run)) {
    length = event.id;
    children.follow(event);
    switch (event.type) {
      case 'ACTIVITY_TASK_SCHEDULED':
        if (event.attributes.stepName === point.stepName) executions.set(event.id, {});
        break;
      case 'ACTIVITY_TASK_COMPLETED': {
        const execution = executions.get(event.attributes.scheduledEventId);
        if (!execution) break;
        execution.completedEventId = event.id;
        unseen.add(execution);
        break;
      }
      case 'WORKFLOW_TASK_SCHEDULED':
        hasTurns = true;
        break;
      case 'WORKFLOW_TASK_STARTED':
        for (const execution of unseen) execution.turnStartedEventId = event.id;
        unseen.clear();
        break;
      default:
    }
  }
  const found = point.toStart ? start : chosen([...executions.values()], point, run);
  const { completedEventId, turnStartedEventId } = found;
  return { completedEventId, turnStartedEventId, length, hasTurns, children: children.open };
}

export async function openChildren(histories: Histories, run: RunRef): Promise<OpenChild[]> {
  const children = new Children();
  for await (const event of eventsOf(histories, run)) children.follow(event);
  return children.open;
}

class Children {
  readonly #attached = new Set<number>();
  readonly #open = new Map<number, OpenChild>();

  follow(event: HistoryEvent): void {
    switch (event.type) {
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
        if (event.attributes.parentClosePolicy !== 'ABANDON') this.#attached.add(event.id);
        break;
      case 'CHILD_WORKFLOW_EXECUTION_STARTED': {
        const { initiatedEventId, workflowExecution } = event.attributes;
        if (!this.#attached.has(initiatedEventId)) break;
        this.#open.set(initiatedEventId, { ...workflowExecution, initiatedEventId });
        break;
      }
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
      case 'CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
        this.#open.delete(event.attributes.initiatedEventId);
        break;
      default:
    }
  }

  get open(): OpenChild[] {
    return [...this.#open.values()];
  }
}

async function* eventsOf(histories: Histories, { workflowId, runId }: RunRef): AsyncGenerator<HistoryEvent> {
  let afterEventId = 0;
  for (;;) {
    const { events } = await histories.read({ workflowId, runId }, { afterEventId, limit: PAGE_EVENTS });
    yield* events;
    if (events.length < PAGE_EVENTS) return;
    afterEventId = events.at(-1)!.id;
  }
}

function chosen(
  executions: readonly Execution[],
  { stepName, occurrence }: Extract<ResetPoint, { stepName: string }>,
  { workflowId, runId }: RunRef,
): Execution & { completedEventId: number } {
  const run = { workflowId, runId };
  const { length } = executions;
  if (length === 0 || (occurrence !== undefined && occurrence > length)) {
    const found = length === 0 ? 'is not in the history' : `was executed ${length} times, not ${occurrence}`;
    throw new PerdureError('StepNotFoundError', `step "${stepName}" ${found}`, run);
  }
  const isCompleted = (
    execution: Execution | undefined,
  ): execution is Execution & { completedEventId: number } => execution?.completedEventId !== undefined;
  const found = occurrence === undefined ? executions.findLast(isCompleted) : executions[occurrence - 1];
  if (!isCompleted(found)) {
    throw new PerdureError('StepNotCompletedError', `step "${stepName}" has not completed`, run);
  }
  return found;
}
