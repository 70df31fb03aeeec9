import { describe, expect, test } from 'vitest';
import { ScriptedRun, type Source } from './scripted-run.fixture.js';

const parent: Source = ({ workflow, ChildWorkflowError }) => {
  const child = workflow({ name: 'child', fn: async (n: number) => n * 2 });
  return workflow({
    name: 'test',
    fn: async () => {
      try {
        return await child(21, { workflowId: 'child-1' });
      } catch (error) {
        if (!(error instanceof ChildWorkflowError)) throw error;
        const cause = error.cause as Error;
        return [error.name, error.workflowType, error.workflowId, cause.name, cause.message];
      }
    },
  });
};

describe('children', () => {
  test('are started by calling their workflow, and answer with their result', () => {
    const run = new ScriptedRun(parent);
    expect(run.start().turn()).toEqual([
      {
        kind: 'startChild',
        childSeq: '1',
        workflowId: 'child-1',
        workflowType: 'child',
        input: ['21'],
        parentClosePolicy: 'REQUEST_CANCEL',
      },
    ]);
    const { startedEventId: _, ...ids } = run.child('1');
    run.append('CHILD_WORKFLOW_EXECUTION_STARTED', ids);
    expect(run.turn()).toEqual([]);
    run.append('CHILD_WORKFLOW_EXECUTION_COMPLETED', { ...run.child('1'), result: '42' });
    expect(run.turn()).toEqual([{ kind: 'completeRun', result: '42' }]);
  });

  test.each([
    [
      'CHILD_WORKFLOW_EXECUTION_FAILED',
      { failure: { kind: 'step', type: 'Declined', message: 'no', activityType: 'child#pay' } },
      ['Declined', 'no'],
    ],
    ['CHILD_WORKFLOW_EXECUTION_CANCELED', {}, ['CancelledError', 'cancelled']],
    ['CHILD_WORKFLOW_EXECUTION_TERMINATED', {}, ['TerminatedError', 'terminated']],
    [
      'CHILD_WORKFLOW_EXECUTION_TIMED_OUT',
      {},
      ['TimeoutError', 'the workflow took longer than its executionTimeout'],
    ],
    [
      'START_CHILD_WORKFLOW_EXECUTION_FAILED',
      { cause: 'WORKFLOW_ALREADY_EXISTS', workflowId: 'child-1' },
      ['WorkflowAlreadyExistsError', 'the id "child-1" is taken by another run'],
    ],
  ] as const)('%s rejects with a ChildWorkflowError and its cause', (type, more, cause) => {
    const run = new ScriptedRun(parent);
    run.start().turn();
    run.append(type, { ...run.child('1'), ...more } as never);
    expect(run.turn()).toEqual([
      { kind: 'completeRun', result: JSON.stringify(['ChildWorkflowError', 'child', 'child-1', ...cause]) },
    ]);
  });

  test("whose failure leaves the parent's fn keep their own error as the cause", () => {
    const run = new ScriptedRun(({ workflow }) => {
      const child = workflow({ name: 'child', fn: async () => {} });
      return workflow({ name: 'test', fn: () => child(undefined, { workflowId: 'c' }) });
    });
    run.start().turn();
    const failure = {
      kind: 'step',
      type: 'Declined',
      message: 'no',
      activityType: 'child#pay',
      attempt: 2,
    } as const;
    run.append('CHILD_WORKFLOW_EXECUTION_FAILED', { ...run.child('1'), failure });
    expect(run.turn()).toEqual([
      {
        kind: 'failRun',
        failure: {
          kind: 'child',
          type: 'ChildWorkflowError',
          message: 'child workflow "child" (c) failed: no',
          properties: { workflowType: 'child', workflowId: 'c' },
          cause: failure,
        },
      },
    ]);
  });

  test('are cancelled with their scope, and waited for', () => {
    const run = new ScriptedRun(({ workflow }) => {
      const child = workflow({ name: 'child', fn: async () => {} });
      return workflow({ name: 'test', fn: () => child(undefined, { workflowId: 'c' }) });
    });
    run.start().turn();
    expect(run.cancel().turn()).toEqual([
      { kind: 'cancelExternal', cancelSeq: '1', workflowId: 'c', childSeq: '1' },
    ]);
    const { id } = run.find('REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED');
    run.append('EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED', {
      initiatedEventId: id,
      workflowExecution: { workflowId: 'c', runId: 'r' },
    });
    expect(run.turn()).toEqual([]);
    run.append('CHILD_WORKFLOW_EXECUTION_CANCELED', run.child('1'));
    expect(run.turn()).toEqual([{ kind: 'cancelRun' }]);
  });

  test('whose outcome is in the history already are not cancelled', () => {
    const run = new ScriptedRun(parent);
    run.start().turn();
    run.cancel().append('CHILD_WORKFLOW_EXECUTION_COMPLETED', { ...run.child('1'), result: '42' });
    expect(run.turn()).toEqual([{ kind: 'completeRun', result: '42' }]);
  });

  test('that are detached go their own way when the parent is cancelled', () => {
    const run = new ScriptedRun(({ workflow }) => {
      const child = workflow({ name: 'child', fn: async () => {} });
      return workflow({
        name: 'test',
        fn: () => child(undefined, { workflowId: 'c', detached: true, catalog: 'other' }),
      });
    });
    expect(run.start().turn()).toMatchObject([{ parentClosePolicy: 'ABANDON', catalog: 'other', input: [] }]);
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelRun' }]);
  });

  test('get ids of their own that are the same on replay', () => {
    const run = new ScriptedRun(({ workflow }) => {
      const child = workflow({ name: 'child', fn: async () => {} });
      return workflow({ name: 'test', fn: () => Promise.all([child(), child()]) });
    });
    const [a, b] = run.start().turn() as unknown as { workflowId: string }[];
    expect(a!.workflowId).toMatch(/^child-[0-9a-z]{12}$/);
    expect(b!.workflowId).not.toBe(a!.workflowId);
  });

  test('that are detached by anything but true or false are refused', () => {
    const run = new ScriptedRun(({ workflow }) => {
      const child = workflow({ name: 'child', fn: async () => {} });
      return workflow({ name: 'test', fn: async () => child(undefined, { detached: 'no' as never }) });
    });
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { message: expect.stringContaining('must be true or false, and is "no"') },
      },
    ]);
  });

  test('with an id that is none are refused', () => {
    const run = new ScriptedRun(({ workflow }) => {
      const child = workflow({ name: 'child', fn: async () => {} });
      return workflow({ name: 'test', fn: async () => child(undefined, { workflowId: 'catalog' }) });
    });
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { type: 'UsageError', message: expect.stringContaining('and not "catalog"') },
      },
    ]);
  });
});

