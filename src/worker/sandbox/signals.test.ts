import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

describe('signals', () => {
  test('that come before the first turn are delivered in order, before the code goes on', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const got: unknown[] = [];
          setHandler(defineSignal<[number]>('add'), (n) => {
            got.push(n);
          });
          return got;
        },
      }),
    );
    expect(run.start().signal('add', 1).signal('other').signal('add', 2).turn()).toEqual([
      { kind: 'completeRun', result: '[1,2]' },
    ]);
  });

  test('wait for their handler, over turns, and go back to waiting when it is taken away', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const note = defineSignal<[string]>('note');
          const got: string[] = [];
          await sleep(1000);
          setHandler(note, (text) => {
            got.push(text);
          });
          await sleep(1000);
          setHandler(note, undefined);
          await sleep(1000);
          got.push('late:');
          setHandler(note, (text) => {
            got.push(text);
          });
          return got;
        },
      }),
    );
    run.start().turn();
    expect(run.signal('note', 'a').signal('note', 'b').turn()).toEqual([]);
    run.fireTimer('1').turn();
    run.signal('note', 'c').fireTimer('2').turn();
    run.signal('note', 'd').turn();
    expect(run.fireTimer('3').turn()).toEqual([{ kind: 'completeRun', result: '["a","b","c","late:","d"]' }]);
  });

  test('wait for their own handler, also where there are handlers of others', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const got: string[] = [];
          setHandler(defineSignal('known'), () => {
            got.push('known');
          });
          await sleep(1000);
          setHandler(defineSignal<[string]>('late'), (text) => {
            got.push(text);
          });
          return got;
        },
      }),
    );
    run.start().turn();
    run.signal('late', 'a').signal('known').turn();
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: '["known","a"]' }]);
  });

  test('are delivered before the outcomes of the same turn', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const order: string[] = [];
          setHandler(defineSignal('s'), () => {
            order.push('signal');
          });
          await step('one')();
          order.push('step');
          return order;
        },
      }),
    );
    run.start().turn();
    expect(run.completeStep('1').signal('s').turn()).toEqual([
      { kind: 'completeRun', result: '["signal","step"]' },
    ]);
  });

  test('may be handled by async code, which can be waited for', () => {
    const run = new ScriptedRun(
      ({ workflow, defineSignal, setHandler, condition, allHandlersFinished }, step) =>
        workflow({
          name: 'test',
          fn: async () => {
            let handled = 0;
            setHandler(defineSignal('work'), async () => {
              await step('one')();
              handled++;
            });
            await condition(allHandlersFinished);
            return handled;
          },
        }),
    );
    expect(run.start().signal('work').turn()).toMatchObject([{ stepName: 'one' }]);
    expect(run.completeStep('1').turn()).toEqual([{ kind: 'completeRun', result: '1' }]);
  });

  test('whose handler answers at once are not waited for', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, condition, allHandlersFinished }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let handled = 0;
          setHandler(defineSignal('work'), () => {
            handled++;
          });
          await condition(() => handled === 2);
          await condition(allHandlersFinished);
          return handled;
        },
      }),
    );
    run.start().signal('work').turn();
    expect(run.signal('work').turn()).toEqual([{ kind: 'completeRun', result: '2' }]);
    expect(run.logged).toEqual([]);
  });

  test('whose handler is under way when the workflow ends are warned about', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineSignal('work'), () => sleep(5));
          return 1;
        },
      }),
    );
    expect(run.start().signal('work').turn()).toEqual([
      { kind: 'startTimer', timerId: '1', durationMs: 5 },
      { kind: 'completeRun', result: '1' },
    ]);
    expect(run.logged).toMatchObject([
      { level: 'warn', message: expect.stringContaining('allHandlersFinished') },
    ]);
  });

  test.each(['sync', 'async'])('whose %s handler throws fail the run', (how) => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async (handler) => {
          setHandler(defineSignal('bad'), () => {
            if (handler === 'async') return Promise.reject(new TypeError('bad signal'));
            throw new TypeError('bad signal');
          });
          await sleep('1 day');
        },
      }),
    );
    run.start(how).turn();
    expect(run.signal('bad').turn()).toMatchObject([
      { kind: 'failRun', failure: { type: 'TypeError', message: 'bad signal' } },
    ]);
  });
});
