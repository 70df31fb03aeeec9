import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

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
