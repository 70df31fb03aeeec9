import { expect, it } from 'vitest';
import type { HistoryEvent } from '../../core/history/event.js';
import { applyEvent, initialState } from './run-state.js';

it('keeps the children of an earlier reset restartable after another one', () => {
  const attributes = { workflowId: 'w', workflowType: 'flow', catalog: 'default', input: [], attempt: 1 };
  const run = { firstExecutionRunId: 'r', originalExecutionRunId: 'r' };
  const state = initialState('r', {
    ...{ id: 1, at: 1, type: 'WORKFLOW_EXECUTION_STARTED', attributes: { ...attributes, ...run } },
  });
  for (const child of ['first', 'second']) {
    applyEvent(state, {
      id: state.lastEventId + 1,
      at: 2,
      type: 'WORKFLOW_TASK_FAILED',
      attributes: { cause: 'RESET_WORKFLOW', cutOffChildren: [child] },
    } as unknown as HistoryEvent);
  }
  expect([...state.restartableChildren]).toEqual(['first', 'second']);
});
