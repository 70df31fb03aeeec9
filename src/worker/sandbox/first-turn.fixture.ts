/** The first turn of a run, as a worker gets it. */
import type { TurnTask } from '../../core/task.js';

let lastTurnId = 0;

export function firstTurn(runId: string, workflowType: string, more: Partial<TurnTask> = {}): TurnTask {
  const workflowId = `id-of-${runId}`;
  const started = { workflowType, workflowId, catalog: 'default', input: [], attempt: 1 };
  const ids = { firstExecutionRunId: runId, originalExecutionRunId: runId };
  return {
    kind: 'turn',
    turnId: ++lastTurnId,
    runId,
    workflowId,
    workflowType,
    catalog: 'default',
    startedAt: 1,
    events: [
      { id: 1, at: 1, type: 'WORKFLOW_EXECUTION_STARTED', attributes: { ...started, ...ids } },
      { id: 2, at: 1, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    ],
    historyLength: 2,
    continueAsNewSuggested: false,
    updates: [],
    queries: [],
    readOnly: false,
    ...more,
  };
}
