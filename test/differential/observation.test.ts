import { expect, test } from 'vitest';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { RunOutcome } from '../../src/engine.js';
import { Numbering } from './numbering.js';
import { type Observation, observe } from './observation.js';
import { RunView } from './run-view.js';

const TURN = ['WORKFLOW_TASK_SCHEDULED', 'WORKFLOW_TASK_STARTED', 'WORKFLOW_TASK_COMPLETED'];

/** A run that takes one update, and then another one that comes with the second action. */
function observed(between: string[]): Observation {
  const run = new RunView('main', 'run');
  const update = { updateId: 'u', updateName: 'run', input: [] };
  const attributes: Record<string, object> = {
    WORKFLOW_EXECUTION_STARTED: { input: ['{"site":0}'] },
    WORKFLOW_EXECUTION_UPDATE_ACCEPTED: update,
    TIMER_STARTED: { timerId: '1', startToFireTimeoutMs: 1 },
  };
  const first = ['WORKFLOW_EXECUTION_STARTED', ...TURN];
  const second = [...TURN, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED'];
  const third = [...TURN, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED', 'TIMER_STARTED'];
  [...first, ...second, ...between, ...third].forEach((type, index) => {
    run.add({ id: index + 1, at: 0, type, attributes: attributes[type] ?? {} } as HistoryEvent);
  });
  run.cuts.push(1, 2);
  const outcome: RunOutcome = {
    workflowId: 'main',
    runId: 'run',
    status: 'terminated',
    input: '1',
    output: undefined,
    failure: undefined,
    format: 'current',
    trace: null,
  };
  const played = { action: { at: 0, do: 'go' }, answer: { value: 'sent' } } as const;
  const happened = { runs: [run], outcomes: new Map([['run', outcome]]), played: [played, played] };
  return observe(happened, new Numbering({ workflow: 'program', body: [], script: [] }), 'default');
}

test('the first turn of a phase that an update begins is the one that took the update', () => {
  const { firstTurns } = observed([]).runs[0]!;
  expect(firstTurns.map(({ commands }) => commands.map(({ type }) => type))).toEqual([
    [],
    ['WORKFLOW_EXECUTION_UPDATE_ACCEPTED'],
    ['WORKFLOW_EXECUTION_UPDATE_ACCEPTED', 'TIMER_STARTED'],
  ]);
});

test('a turn that only refuses an update, which a history may keep or not, is no turn of any phase', () => {
  expect(observed(TURN).runs[0]!.firstTurns).toEqual(observed([]).runs[0]!.firstTurns);
});
