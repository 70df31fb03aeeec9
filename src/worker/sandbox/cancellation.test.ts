import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

describe('cancelling a run', () => {
  test('cancels what it waits for and ends it as cancelled', () => {
    const run = new ScriptedRun(({ workflow, sleep }) =>
      workflow({ name: 'test', fn: () => sleep('1 day') }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelTimer', timerId: '1' }, { kind: 'cancelRun' }]);
  });

  test('before its first turn: the code starts, and is cancelled at its first wait', () => {
    const run = new ScriptedRun(({ workflow, sleep, isCancellation }) =>
      workflow({
        name: 'test',
        fn: async () => {
          try {
            await sleep(1000);
          } catch (error) {
            return isCancellation(error);
          }
          return undefined;
        },
      }),
    );
    expect(run.start().cancel().turn()).toEqual([{ kind: 'completeRun', result: 'true' }]);
  });

  test('reaches scopes that are made only afterwards', () => {
    const run = new ScriptedRun(({ workflow, sleep, CancellationScope, isCancellation }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          await sleep('1 day').catch(() => {});
          try {
            await CancellationScope.cancellable(() => step('late')());
          } catch (error) {
            return isCancellation(error);
          }
          return 'the step was started';
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([
      { kind: 'cancelTimer', timerId: '1' },
      { kind: 'completeRun', result: 'true' },
    ]);
  });

  describe('while a signal handler waits', () => {
    const OUTLIVED = { kind: 'recordPatch', patchId: 'perdure.stoppedHandlers', deprecated: false } as const;
    const cleaning = () =>
      new ScriptedRun(({ workflow, sleep, condition, defineSignal, setHandler, CancellationScope }, step) =>
        workflow({
          name: 'test',
          fn: async () => {
            setHandler(defineSignal('nudge'), () => sleep('1 hour'));
            try {
              await condition(() => false);
            } catch {
              await CancellationScope.nonCancellable(() => step('cleanUp')());
            }
            return 'cleaned up';
          },
        }),
      );

    test('ends the handler and lets the workflow clean up', () => {
      const run = cleaning();
      run.start().signal('nudge').turn();
      expect(run.cancel().turn()).toMatchObject([
        { kind: 'cancelTimer', timerId: '1' },
        OUTLIVED,
        { kind: 'scheduleStep', stepName: 'cleanUp' },
      ]);
      // One that comes during the cleanup ends at its first wait.
      expect(run.signal('nudge').turn()).toEqual([]);
      run.forgetCache();
      expect(run.completeStep('1').turn()).toEqual([{ kind: 'completeRun', result: '"cleaned up"' }]);
    });

    test('has closed runs of old, which replay as they ran', () => {
      const run = cleaning();
      run.start().signal('nudge').turn();
      run.cancel();
      const scheduledEventId = run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 }).id;
      const startedEventId = run.append('WORKFLOW_TASK_STARTED', { scheduledEventId }).id;
      run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId, startedEventId });
      run.append('TIMER_CANCELED', { timerId: '1', startedEventId: 6 });
      run.append('WORKFLOW_EXECUTION_CANCELED', {});
      run.forgetCache();
      const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'unknown', args: [] }] });
      expect(answers).toMatchObject([{ kind: 'noHandler' }]);
    });
  });

  test('can be ignored', () => {
    const run = new ScriptedRun(({ workflow, sleep, CancellationScope }) =>
      workflow({
        name: 'test',
        fn: async () => {
          await CancellationScope.nonCancellable(() => sleep(1000));
          return CancellationScope.current().consideredCancelled;
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([]);
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: 'true' }]);
  });

  test('lets cleanup run to its end, steps and timers included', () => {
    const run = new ScriptedRun(({ workflow, sleep, CancellationScope }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          try {
            await sleep('1 day');
          } catch (error) {
            await CancellationScope.nonCancellable(async () => {
              await step('undo')();
              await sleep(5);
            });
            throw error;
          }
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toMatchObject([
      { kind: 'cancelTimer' },
      { kind: 'scheduleStep', stepName: 'undo' },
    ]);
    expect(run.completeStep('1').turn()).toMatchObject([{ kind: 'startTimer', timerId: '2' }]);
    expect(run.fireTimer('2').turn()).toEqual([{ kind: 'cancelRun' }]);
  });

  test('what is started after it rejects without being started', () => {
    const run = new ScriptedRun(({ workflow, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          await sleep('1 day').catch(() => {});
          await step('never')();
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelTimer', timerId: '1' }, { kind: 'cancelRun' }]);
  });

  test('an error of its own makes it failed; a cancellation nobody asked for as well', () => {
    const own = new ScriptedRun(({ workflow, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          await sleep('1 day').catch(() => {
            throw new Error('could not clean up');
          });
        },
      }),
    );
    own.start().turn();
    expect(own.cancel().turn().at(-1)).toMatchObject({
      kind: 'failRun',
      failure: { message: 'could not clean up' },
    });
    const unasked = new ScriptedRun(({ workflow, CancelledError }) =>
      workflow({
        name: 'test',
        fn: async () => {
          throw new CancelledError('made up');
        },
      }),
    );
    expect(unasked.start().turn()).toMatchObject([{ kind: 'failRun', failure: { type: 'CancelledError' } }]);
  });
});

describe('cancelling a step', () => {
  const stepOf = (cancellationType: string) =>
    new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: true,
      code: `const { workflow } = require('perdure'); const { stepReference } = require('perdure/internal');
        const slow = stepReference({ name: 'slow', options: { cancellationType: '${cancellationType}' } });
        exports.default = workflow({ name: 'test', fn: () => slow().catch((error) => error.name) });`,
    });

  test('TRY_CANCEL asks the step to stop and does not wait for it', () => {
    const run = stepOf('TRY_CANCEL');
    run.start().turn();
    expect(run.cancel().turn()).toEqual([
      { kind: 'cancelStep', activityId: '1' },
      { kind: 'completeRun', result: '"CancelledError"' },
    ]);
  });

  test('WAIT_CANCELLATION_COMPLETED waits for how the step ends', () => {
    const run = stepOf('WAIT_CANCELLATION_COMPLETED');
    run.start().turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelStep', activityId: '1' }]);
    expect(run.cancelledStep('1').turn()).toEqual([{ kind: 'completeRun', result: '"CancelledError"' }]);
    const done = stepOf('WAIT_CANCELLATION_COMPLETED');
    done.start().turn();
    done.cancel().turn();
    expect(done.completeStep('1', 'done anyway').turn()).toEqual([
      { kind: 'completeRun', result: '"done anyway"' },
    ]);
  });

  test('ABANDON lets the step go on unheard', () => {
    const run = stepOf('ABANDON');
    run.start().turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'completeRun', result: '"CancelledError"' }]);
  });

  test('whose outcome is in the history already changes nothing', () => {
    const run = stepOf('TRY_CANCEL');
    run.start().turn();
    expect(run.cancel().completeStep('1', 'in time').turn()).toEqual([
      { kind: 'completeRun', result: '"in time"' },
    ]);
  });

  test('that ends as cancelled on its own is a cancellation to the code', () => {
    const run = new ScriptedRun(({ workflow, CancelledError }, step) =>
      workflow({
        name: 'test',
        fn: () => step('work')().catch((error: Error) => [error instanceof CancelledError, error.message]),
      }),
    );
    run.start().turn();
    run.failStep('1', { kind: 'cancelled', type: 'CancelledError', message: 'nobody had cancelled it' });
    expect(run.turn()).toEqual([{ kind: 'completeRun', result: '[true,"nobody had cancelled it"]' }]);
  });

  test('late outcomes of a step that was given up are ignored', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          await CancellationScope.withTimeout(1000, () => step('slow')()).catch(() => {});
          await sleep(5);
          return 'went on';
        },
      }),
    );
    expect(run.start().turn()).toMatchObject([
      { kind: 'startTimer', timerId: '1' },
      { kind: 'scheduleStep' },
    ]);
    expect(run.fireTimer('1').turn()).toMatchObject([
      { kind: 'cancelStep' },
      { kind: 'startTimer', timerId: '2' },
    ]);
    expect(run.completeStep('1', 'too late').turn()).toEqual([]);
    expect(run.fireTimer('2').turn()).toEqual([{ kind: 'completeRun', result: '"went on"' }]);
  });
});