describe('other workflows', () => {
  const source: Source = ({ workflow, getExternalWorkflowHandle, defineSignal }) =>
    workflow({
      name: 'test',
      fn: async () => {
        const other = getExternalWorkflowHandle('other-1');
        const outcomes: string[] = [];
        const note = (what: string) =>
          [() => outcomes.push(what), (error: Error) => outcomes.push(error.message)] as const;
        await other.signal(defineSignal<[number]>('poke'), 7).then(...note('signalled'));
        await other.cancel().then(...note('cancelled'));
        return outcomes;
      },
    });

  test('are signalled and cancelled by their id', () => {
    const run = new ScriptedRun(source);
    const workflowExecution = { workflowId: 'other-1', runId: 'r' };
    expect(run.start().turn()).toEqual([
      { kind: 'signalExternal', signalSeq: '1', workflowId: 'other-1', signalName: 'poke', input: ['7'] },
    ]);
    run.append('EXTERNAL_WORKFLOW_EXECUTION_SIGNALED', {
      initiatedEventId: run.find('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED').id,
      workflowExecution,
    });
    expect(run.turn()).toEqual([{ kind: 'cancelExternal', cancelSeq: '1', workflowId: 'other-1' }]);
    run.append('EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED', {
      initiatedEventId: run.find('REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED').id,
      workflowExecution,
    });
    expect(run.turn()).toEqual([{ kind: 'completeRun', result: '["signalled","cancelled"]' }]);
  });

  test('whose signal has left are waited for, also by who is cancelled meanwhile', () => {
    const run = new ScriptedRun(source);
    run.start().turn();
    expect(run.cancel().turn()).toEqual([]);
    run.append('EXTERNAL_WORKFLOW_EXECUTION_SIGNALED', {
      initiatedEventId: run.find('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED').id,
      workflowExecution: { workflowId: 'other-1', runId: 'r' },
    });
    expect(run.turn()).toMatchObject([{ kind: 'cancelExternal', workflowId: 'other-1' }]);
  });

  test('get every argument in its place, or the sender an error', () => {
    const run = new ScriptedRun(({ workflow, getExternalWorkflowHandle, defineSignal }) => {
      const place = defineSignal<[(string | undefined)?, number?]>('place');
      return workflow({
        name: 'test',
        fn: async () => {
          const other = getExternalWorkflowHandle('other-1');
          void other.signal(place, 'here', undefined);
          void other.signal(place, undefined, undefined);
          try {
            await other.signal(place, undefined, 7);
          } catch (error) {
            return (error as Error).message;
          }
        },
      });
    });
    expect(run.start().turn()).toMatchObject([
      { kind: 'signalExternal', input: ['"here"'] },
      { kind: 'signalExternal', input: [] },
      {
        kind: 'completeRun',
        result: JSON.stringify(
          'argument of signal "place" is undefined as number 1 of 2, which JSON cannot carry',
        ),
      },
    ]);
  });

  test('that are not there reject the call', () => {
    const run = new ScriptedRun(source);
    run.start().turn();
    run.append('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED', {
      initiatedEventId: run.find('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED').id,
      workflowId: 'other-1',
      cause: 'SIGNAL_COUNT_LIMIT_EXCEEDED',
    });
    run.turn();
    run.append('REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED', {
      initiatedEventId: run.find('REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED').id,
      workflowId: 'other-1',
      cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
    });
    expect(run.turn()).toEqual([
      {
        kind: 'completeRun',
        result: JSON.stringify([
          'workflow "other-1" has received all the signals it may',
          'workflow "other-1" does not exist or is closed',
        ]),
      },
    ]);
  });
});

