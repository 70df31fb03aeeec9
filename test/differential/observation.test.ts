import { expect, test } from 'vitest';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { RunOutcome } from '../../src/engine.js';
import { Numbering } from './numbering.js';
import { type Observation, observe } from './observation.js';
import type { Program, StepBehaviour } from './program.js';
import { RunView } from './run-view.js';
import { wrongCosts } from './spent.js';

const TURN = ['WORKFLOW_TASK_SCHEDULED', 'WORKFLOW_TASK_STARTED', 'WORKFLOW_TASK_COMPLETED'];

/** A run that takes one update, and then another one that comes with the second action. */
function observed(between: string[]): Observation {
  const update = { updateId: 'u', updateName: 'run', input: [] };
  const attributes: Record<string, object> = {
    WORKFLOW_EXECUTION_STARTED: { input: ['{"site":0}'] },
    WORKFLOW_EXECUTION_UPDATE_ACCEPTED: update,
    TIMER_STARTED: { timerId: '1', startToFireTimeoutMs: 1 },
  };
  const first = ['WORKFLOW_EXECUTION_STARTED', ...TURN];
  const second = [...TURN, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED'];
  const third = [...TURN, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED', 'TIMER_STARTED'];
  const events = [...first, ...second, ...between, ...third];
  return observedOf(events.map((type) => ({ type, attributes: attributes[type] ?? {} })));
}

function observedOf(events: { type: string; attributes: object }[]): Observation {
  const run = new RunView('main', 'run');
  events.forEach((event, index) => {
    run.add({ id: index + 1, at: 0, ...event } as HistoryEvent);
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
  const spent = [{ workflowId: 'main', runId: 'run', workflowType: 'program', records: [] }];
  const happened = {
    ...{ runs: [run], outcomes: new Map([['run', outcome]]), played: [played, played] },
    ...{ costs: spent, treeCosts: spent, budget: null, met: [], begun: [] },
  };
  const program: Program = { workflow: 'program', body: [], script: [] };
  return observe(happened, program, new Numbering(program), 'default');
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

/** A step whose first two attempts end with their time, which the program tells so many attempts to do. */
function disturbancesWith(does: StepBehaviour, timeoutType: string): string[] {
  const failure = { kind: 'timeout', type: 'TimeoutError', message: 'late', timeoutType };
  return observedOf([
    { type: 'WORKFLOW_EXECUTION_STARTED', attributes: { input: ['{"site":0}'] } },
    ...TURN.map((type) => ({ type, attributes: {} })),
    {
      type: 'ACTIVITY_TASK_SCHEDULED',
      attributes: { stepName: 'silent', input: [JSON.stringify({ does, site: 1 })], settings: {} },
    },
    { type: 'ACTIVITY_TASK_STARTED', attributes: { scheduledEventId: 5, attempt: 2, lastFailure: failure } },
    {
      type: 'ACTIVITY_TASK_TIMED_OUT',
      attributes: { scheduledEventId: 5, startedEventId: 6, failure: { ...failure, attempt: 2 } },
    },
  ]).disturbances;
}

test.each([
  [{ kind: 'hang', times: 2 }, 'HEARTBEAT', []],
  [{ kind: 'hang', times: 1 }, 'HEARTBEAT', [2]],
  [{ kind: 'hang', times: 1 }, 'START_TO_CLOSE', [2]],
  [{ kind: 'beat' }, 'HEARTBEAT', [1, 2]],
  [{ kind: 'beat' }, 'SCHEDULE_TO_CLOSE', []],
] as const)(
  'with %j and a timeout %s the attempts %j were lost to the machine',
  (does, timeoutType, lost) => {
    expect(disturbancesWith(does, timeoutType)).toEqual(
      lost.map((attempt) => `attempt ${attempt} of silent was lost`),
    );
  },
);

test.each(['run', 'tree'])('what scope %s leaves out of what a step has spent is told', (scope) => {
  const run = new RunView('main', 'run');
  const said = { kind: 'llm', label: null, currency: 'USD', amount: '0.1', usage: {} };
  const records = [{ at: 0, stepName: 'act', activityId: '1', attempt: 1, ...said }];
  run.add({
    ...{ id: 1, at: 0, type: 'ACTIVITY_TASK_SCHEDULED' },
    attributes: { activityId: '1', stepName: 'act', input: ['{"site":1}'] },
  } as unknown as HistoryEvent);
  run.add({
    ...{ id: 2, at: 0, type: 'ACTIVITY_TASK_COMPLETED' },
    attributes: { scheduledEventId: 1, costs: records },
  } as unknown as HistoryEvent);
  const spent = { workflowId: 'main', runId: 'run', workflowType: 'program' };
  const told = (left: string) => [{ ...spent, records: left === scope ? [] : records }];
  const happened = { runs: [run], outcomes: new Map(), played: [], budget: null, met: [], begun: [] };
  const found = wrongCosts({ ...happened, costs: told('run'), treeCosts: told('tree') }).get('run');
  expect(found).toEqual([expect.stringContaining(`scope ${scope} says , and the history`)]);
});
