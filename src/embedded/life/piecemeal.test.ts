/** How much of histories a piece reads before others get their turn. */
import { expect, it } from 'vitest';
import type { HistoryEvent } from '../../core/history/event.js';
import { initialState } from '../state/run-state.js';
import { ActiveRun } from '../store/active-run.js';
import { Piece } from './piecemeal.js';

const STARTED: HistoryEvent = {
  id: 1,
  at: 1_800_000_000_000,
  type: 'WORKFLOW_EXECUTION_STARTED',
  attributes: {
    ...{ workflowType: 'flow', workflowId: 'w', catalog: 'default', input: [], attempt: 1 },
    ...{ firstExecutionRunId: 'r', originalExecutionRunId: 'r' },
  },
};

function runsOfAPiece(events: number, bytesOfEach: number): number {
  const run = new ActiveRun(1, initialState('r', STARTED));
  run.historyBytes = events * bytesOfEach;
  run.state.lastEventId = events;
  const piece = new Piece(1_000_000);
  let runs = 0;
  for (; !piece.isFull; runs++) piece.took(run.readingCost);
  return runs;
}

it('is bounded in bytes, and in events, of which the shortest take almost none', () => {
  expect(runsOfAPiece(1, 700_000)).toBe(3);
  expect(runsOfAPiece(10_000, 14)).toBeLessThan(4);
  expect(runsOfAPiece(100, 14)).toBeGreaterThan(200);
});
