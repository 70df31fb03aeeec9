import { describe, expect, test } from 'vitest';
import { ScriptedRun, type Source } from './scripted-run.fixture.js';

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

describe('queries', () => {
  const counter = () =>
    new ScriptedRun(({ workflow, defineSignal, defineQuery, setHandler, condition, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let count = 0;
          setHandler(defineSignal<[number]>('add'), (n) => {
            count += n;
          });
          setHandler(defineQuery<number, [number]>('times'), (n) => count * n);
          setHandler(defineQuery<void>('nothing'), () => {});
          setHandler(defineQuery<void>('broken'), () => {
            throw new RangeError('no answer');
          });
          setHandler(defineQuery<unknown>('async'), async () => 1);
          setHandler(defineQuery<unknown>('asking'), () => sleep(1));
          setHandler(defineQuery<unknown>('strange'), () => 1n);
          setHandler(defineQuery<string>('careless'), () => {
            void Promise.reject(new Error('lost'));
            console.log('asked');
            return 'answered';
          });
          await condition(() => count > 10);
          return count;
        },
      }),
    );

  test('are answered after the turn, and see what it delivered', () => {
    const run = counter();
    run.start().turn();
    const { commands, answers } = run
      .signal('add', 3)
      .turnAndAnswers({ queries: [{ name: 'times', args: [2] }] });
    expect(commands).toEqual([]);
    expect(answers).toEqual([{ queryId: 0, kind: 'answered', result: '6' }]);
  });

  test('answer without a turn, on open and on closed runs, and change nothing', () => {
    const run = counter();
    run.start().turn();
    const queries = [{ name: 'times', args: [1] }, { name: 'nothing' }];
    const asked = () => run.turnAndAnswers({ readOnly: true, queries }).answers;
    run.signal('add', 1).turn();
    expect(asked()).toEqual([
      { queryId: 0, kind: 'answered', result: '1' },
      { queryId: 1, kind: 'answered' },
    ]);
    run.signal('add', 4);
    expect(asked()[0]).toMatchObject({ result: '1' });
    run.signal('add', 6);
    expect(run.turn()).toEqual([{ kind: 'completeRun', result: '11' }]);
    run.forgetCache();
    expect(asked()[0]).toMatchObject({ result: '11' });
    expect(asked()[0]).toMatchObject({ result: '11' });
  });

  test('of a terminated run are answered from what it had done', () => {
    const run = counter();
    run.start().turn();
    run.signal('add', 2).turn();
    run.signal('add', 5).append('WORKFLOW_EXECUTION_TERMINATED', { reason: 'test' });
    run.forgetCache();
    const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'times', args: [1] }] });
    expect(answers).toMatchObject([{ result: '2' }]);
  });

  test.each([
    ['broken', 'RangeError', 'no answer'],
    ['async', 'Error', 'query "async" is async'],
    ['asking', 'UsageError', 'sleep() cannot be used in query "asking"'],
    ['strange', 'PayloadError', 'result of query "strange" is a BigInt'],
  ])('that are %s fail and leave the run alone', (name, type, message) => {
    const run = counter();
    run.start().turn();
    const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name }] });
    expect(answers).toMatchObject([
      { kind: 'failed', failure: { type, message: expect.stringContaining(message) } },
    ]);
    expect(run.signal('add', 11).turn()).toEqual([{ kind: 'completeRun', result: '11' }]);
  });

  test('what a handler leaves behind ends with the query: no command, no failed turn', () => {
    const run = counter();
    run.start().turn();
    run.forgetCache();
    const { commands, answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'careless' }] });
    expect(commands).toEqual([]);
    expect(answers).toEqual([{ queryId: 0, kind: 'answered', result: '"answered"' }]);
    expect(run.logged).toMatchObject([
      { level: 'info', message: 'asked' },
      { level: 'warn', message: expect.stringContaining('lost') },
    ]);
  });

  test('what a handler does later is still part of the query, and cannot ask for anything', () => {
    const run = new ScriptedRun(({ workflow, defineQuery, defineSignal, setHandler, condition, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let go = false;
          setHandler(defineQuery<void>('sneaky'), () => {
            void Promise.resolve()
              .then(() => sleep(1))
              .catch(() => {});
          });
          setHandler(defineSignal('go'), () => {
            go = true;
          });
          await condition(() => go);
          await sleep(5);
        },
      }),
    );
    run.start().turn();
    const first = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'sneaky' }] });
    expect(first.answers).toEqual([{ queryId: 0, kind: 'answered' }]);
    expect(run.signal('go').turn()).toEqual([{ kind: 'startTimer', timerId: '1', durationMs: 5 }]);
  });

  test('can ask which handlers there are', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, defineUpdate, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineSignal('stop'), () => {}, { description: 'Stops it' });
          setHandler(defineUpdate<void>('change'), () => {});
          await sleep(1);
        },
      }),
    );
    run.start().turn();
    const [answer] = run.turnAndAnswers({
      readOnly: true,
      queries: [{ name: '__workflow_metadata' }],
    }).answers;
    expect(JSON.parse((answer as { result: string }).result)).toEqual({
      definition: {
        type: 'test',
        queryDefinitions: [],
        signalDefinitions: [{ name: 'stop', description: 'Stops it' }],
        updateDefinitions: [{ name: 'change' }],
      },
    });
  });

  test('without a handler are told the names there are', () => {
    const run = counter();
    run.start().turn();
    expect(run.turnAndAnswers({ readOnly: true, queries: [{ name: 'what' }] }).answers).toEqual([
      {
        queryId: 0,
        kind: 'noHandler',
        known: ['times', 'nothing', 'broken', 'async', 'asking', 'strange', 'careless'],
      },
    ]);
  });
});