describe('continue as new', () => {
  test('ends the run with the input of the next', () => {
    const run = new ScriptedRun(({ workflow, z }) =>
      workflow({
        name: 'test',
        inputSchema: z.object({ n: z.string().transform(Number) }),
        fn: async ({ n }, { control }) =>
          control.isContinueAsNewSuggested() ? control.continueAsNew({ n: String(n + 1) }) : 'not yet',
      }),
    );
    expect(run.start({ n: '1' }).turn({ continueAsNewSuggested: true })).toEqual([
      { kind: 'continueAsNew', workflowType: 'test', input: ['{"n":"2"}'] },
    ]);
  });

  test('with an input that does not fit fails the run', () => {
    const run = new ScriptedRun(({ workflow, z }) =>
      workflow({
        name: 'test',
        inputSchema: z.object({ n: z.number() }),
        fn: async (_, { control }) => control.continueAsNew({ n: 'x' } as never),
      }),
    );
    expect(run.start({ n: 1 }).turn()).toMatchObject([
      { kind: 'failRun', failure: { type: 'ValidationError' } },
    ]);
  });

  test('what a turn was told about it is told again on replay', () => {
    const run = new ScriptedRun(({ workflow, sleep }) =>
      workflow({
        name: 'test',
        fn: async (_, { control, info }) => {
          const told = [control.isContinueAsNewSuggested(), info.historyLength];
          await sleep(1);
          return [...told, control.isContinueAsNewSuggested(), info.historyLength];
        },
      }),
    );
    run.start().turn({ continueAsNewSuggested: true });
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: '[true,2,false,7]' }]);
  });
});
