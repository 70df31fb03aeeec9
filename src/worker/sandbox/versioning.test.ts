import { describe, expect, test } from 'vitest';
import { ScriptedRun, type Source } from './scripted-run.fixture.js';

const before: Source = ({ workflow, sleep }, step) =>
  workflow({
    name: 'test',
    fn: async () => {
      await step('old')();
      await sleep(1000);
      await step('last')();
    },
  });
const patchedCode: Source = ({ workflow, sleep, patched }, step) =>
  workflow({
    name: 'test',
    fn: async () => {
      await step(patched('change') ? 'new' : 'old')();
      await sleep(1000);
      await step(patched('change') ? 'newLast' : 'last')();
    },
  });
const deprecated: Source = ({ workflow, sleep, deprecatePatch }, step) =>
  workflow({
    name: 'test',
    fn: async () => {
      deprecatePatch('change');
      await step('new')();
      await sleep(1000);
      await step('newLast')();
    },
  });
const after: Source = ({ workflow, sleep }, step) =>
  workflow({
    name: 'test',
    fn: async () => {
      await step('new')();
      await sleep(1000);
      await step('newLast')();
    },
  });

describe('patched', () => {
  test('takes the new path in a new run and records that once', () => {
    const run = new ScriptedRun(patchedCode);
    expect(run.start().turn()).toMatchObject([
      { kind: 'recordPatch', patchId: 'change', deprecated: false },
      { kind: 'scheduleStep', stepName: 'new' },
    ]);
    run.completeStep('1').turn();
    expect(run.fireTimer('1').turn()).toMatchObject([{ kind: 'scheduleStep', stepName: 'newLast' }]);
  });

  test('is asked for by itself: one that the history has does not make others taken', () => {
    const one: Source = ({ workflow, sleep, patched }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          if (patched('one')) await step('first')();
          await sleep(1000);
        },
      });
    const both: Source = ({ workflow, sleep, patched }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          if (patched('one')) await step('first')();
          if (patched('two')) await step('second')();
          await sleep(1000);
        },
      });
    const run = new ScriptedRun(one);
    run.start().turn();
    run.completeStep('1').turn();
    run.deploy(both);
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun' }]);
  });

  test('takes the old path where the history was made without it', () => {
    const run = new ScriptedRun(before);
    run.start().turn();
    run.completeStep('1').turn();
    run.deploy(patchedCode);
    expect(run.fireTimer('1').turn()).toMatchObject([
      { kind: 'recordPatch', patchId: 'change' },
      { kind: 'scheduleStep', stepName: 'newLast' },
    ]);
    run.forgetCache();
    expect(run.completeStep('2').turn()).toEqual([{ kind: 'completeRun' }]);
  });

  test('can be deprecated and then removed', () => {
    const run = new ScriptedRun(patchedCode);
    run.start().turn();
    run.completeStep('1').turn();
    run.deploy(deprecated);
    expect(run.fireTimer('1').turn()).toMatchObject([{ stepName: 'newLast' }]);

    const later = new ScriptedRun(deprecated);
    expect(later.start().turn()).toMatchObject([
      { kind: 'recordPatch', deprecated: true },
      { stepName: 'new' },
    ]);
    later.completeStep('1').turn();
    later.deploy(after);
    expect(later.fireTimer('1').turn()).toMatchObject([{ stepName: 'newLast' }]);
    // A history without the marker replays with the code that deprecates it.
    later.deploy(after);
    const plain = new ScriptedRun(after);
    plain.start().turn();
    plain.deploy(deprecated);
    expect(plain.completeStep('1').turn()).toMatchObject([{ kind: 'startTimer' }]);
  });

  test('that is deprecated may be marked in another place than before', () => {
    const run = new ScriptedRun(deprecated);
    run.start().turn();
    run.completeStep('1').turn();
    run.deploy(({ workflow, sleep, deprecatePatch }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          await step('new')();
          deprecatePatch('change');
          await sleep(1000);
          await step('newLast')();
        },
      }),
    );
    expect(run.fireTimer('1').turn()).toMatchObject([{ stepName: 'newLast' }]);
  });

  test('that was deprecated last in a turn can be removed', () => {
    const run = new ScriptedRun(({ workflow, sleep, deprecatePatch }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const done = step('new')();
          deprecatePatch('change');
          await done;
          await sleep(1000);
        },
      }),
    );
    expect(run.start().turn()).toMatchObject([{ stepName: 'new' }, { kind: 'recordPatch' }]);
    run.deploy(after);
    expect(run.completeStep('1').turn()).toMatchObject([{ kind: 'startTimer' }]);
  });

  test('removed without being deprecated is a mismatch', () => {
    const run = new ScriptedRun(patchedCode);
    run.start().turn();
    run.deploy(after);
    expect(run.completeStep('1').attempt()).toMatchObject({
      kind: 'turnFailed',
      cause: 'NON_DETERMINISTIC_ERROR',
      failure: {
        message: expect.stringMatching(/^event 5 of the history is MARKER_RECORDED of patch "change", but/),
      },
    });
  });
});