describe('updates', () => {
  const account = () =>
    new ScriptedRun(({ workflow, defineUpdate, defineSignal, setHandler, condition, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          let balance = 0;
          let open = true;
          setHandler(
            defineUpdate<number, [{ amount: number }]>('pay'),
            ({ amount }) => {
              balance += amount;
              return balance;
            },
            {
              validator: (payment) => {
                const { amount } = payment;
                payment.amount = 1_000_000;
                if (amount < 0) throw new RangeError('no negative amounts');
                if (amount === 13) void sleep(1);
              },
            },
          );
          setHandler(defineUpdate<string, [string]>('viaStep'), async (name) => `got ${await step(name)()}`);
          setHandler(defineUpdate<void>('fails'), async () => {
            throw new TypeError('handler broke');
          });
          setHandler(defineUpdate<void>('asyncValidator'), () => {}, {
            validator: (async () => {}) as () => void,
          });
          setHandler(defineSignal('close'), () => {
            open = false;
          });
          await condition(() => !open);
          return balance;
        },
      }),
    );
  const pay = (updateId: string, amount: number) => ({
    updateId,
    name: 'pay',
    input: [JSON.stringify({ amount })],
  });

  test('are accepted and completed in one turn when the handler answers at once', () => {
    const run = account();
    run.start().turn();
    expect(run.turn({ updates: [pay('u1', 5), pay('u2', 7)] })).toEqual([
      { kind: 'acceptUpdate', updateId: 'u1' },
      { kind: 'completeUpdate', updateId: 'u1', result: '5' },
      { kind: 'acceptUpdate', updateId: 'u2' },
      { kind: 'completeUpdate', updateId: 'u2', result: '12' },
    ]);
    expect(run.signal('close').turn()).toEqual([{ kind: 'completeRun', result: '12' }]);
  });

  test('in the first turn find the handlers that it sets', () => {
    const run = account();
    expect(run.start().turn({ updates: [pay('u1', 5)] })).toMatchObject([
      { kind: 'acceptUpdate' },
      { kind: 'completeUpdate', result: '5' },
    ]);
  });

  test('that the validator refuses leave no trace, and the validator is not asked on replay', () => {
    const run = account();
    run.start().turn();
    expect(run.turn({ updates: [pay('u1', -1)] })).toMatchObject([
      {
        kind: 'rejectUpdate',
        updateId: 'u1',
        reason: 'validator',
        failure: { type: 'RangeError', message: 'no negative amounts' },
      },
    ]);
    run.turn({ updates: [pay('u2', 3)] });
    // The history has it as accepted, so the validator of code that would now refuse it is not consulted.
    run.find('WORKFLOW_EXECUTION_UPDATE_ACCEPTED').attributes.input = ['{"amount":-3}'];
    run.forgetCache();
    expect(run.signal('close').turn()).toEqual([{ kind: 'completeRun', result: '-3' }]);
  });

  test('whose validator asks for something or is async are refused', () => {
    const run = account();
    run.start().turn();
    expect(
      run.turn({ updates: [pay('u1', 13), { updateId: 'u2', name: 'asyncValidator', input: [] }] }),
    ).toMatchObject([
      {
        kind: 'rejectUpdate',
        failure: { message: expect.stringContaining('sleep() cannot be used in the validator') },
      },
      { kind: 'rejectUpdate', failure: { message: expect.stringContaining('is async') } },
    ]);
  });

  test('without a handler are refused when the turn ends', () => {
    const run = account();
    run.start().turn();
    expect(run.turn({ updates: [{ updateId: 'u1', name: 'what', input: [] }] })).toMatchObject([
      {
        kind: 'rejectUpdate',
        updateId: 'u1',
        reason: 'noHandler',
        failure: { message: expect.stringContaining('pay') },
      },
    ]);
  });

  test('may run steps, and are completed in a later turn', () => {
    const run = account();
    run.start().turn();
    expect(run.turn({ updates: [{ updateId: 'u1', name: 'viaStep', input: ['"one"'] }] })).toMatchObject([
      { kind: 'acceptUpdate', updateId: 'u1' },
      { kind: 'scheduleStep', stepName: 'one' },
    ]);
    expect(run.completeStep('1', 'it').turn()).toEqual([
      { kind: 'completeUpdate', updateId: 'u1', result: '"got it"' },
    ]);
  });

  test('whose handler throws fail, and the run goes on', () => {
    const run = account();
    run.start().turn();
    expect(run.turn({ updates: [{ updateId: 'u1', name: 'fails', input: [] }] })).toMatchObject([
      { kind: 'acceptUpdate' },
      { kind: 'completeUpdate', updateId: 'u1', failure: { type: 'TypeError', message: 'handler broke' } },
    ]);
    expect(run.signal('close').turn()).toEqual([{ kind: 'completeRun', result: '0' }]);
  });

  test('that complete in the turn that ends the run come before its end', () => {
    const run = new ScriptedRun(({ workflow, defineUpdate, setHandler, condition, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let done = false;
          setHandler(defineUpdate<string>('finish'), async () => {
            done = true;
            await null;
            await null;
            await null;
            return 'finished';
          });
          await condition(() => done);
          void sleep(1000);
          return 'end';
        },
      }),
    );
    run.start().turn();
    expect(run.turn({ updates: [{ updateId: 'u1', name: 'finish', input: [] }] })).toEqual([
      { kind: 'acceptUpdate', updateId: 'u1' },
      { kind: 'completeUpdate', updateId: 'u1', result: '"finished"' },
      { kind: 'startTimer', timerId: '1', durationMs: 1000 },
      { kind: 'completeRun', result: '"end"' },
    ]);
  });
});

