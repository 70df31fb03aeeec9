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

describe('cancellation scopes', () => {
  test('what is started and cancelled in one turn leaves no trace', () => {
    const run = new ScriptedRun(
      ({ workflow, CancellationScope, sleep, isCancellation, getExternalWorkflowHandle }, step) =>
        workflow({
          name: 'test',
          fn: async () => {
            const scope = new CancellationScope({ cancellable: true });
            const all = scope.run(() =>
              Promise.allSettled([sleep(1), step('a')(), getExternalWorkflowHandle('x').signal('s')]),
            );
            scope.cancel();
            scope.cancel();
            const outcomes = await all;
            await step('b')();
            return outcomes.map((o) => o.status === 'rejected' && isCancellation(o.reason));
          },
        }),
    );
    expect(run.start().turn()).toMatchObject([{ kind: 'scheduleStep', stepName: 'b', activityId: '2' }]);
    expect(run.completeStep('2').turn()).toEqual([{ kind: 'completeRun', result: '[true,true,true]' }]);
  });

  test('a scope is known after awaits, and cancelling it leaves its siblings alone', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep, defineSignal, setHandler }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const outer = CancellationScope.current();
          const inner = new CancellationScope({ cancellable: true });
          const notes: string[] = [];
          setHandler(defineSignal('stop'), () => inner.cancel());
          const left = inner.run(async () => {
            await step('left')();
            if (CancellationScope.current() !== inner) notes.push('lost the scope');
            await CancellationScope.cancellable(async () => {
              await null;
              if (CancellationScope.current().parent !== inner) notes.push('lost the parent');
              await sleep('1 day');
            });
          });
          const right = (async () => {
            await step('right')();
            if (CancellationScope.current() !== outer) notes.push('leaked');
            await sleep('2 days');
          })();
          await left.catch((error: Error) => notes.push(error.name));
          await right;
          return notes;
        },
      }),
    );
    run.start().turn();
    expect(run.completeStep('1').completeStep('2').turn()).toMatchObject([
      { kind: 'startTimer', timerId: '1', durationMs: 86_400_000 },
      { kind: 'startTimer', timerId: '2', durationMs: 172_800_000 },
    ]);
    expect(run.signal('stop').turn()).toEqual([{ kind: 'cancelTimer', timerId: '1' }]);
    expect(run.fireTimer('2').turn()).toEqual([{ kind: 'completeRun', result: '["CancelledError"]' }]);
  });

  test('withTimeout cancels what is inside, and takes its timer back otherwise', () => {
    const source = (
      { workflow, CancellationScope }: typeof import('../../sdk/index.js'),
      step: (name: string) => () => Promise<unknown>,
    ) =>
      workflow({
        name: 'test',
        fn: async () => {
          try {
            return await CancellationScope.withTimeout('10s', () => step('slow')());
          } catch (error) {
            return (error as Error).name;
          }
        },
      });
    const slow = new ScriptedRun(source);
    slow.start().turn();
    expect(slow.fireTimer('1').turn()).toEqual([
      { kind: 'cancelStep', activityId: '1' },
      { kind: 'completeRun', result: '"CancelledError"' },
    ]);
    const fast = new ScriptedRun(source);
    fast.start().turn();
    expect(fast.completeStep('1', 'fast').turn()).toEqual([
      { kind: 'cancelTimer', timerId: '1' },
      { kind: 'completeRun', result: '"fast"' },
    ]);
  });

  test('a scope that is not cancellable learns of the request and shields its children', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }) =>
      workflow({
        name: 'test',
        fn: async () =>
          CancellationScope.nonCancellable(async () => {
            const requested = CancellationScope.current().cancelRequested.catch((error: Error) => error.name);
            const inside = CancellationScope.cancellable(async () => {
              await sleep(1000);
              return 'slept';
            });
            return [await requested, await inside];
          }),
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([]);
    expect(run.fireTimer('1').turn()).toEqual([
      { kind: 'completeRun', result: '["CancelledError","slept"]' },
    ]);
  });

  test('a scope that is used again is cancelled with its parent again', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const scope = new CancellationScope();
          await scope.run(() => sleep(1000));
          await scope.run(() => sleep(2000));
        },
      }),
    );
    run.start().turn();
    run.fireTimer('1').turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelTimer', timerId: '2' }, { kind: 'cancelRun' }]);
  });

  const REACHED = { kind: 'recordPatch', patchId: 'perdure.leftScopes', deprecated: false } as const;

  test('what a scope has left under way when it ended is cancelled with its parents', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          let left!: Promise<unknown>;
          await CancellationScope.cancellable(() =>
            CancellationScope.cancellable(async () => {
              left = Promise.all([sleep('1 day'), step('left')()]);
            }),
          );
          await left;
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([
      REACHED,
      { kind: 'cancelTimer', timerId: '1' },
      { kind: 'cancelStep', activityId: '1' },
      { kind: 'cancelRun' },
    ]);
  });

  test('a run whose stop has not reached what a scope had left, as of old, replays as it ran', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let left!: Promise<unknown>;
          await CancellationScope.cancellable(async () => {
            left = sleep('1 day');
          });
          await left;
          return 'slept';
        },
      }),
    );
    run.start().turn();
    run.cancel();
    const scheduledEventId = run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 }).id;
    const startedEventId = run.append('WORKFLOW_TASK_STARTED', { scheduledEventId }).id;
    run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId, startedEventId });
    run.forgetCache();
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: '"slept"' }]);
  });

  test('a scope that two functions share is cancelled with its parent until both have ended', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const scope = new CancellationScope();
          await Promise.all([scope.run(() => sleep(1000)), scope.run(() => sleep('1 day'))]);
        },
      }),
    );
    run.start().turn();
    run.fireTimer('1').turn();
    expect(run.cancel().turn()).toEqual([
      REACHED,
      { kind: 'cancelTimer', timerId: '2' },
      { kind: 'cancelRun' },
    ]);
  });

  test('what goes on in a scope that has ended is cancelled at its next wait', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, condition, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          let ended: string | undefined;
          const goOn = async () => {
            await CancellationScope.nonCancellable(() => sleep(1000));
            await step('late')();
          };
          await CancellationScope.cancellable(async () => {
            goOn().catch((error: Error) => {
              ended = error.name;
            });
          });
          await CancellationScope.nonCancellable(() => condition(() => ended !== undefined));
          return ended;
        },
      }),
    );
    run.start().turn();
    run.cancel().turn();
    expect(run.fireTimer('1').turn().at(-1)).toEqual({ kind: 'completeRun', result: '"CancelledError"' });
  });

  test('who waits for the request in a scope that has ended is told of it', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const scope = new CancellationScope();
          await scope.run(async () => {});
          return CancellationScope.nonCancellable(() =>
            scope.cancelRequested.catch((error: Error) => error.name),
          );
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([REACHED, { kind: 'completeRun', result: '"CancelledError"' }]);
  });

  test('who asks for the request only after it came is told of it', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sleep }) =>
      workflow({
        name: 'test',
        fn: () =>
          CancellationScope.nonCancellable(async () => {
            await sleep(1000);
            return CancellationScope.current().cancelRequested.catch((error: Error) => error.name);
          }),
      }),
    );
    run.start().turn();
    run.cancel().turn();
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: '"CancelledError"' }]);
  });

  test('conditions in a scope are cancelled with it', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, condition }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const names = await CancellationScope.withTimeout(1000, () =>
            Promise.all(
              [condition(() => false), condition(() => false, '1 day')].map((waiting) =>
                waiting.catch((error: Error) => error.name),
              ),
            ),
          );
          return names;
        },
      }),
    );
    expect(run.start().turn()).toHaveLength(2);
    expect(run.fireTimer('1').turn()).toEqual([
      { kind: 'cancelTimer', timerId: '2' },
      { kind: 'completeRun', result: '["CancelledError","CancelledError"]' },
    ]);
  });
});