describe('code that does not fit its history', () => {
  const expected = 'ACTIVITY_TASK_SCHEDULED of step "old" (number 1)';

  test.each<[string, Source, Source, string, object]>([
    [
      'another step',
      before,
      after,
      'event 5 of the history is ACTIVITY_TASK_SCHEDULED of step "old" (number 1), but the code now asks for: step "new" (number 1)',
      { expected, got: 'step "new" (number 1)' },
    ],
    [
      'another kind of thing',
      before,
      ({ workflow, sleep }) => workflow({ name: 'test', fn: () => sleep(5) }),
      'event 5 of the history is ACTIVITY_TASK_SCHEDULED of step "old" (number 1), but the code now asks for: timer number 1 of 5 ms',
      { expected, got: 'timer number 1 of 5 ms' },
    ],
    [
      'less',
      before,
      ({ workflow, condition }) => workflow({ name: 'test', fn: () => condition(() => false) }),
      'event 5 of the history is ACTIVITY_TASK_SCHEDULED of step "old" (number 1), but the code now asks for nothing more in this turn',
      { expected },
    ],
    [
      'more',
      before,
      ({ workflow, sleep }, step) =>
        workflow({ name: 'test', fn: () => Promise.all([step('old')(), sleep(7)]) }),
      'the history ends this turn after event 5, but the code now also asks for: timer number 1 of 7 ms',
      { got: 'timer number 1 of 7 ms' },
    ],
    [
      'an end',
      before,
      ({ workflow }) => workflow({ name: 'test', fn: async () => 1 }),
      'event 5 of the history is ACTIVITY_TASK_SCHEDULED of step "old" (number 1), but the code now asks for: the completion of the run',
      { expected, got: 'the completion of the run' },
    ],
  ])('%s: the run is held back with what differs', (_, first, then, message, difference) => {
    const run = new ScriptedRun(first);
    run.start().turn();
    run.deploy(then);
    expect(run.completeStep('1').attempt()).toEqual({
      kind: 'turnFailed',
      turnId: expect.any(Number),
      runId: expect.any(String),
      cause: 'NON_DETERMINISTIC_ERROR',
      failure: {
        kind: 'application',
        type: 'NonDeterminismError',
        message,
        properties: { eventId: 5, ...difference },
      },
    });
  });

  test('goes on once fitting code is there again', () => {
    const run = new ScriptedRun(before);
    run.start().turn();
    run.deploy(after);
    expect(run.completeStep('1').attempt().kind).toBe('turnFailed');
    run.deploy(before);
    expect(run.turn()).toMatchObject([{ kind: 'startTimer' }]);
  });

  test('a child with another id or type, a signal to another workflow', () => {
    const child = (workflowType: string, workflowId: string): Source =>
      new Function(
        'sdk',
        `const child = sdk.workflow({ name: '${workflowType}', fn: () => {} });
         return sdk.workflow({ name: 'test', fn: () => Promise.all([child(1, { workflowId: '${workflowId}' }), sdk.getExternalWorkflowHandle('${workflowId}').signal('s')]) });`,
      ) as Source;
    const run = new ScriptedRun(child('a', 'one'));
    run.start().turn();
    run.append('CHILD_WORKFLOW_EXECUTION_COMPLETED', run.child('1'));
    run.deploy(child('b', 'one'));
    expect(run.attempt()).toMatchObject({
      failure: { message: expect.stringContaining('child workflow "b" with id "one"') },
    });
    run.deploy(child('a', 'two'));
    expect(run.attempt()).toMatchObject({
      failure: { message: expect.stringContaining('child workflow "a" with id "two"') },
    });
  });

  test('another signal to the same workflow, the end of another timer', () => {
    const signal = (name: string): Source =>
      new Function(
        'sdk',
        `return sdk.workflow({ name: 'test', fn: () => sdk.getExternalWorkflowHandle('other').signal('${name}') });`,
      ) as Source;
    const signalling = new ScriptedRun(signal('go'));
    signalling.start().turn();
    signalling.deploy(signal('stop'));
    expect(signalling.attempt()).toMatchObject({
      failure: { message: expect.stringContaining('signal "stop" to workflow "other"') },
    });
    const race = (loser: number): Source =>
      new Function(
        'sdk',
        'step',
        `const { workflow, sleep, CancellationScope } = sdk;
         return workflow({ name: 'test', fn: async () => {
           const scopes = [new CancellationScope(), new CancellationScope()];
           for (const scope of scopes) void scope.run(() => sleep(1000)).catch(() => {});
           await step('one')();
           scopes[${loser}].cancel();
           await step('two')();
         } });`,
      ) as Source;
    const racing = new ScriptedRun(race(0));
    racing.start().turn();
    racing.completeStep('1').turn();
    racing.deploy(race(1));
    expect(racing.completeStep('2').attempt()).toMatchObject({
      failure: { message: expect.stringContaining('the cancellation of timer number 2') },
    });
  });

  test('a run that the engine ended in place of its commands can still be queried', () => {
    const run = new ScriptedRun(({ workflow, defineQuery, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineQuery<string>('state'), () => 'asked for too much');
          await sleep(1);
        },
      }),
    );
    run.start();
    run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
    run.append('WORKFLOW_TASK_STARTED', { scheduledEventId: 2 });
    run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId: 2, startedEventId: 3 });
    run.append('WORKFLOW_EXECUTION_FAILED', {
      failure: { kind: 'application', type: 'LimitError', message: 'limit' },
    });
    expect(run.turnAndAnswers({ readOnly: true, queries: [{ name: 'state' }] }).answers).toMatchObject([
      { result: '"asked for too much"' },
    ]);
  });
});
