import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

describe('sleep', () => {
  test('is a timer of whole milliseconds, at least one', () => {
    const run = new ScriptedRun(({ workflow, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          await sleep(0);
          await sleep('1.5 hours');
          await sleep('100 years');
          return 'up';
        },
      }),
    );
    expect(run.start().turn()).toEqual([{ kind: 'startTimer', timerId: '1', durationMs: 1 }]);
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'startTimer', timerId: '2', durationMs: 5_400_000 }]);
    expect(run.fireTimer('2').turn()).toEqual([
      { kind: 'startTimer', timerId: '3', durationMs: 3_155_760_000_000 },
    ]);
    expect(run.fireTimer('3').turn()).toEqual([{ kind: 'completeRun', result: '"up"' }]);
  });

  test.each(['-1', 'NaN', '"soon"', 'undefined', 'Infinity'])('refuses %s', (duration) => {
    const run = new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: true,
      code: `const { workflow, sleep } = require('perdure'); exports.default = workflow({ name: 'test', fn: () => sleep(${duration}) });`,
    });
    expect(run.start().turn()).toMatchObject([{ kind: 'failRun', failure: { type: 'DurationError' } }]);
  });
});

describe('setTimeout and clearTimeout', () => {
  test('are durable timers', () => {
    const run = new ScriptedRun(({ workflow, condition }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const fired: string[] = [];
          setTimeout((name: string) => fired.push(name), 1000, 'first');
          const second = setTimeout(() => fired.push('second'), 2000);
          setTimeout(() => fired.push('third'), -5);
          const never = setTimeout(() => fired.push('never'), 10);
          clearTimeout(never);
          await condition(() => fired.length === 2);
          clearTimeout(second);
          clearTimeout(second);
          return fired;
        },
      }),
    );
    expect(run.start().turn()).toEqual([
      { kind: 'startTimer', timerId: '1', durationMs: 1000 },
      { kind: 'startTimer', timerId: '2', durationMs: 2000 },
      { kind: 'startTimer', timerId: '3', durationMs: 1 },
    ]);
    expect(run.fireTimer('3').turn()).toEqual([]);
    expect(run.fireTimer('1').turn()).toEqual([
      { kind: 'cancelTimer', timerId: '2' },
      { kind: 'completeRun', result: '["third","first"]' },
    ]);
  });

  test.each(['Infinity', '1e18'])('a delay of %s is refused, rather than waited for in vain', (delay) => {
    const run = new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: true,
      code: `const { workflow } = require('perdure'); exports.default = workflow({ name: 'test', fn: () => new Promise((resolve) => setTimeout(resolve, ${delay})) });`,
    });
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { type: 'DurationError', message: expect.stringMatching(/^setTimeout\(\) .* 1000 years/) },
      },
    ]);
  });

  const OUTLIVES = {
    kind: 'recordPatch',
    patchId: 'perdure.timeoutsOutliveScopes',
    deprecated: false,
  } as const;
  const waiting = () =>
    new ScriptedRun(({ workflow, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          await new Promise((resolve) => setTimeout(resolve, 1000));
          await sleep(1).catch(() => {});
          await new Promise((resolve) => setTimeout(resolve, 2000));
          const cleared = setTimeout(() => {}, 3000);
          clearTimeout(cleared);
          return 'ended';
        },
      }),
    );

  test('of a run that is stopped are due all the same, since nobody else wakes who waits for them', () => {
    const run = waiting();
    run.start().turn();
    expect(run.cancel().turn()).toEqual([OUTLIVES]);
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'startTimer', timerId: '2', durationMs: 2000 }]);
    run.forgetCache();
    expect(run.fireTimer('2').turn()).toEqual([{ kind: 'completeRun', result: '"ended"' }]);
  });

  test('can be cleared in a run that is stopped', () => {
    const run = new ScriptedRun(({ workflow, condition, defineSignal, setHandler }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const timeout = setTimeout(() => {}, 1000);
          setHandler(defineSignal('clear'), () => clearTimeout(timeout));
          await condition(() => false).catch(() => {});
          await new Promise(() => {});
        },
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([OUTLIVES]);
    expect(run.signal('clear').turn()).toEqual([{ kind: 'cancelTimer', timerId: '1' }]);
  });

  test('of a run of old were cancelled with it, which replays', () => {
    const run = waiting();
    run.start().turn();
    run.cancel();
    const scheduledEventId = run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 }).id;
    const startedEventId = run.append('WORKFLOW_TASK_STARTED', { scheduledEventId }).id;
    run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId, startedEventId });
    run.append('TIMER_CANCELED', { timerId: '1', startedEventId: 5 });
    run.forgetCache();
    expect(run.signal('whatever').turn()).toEqual([]);
  });

  test('an error in a callback fails the run', () => {
    const run = new ScriptedRun(({ workflow, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setTimeout(() => {
            throw new Error('in the callback');
          }, 1);
          await sleep('1 day');
        },
      }),
    );
    run.start().turn();
    expect(run.fireTimer('1').turn()).toMatchObject([
      { kind: 'failRun', failure: { message: 'in the callback' } },
    ]);
  });
});

