/** Where a history is parted for a reset. Pure; refuses with a typed error before anything has changed. */
import { PerdureError } from '../../core/errors.js';
import type { EventOf, HistoryEvent } from '../../core/history/event.js';
import type { ResetPoint, RunSelector } from '../../engine.js';

/**
 * The events that the new run has: all before the turn that saw the step's completion, or before the first turn of all.
 * Where there was no such turn, all before the close that came first.
 * @throws StepNotFoundError, StepNotCompletedError
 */
export function keptEvents(
  history: readonly HistoryEvent[],
  point: ResetPoint,
  selector: RunSelector,
): HistoryEvent[] {
  // What came before any code ran is a part of the start.
  const completion = point.toStart ? 0 : completionOf(history, point, selector);
  for (let index = completion; index < history.length - 1; index++) {
    if (
      history[index]!.type === 'WORKFLOW_TASK_STARTED' &&
      history[index + 1]!.type === 'WORKFLOW_TASK_COMPLETED'
    ) {
      return history.slice(0, index);
    }
  }
  let end = history.length;
  while (end > completion && isCloseFromOutside(history[end - 1]!)) end--;
  return history.slice(0, end);
}

/** The children that the events ask for. */
export const childrenAskedFor = (
  events: readonly HistoryEvent[],
): EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>[] =>
  events.filter((event) => event.type === 'START_CHILD_WORKFLOW_EXECUTION_INITIATED');

type StepPoint = Extract<ResetPoint, { stepName: string }>;

/** The event that completed the wanted execution of the step. */
function completionOf(
  history: readonly HistoryEvent[],
  { stepName, occurrence }: StepPoint,
  selector: RunSelector,
): number {
  const executions = new Map<number, number | undefined>();
  for (const event of history) {
    if (event.type === 'ACTIVITY_TASK_SCHEDULED' && event.attributes.stepName === stepName) {
      executions.set(event.id, undefined);
    }
    if (event.type === 'ACTIVITY_TASK_COMPLETED' && executions.has(event.attributes.scheduledEventId)) {
      executions.set(event.attributes.scheduledEventId, event.id);
    }
  }
  const ends = [...executions.values()];
  if (ends.length === 0 || (occurrence !== undefined && occurrence > ends.length)) {
    const found =
      ends.length === 0 ? 'is not in the history' : `was executed ${ends.length} times, not ${occurrence}`;
    throw new PerdureError('StepNotFoundError', `step "${stepName}" ${found}`, selector);
  }
  const chosen =
    occurrence !== undefined ? ends[occurrence - 1] : ends.filter((end) => end !== undefined).at(-1);
  if (chosen === undefined) {
    throw new PerdureError('StepNotCompletedError', `step "${stepName}" has not completed`, selector);
  }
  return chosen;
}

function isCloseFromOutside(event: HistoryEvent): boolean {
  return (
    event.type === 'WORKFLOW_EXECUTION_TERMINATED' ||
    event.type === 'WORKFLOW_EXECUTION_TIMED_OUT' ||
    event.type === 'WORKFLOW_EXECUTION_FAILED'
  );
}
