/**
 * The turn that follows a step, as the engine would send it (core/task.ts, 4): the record of the turn that scheduled the
 * step and nothing else, the step's result, and the turn scheduled by it.
 */
import type { EventTypeName, HistoryEvent } from '../core/history/event.js';
import type { NextTurn, StepTask, TurnTask } from '../core/task.js';
import type { Payload } from '../core/values/json.js';

/** The first event that the worker does not have when it is asked for the step. */
export const firstUnsent = ({ scheduledEventId }: StepTask): number => scheduledEventId - 2;

export function nextTurn(
  task: StepTask,
  next: NextTurn,
  catalog: string,
  result: Payload | undefined,
  startedAt: number,
): TurnTask {
  const { runId, workflowId, workflowType, stepName, scheduledEventId, attempt } = task;
  const events: HistoryEvent[] = [];
  const append = (type: EventTypeName, attributes: object) => {
    events.push({ id: firstUnsent(task) + events.length, at: startedAt, type, attributes } as HistoryEvent);
  };
  append('WORKFLOW_TASK_STARTED', {});
  append('WORKFLOW_TASK_COMPLETED', {});
  append('ACTIVITY_TASK_SCHEDULED', { activityId: next.activityId, stepName });
  append('ACTIVITY_TASK_STARTED', { scheduledEventId, attempt });
  append('ACTIVITY_TASK_COMPLETED', { scheduledEventId, startedEventId: scheduledEventId + 1, result });
  append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
  return {
    kind: 'turn',
    turnId: next.turnId,
    runId,
    workflowId,
    workflowType,
    catalog,
    startedAt,
    events,
    historyLength: events.at(-1)!.id,
    continueAsNewSuggested: next.continueAsNewSuggested,
    updates: [],
    queries: [],
    readOnly: false,
  };
}