describe('payloads of declared messages', () => {
  const declared: Source = ({
    workflow,
    z,
    defineSignal,
    defineQuery,
    defineUpdate,
    setHandler,
    condition,
  }) => {
    const inputSchema = z
      .object({
        by: z.string().refine((by) => by !== 'nobody', 'somebody must'),
        at: z.coerce.date().optional(),
      })
      .extend({ times: z.number().default(1) });
    return workflow({
      name: 'test',
      signals: { note: { inputSchema }, end: {} },
      queries: { ask: { inputSchema } },
      updates: { put: { inputSchema } },
      fn: async () => {
        const got: unknown[] = [];
        let ended = false;
        const kind = (value: { at?: Date }) => ({ ...value, isDate: value.at instanceof Date });
        setHandler(defineSignal<[{ at?: Date }]>('note'), (value) => void got.push(kind(value)));
        setHandler(defineSignal('end'), () => {
          ended = true;
        });
        setHandler(defineQuery<unknown, [{ at?: Date }]>('ask'), (value) => kind(value));
        setHandler(
          defineUpdate<number, [{ times: number }]>('put'),
          (value) => {
            got.push(value);
            return value.times;
          },
          {
            validator: (value) => {
              if (value.times > 5) throw new Error('too often');
            },
          },
        );
        await condition(() => ended);
        return got;
      },
    });
  };
  const update = (payload: unknown) => [{ updateId: 'u', name: 'put', input: [JSON.stringify(payload)] }];

  test('reach handlers as the schema reads them, which is marked once', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.signal('note', { by: 'ada', at: '2026-01-02', more: 'left out' }).turn()).toEqual([
      { kind: 'recordPatch', patchId: 'perdure.parsedMessages', deprecated: false },
    ]);
    expect(run.signal('note', { by: 'bob' }).turn()).toEqual([]);
    const [done] = run.signal('end').turn() as { result: string }[];
    expect(JSON.parse(done!.result)).toEqual([
      { by: 'ada', at: '2026-01-02T00:00:00.000Z', times: 1, isDate: true },
      { by: 'bob', times: 1, isDate: false },
    ]);
  });

  test('of which the schema makes nothing else leave no mark', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.signal('note', { times: 2, by: 'ada' }).turn()).toEqual([]);
  });

  test('that do not fit leave a signal out and the run alone', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    run.signal('note', { by: 'nobody' }).turn();
    expect(run.logged).toMatchObject([
      { level: 'warn', message: expect.stringContaining('somebody must'), fields: { signal: 'note' } },
    ]);
    expect(run.signal('end').turn()).toEqual([{ kind: 'completeRun', result: '[]' }]);
  });

  test('that do not fit refuse an update and fail a query', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.turn({ updates: update({ by: 'nobody' }) })).toMatchObject([
      {
        kind: 'rejectUpdate',
        reason: 'validator',
        failure: { message: expect.stringContaining('somebody') },
      },
    ]);
    const { answers } = run.turnAndAnswers({
      queries: [
        { name: 'ask', args: [{ by: 'nobody' }] },
        { name: 'ask', args: [{ by: 'ada', at: '2026-01-02' }] },
      ],
    });
    expect(answers).toMatchObject([
      { kind: 'failed', failure: { message: expect.stringContaining('somebody must') } },
      { kind: 'answered', result: '{"by":"ada","at":"2026-01-02T00:00:00.000Z","times":1,"isDate":true}' },
    ]);
  });

  test('of updates reach the validator and the handler as the schema reads them', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.turn({ updates: update({ by: 'ada', times: 6 }) })).toMatchObject([
      { kind: 'rejectUpdate', failure: { message: 'too often' } },
    ]);
    expect(run.turn({ updates: update({ by: 'ada' }) })).toEqual([
      { kind: 'acceptUpdate', updateId: 'u' },
      { kind: 'recordPatch', patchId: 'perdure.parsedMessages', deprecated: false },
      { kind: 'completeUpdate', updateId: 'u', result: '1' },
    ]);
  });

  test('in histories from before they were parsed stay as handlers got them', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    // As the code of that time has left it: turns that saw a message, and no mark.
    for (const payload of [{ by: 'ada' }, { by: 'nobody' }]) {
      run.signal('note', payload);
      run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
      const scheduledEventId = run.history.length;
      run.append('WORKFLOW_TASK_STARTED', { scheduledEventId });
      run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId, startedEventId: scheduledEventId + 1 });
    }
    run.forgetCache();
    expect(run.signal('note', { by: 'new' }).turn()).toMatchObject([{ kind: 'recordPatch' }]);
    const [done] = run.signal('end').turn() as { result: string }[];
    expect(JSON.parse(done!.result)).toEqual([
      { by: 'ada', isDate: false },
      { by: 'nobody', isDate: false },
      { by: 'new', times: 1, isDate: false },
    ]);
  });
});