describe('condition', () => {
  const approval = (timeout: string) =>
    new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: true,
      code: `const { workflow, condition, defineSignal, setHandler } = require('perdure');
        exports.default = workflow({ name: 'test', fn: async () => {
          let by;
          setHandler(defineSignal('approve'), (name) => { by = name; });
          const answer = await condition(() => by !== undefined${timeout});
          return [answer === undefined ? 'void' : answer, by ?? null];
        } });`,
    });

  test('whose predicate does something is refused, and its time may pass', () => {
    const run = new ScriptedRun(({ workflow, condition, patched, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const refusal = await condition(() => patched('later') && false, '1 hour').catch((error) => error);
          await sleep('2 hours');
          return (refusal as Error).name;
        },
      }),
    );
    expect(run.start().turn()).toEqual([
      { kind: 'recordPatch', patchId: 'later', deprecated: false },
      { kind: 'startTimer', timerId: '1', durationMs: 3_600_000 },
      { kind: 'startTimer', timerId: '2', durationMs: 7_200_000 },
    ]);
    expect(run.fireTimer('1').turn()).toEqual([]);
    expect(run.fireTimer('2').turn()).toEqual([{ kind: 'completeRun', result: '"UsageError"' }]);
  });

  test('goes on when it holds', () => {
    const run = approval('');
    expect(run.start().turn()).toEqual([]);
    expect(run.signal('approve', 'ann').turn()).toEqual([{ kind: 'completeRun', result: '["void","ann"]' }]);
  });

  test('with a timeout takes its timer back when it holds in time', () => {
    const run = approval(', "3 days"');
    expect(run.start().turn()).toEqual([{ kind: 'startTimer', timerId: '1', durationMs: 259_200_000 }]);
    expect(run.signal('approve', 'ann').turn()).toEqual([
      { kind: 'cancelTimer', timerId: '1' },
      { kind: 'completeRun', result: '[true,"ann"]' },
    ]);
  });

  test('answers false when the time is over', () => {
    const run = approval(', 1000');
    run.start().turn();
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: '[false,null]' }]);
  });

  test('a message and the timer in one turn: the message wins, and the fired timer is not cancelled', () => {
    const run = approval(', 1000');
    run.start().turn();
    expect(run.fireTimer('1').signal('approve', 'late').turn()).toEqual([
      { kind: 'completeRun', result: '[true,"late"]' },
    ]);
  });

  test('that holds already starts no timer', () => {
    const run = approval(', 1000');
    expect(run.start().signal('approve', 'early').turn()).toEqual([
      { kind: 'completeRun', result: '[true,"early"]' },
    ]);
  });

  test('a timeout of 0 only asks', () => {
    const run = approval(', 0');
    expect(run.start().turn()).toEqual([{ kind: 'completeRun', result: '[false,null]' }]);
  });

  test('those that hold at once go on in the order in which they were asked', () => {
    const run = new ScriptedRun(({ workflow, condition, defineSignal, setHandler }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let isOpen = false;
          const order: number[] = [];
          setHandler(defineSignal('open'), () => {
            isOpen = true;
          });
          const wait = async (number: number) => {
            await condition(() => isOpen);
            order.push(number);
          };
          await Promise.all([wait(1), wait(2), wait(3)]);
          return order;
        },
      }),
    );
    run.start().turn();
    expect(run.signal('open').turn()).toEqual([{ kind: 'completeRun', result: '[1,2,3]' }]);
  });

  test('one that becomes true by another is noticed in the same turn', () => {
    const run = new ScriptedRun(({ workflow, condition, defineSignal, setHandler }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let stage = 0;
          setHandler(defineSignal('go'), () => {
            stage = 1;
          });
          const last = condition(() => stage === 2);
          await condition(() => stage === 1);
          stage = 2;
          await last;
          return stage;
        },
      }),
    );
    run.start().turn();
    expect(run.signal('go').turn()).toEqual([{ kind: 'completeRun', result: '2' }]);
  });

  test('a predicate that throws rejects the condition; one that asks for something throws', () => {
    const run = new ScriptedRun(({ workflow, condition, defineSignal, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let broken = false;
          setHandler(defineSignal('break'), () => {
            broken = true;
          });
          const message = await condition(() => {
            if (broken) throw new Error('broken');
            return false;
          }, '1h').catch((error: Error) => error.message);
          const asking = await condition(() => {
            void sleep(1);
            return true;
          }).catch((error: Error) => error.message);
          return [message, asking];
        },
      }),
    );
    run.start().turn();
    expect(run.signal('break').turn()).toEqual([
      { kind: 'cancelTimer', timerId: '1' },
      {
        kind: 'completeRun',
        result: JSON.stringify([
          'broken',
          "sleep() cannot be used in the predicate of condition(), which can only read the workflow's state",
        ]),
      },
    ]);
  });
});
