import { describe, expect, test } from 'vitest';
import { ScriptedRun } from '../scripted-run.fixture.js';

/** From the first payload on of which parsing makes something else. */
const MARK = { kind: 'recordPatch', patchId: 'perdure.parsedMessages', deprecated: false };

describe('a declared signal', () => {
  test('reaches its handler parsed, with defaults and transforms', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, z }) =>
      workflow({
        name: 'test',
        signals: {
          approve: {
            inputSchema: z.object({
              by: z.string().trim(),
              at: z.string().transform((text) => text.length),
              n: z.number().default(7),
            }),
          },
        },
        fn: async () => {
          const got: unknown[] = [];
          setHandler(defineSignal<[unknown]>('approve'), (payload) => {
            got.push(payload);
          });
          return got;
        },
      }),
    );
    expect(run.start().signal('approve', { by: ' ada ', at: '1234', junk: 1 }).turn()).toEqual([
      MARK,
      { kind: 'completeRun', result: '[{"by":"ada","at":4,"n":7}]' },
    ]);
  });

  test('reaches its handler with all that another workflow has sent with it', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, z }) =>
      workflow({
        name: 'test',
        signals: { add: { inputSchema: z.number() } },
        fn: async () => {
          const got: unknown[] = [];
          setHandler(defineSignal<[number, string]>('add'), (...args) => {
            got.push(args);
          });
          return got;
        },
      }),
    );
    expect(run.start().signal('add', 1, 'more').turn()).toEqual([
      { kind: 'completeRun', result: '[[1,"more"]]' },
    ]);
  });

  test('that does not fit is dropped with a line in the log, and the run goes on', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, condition, z }) =>
      workflow({
        name: 'test',
        signals: {
          approve: { inputSchema: z.object({ by: z.string().refine((by) => by !== 'eve', 'not eve') }) },
        },
        fn: async () => {
          const got: unknown[] = [];
          setHandler(defineSignal<[unknown]>('approve'), (payload) => {
            got.push(payload);
          });
          await condition(() => got.length > 1);
          return got;
        },
      }),
    );
    run.start().turn();
    expect(
      run.signal('approve', { by: 'ada' }).signal('approve', { by: 'eve' }).signal('approve').turn(),
    ).toEqual([MARK]);
    expect(run.logged.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn payload of signal "approve" is invalid: by: not eve; the signal is left out',
      expect.stringMatching(/^warn payload of signal "approve" is invalid: .*; the signal is left out$/),
    ]);
    expect(run.signal('approve', { by: 'bob' }).turn()).toEqual([
      { kind: 'completeRun', result: '[{"by":"ada"},{"by":"bob"}]' },
    ]);
  });

  test('at which its schema throws is left out, and the run goes on', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, condition, z }) => {
      const thrown = { error: new SyntaxError('no JSON'), nothing: Object.create(null), text: 'a text' };
      const judge = (which: keyof typeof thrown | 'none') => {
        if (which !== 'none') throw thrown[which];
        return true;
      };
      const validate = (value: unknown) => {
        judge(value as 'none');
        return { value };
      };
      const own = { '~standard': { version: 1 as const, vendor: 'own', validate } };
      return workflow({
        name: 'test',
        signals: {
          byZod: { inputSchema: z.enum(['error', 'nothing', 'text', 'none']).refine(judge) },
          byOwn: { inputSchema: own },
        },
        fn: async () => {
          const got: unknown[] = [];
          for (const name of ['byZod', 'byOwn']) {
            setHandler(defineSignal<[string]>(name), (payload) => {
              got.push(`${name} ${payload}`);
            });
          }
          await condition(() => got.length > 1);
          return got;
        },
      });
    });
    run.start().turn();
    for (const name of ['byZod', 'byOwn']) {
      run.signal(name, 'error').signal(name, 'nothing').signal(name, 'text').signal(name, 'none');
    }
    expect(run.turn()).toEqual([MARK, { kind: 'completeRun', result: '["byZod none","byOwn none"]' }]);
    const said = (name: string) => [
      `the schema of signal "${name}" threw: no JSON; the signal is left out`,
      expect.stringMatching(`^the schema of signal "${name}" threw: .*; the signal is left out$`),
      `the schema of signal "${name}" threw: a text; the signal is left out`,
    ];
    expect(run.logged.map(({ message }) => message)).toEqual([...said('byZod'), ...said('byOwn')]);
  });

  test('with an async schema fails the run, since it could not keep its place', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, sleep, z }) =>
      workflow({
        name: 'test',
        signals: { approve: { inputSchema: z.string().refine(async () => true) } },
        fn: async () => {
          setHandler(defineSignal<[string]>('approve'), () => {});
          await sleep(1000);
        },
      }),
    );
    run.start().turn();
    const failed = run.signal('approve', 'x').turn();
    expect(failed).toMatchObject([MARK, { kind: 'failRun' }]);
  });
});

describe('a definition with schemas', () => {
  test('parses what its handler gets and answers, declared or not', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, defineQuery, setHandler, sleep, z }) => {
      const add = defineSignal('add', { inputSchema: z.coerce.number() });
      const total = defineQuery('total', {
        inputSchema: z.object({ times: z.number().default(2) }).prefault({}),
        outputSchema: z.number().transform((n) => `${n} in all`),
      });
      return workflow({
        name: 'test',
        signals: { add },
        fn: async () => {
          let sum = 0;
          setHandler(add, (n) => {
            sum += n;
          });
          setHandler(total, ({ times }) => sum * times);
          await sleep(1000);
        },
      });
    });
    run.start().turn();
    run.signal('add', '3').signal('add', 4).turn();
    const ask = (...args: unknown[]) =>
      run.turnAndAnswers({ readOnly: true, queries: [{ name: 'total', args }] }).answers[0];
    expect(ask()).toMatchObject({ kind: 'answered', result: '"14 in all"' });
    expect(ask({ times: 3 })).toMatchObject({ kind: 'answered', result: '"21 in all"' });
    expect(ask({ times: 'x' })).toMatchObject({
      kind: 'failed',
      failure: {
        type: 'ValidationError',
        message: expect.stringMatching(/^payload of query "total" is invalid: times: /),
      },
    });
  });

  test('cannot contradict what the workflow declares', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, z }) =>
      workflow({
        name: 'test',
        signals: { add: { inputSchema: z.string() } },
        fn: async () => setHandler(defineSignal('add', { inputSchema: z.number() }), () => {}),
      }),
    );
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: {
          type: 'DefinitionError',
          message: expect.stringContaining('signal "add" has an inputSchema of its own'),
        },
      },
    ]);
  });

  test('is tied to the declaration by the workflow itself', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, setHandler, z }) => {
      const order = workflow({
        name: 'test',
        signals: { add: { inputSchema: z.number().default(5) } },
        fn: async () => {
          const got: number[] = [];
          setHandler(add, (n) => {
            got.push(n);
          });
          return got;
        },
      });
      const add = defineSignal(order, 'add');
      return order;
    });
    expect(run.start().signal('add').signal('add', 1).turn()).toEqual([
      MARK,
      { kind: 'completeRun', result: '[5,1]' },
    ]);
  });

  test('is checked before a signal leaves for another workflow', () => {
    const run = new ScriptedRun(({ workflow, defineSignal, getExternalWorkflowHandle, z }) => {
      const add = defineSignal('add', { inputSchema: z.object({ n: z.number().transform((n) => n * 2) }) });
      return workflow({
        name: 'test',
        fn: async () => {
          const { signal } = getExternalWorkflowHandle('other');
          let refused = '';
          try {
            await signal(add, { n: 'x' } as never);
          } catch (error) {
            refused = (error as Error).name;
          }
          if (refused === 'ValidationError') await signal(add, { n: 4 });
        },
      });
    });
    // As it was written: the other workflow parses it.
    expect(run.start().turn()).toMatchObject([{ kind: 'signalExternal', input: ['{"n":4}'] }]);
  });
});

describe('a declared update', () => {
  const source = () =>
    new ScriptedRun(({ workflow, defineUpdate, setHandler, sleep, z }) =>
      workflow({
        name: 'test',
        updates: {
          move: {
            inputSchema: z.object({ to: z.string().trim(), fast: z.boolean().default(true) }),
            outputSchema: z.object({ at: z.string(), seen: z.number().default(1) }),
          },
        },
        fn: async () => {
          setHandler(
            defineUpdate<unknown, [{ to: string; fast: boolean }]>('move'),
            async ({ to, fast }) => (to === 'nowhere' ? { at: 1 } : { at: `${to} ${fast}` }),
            {
              validator: ({ to }) => {
                if (to === 'hell') throw new Error('not there');
              },
            },
          );
          await sleep(1000);
        },
      }),
    );
  const update = (run: ScriptedRun, payload: unknown) =>
    run.turn({ updates: [{ updateId: 'u', name: 'move', input: [JSON.stringify(payload)] }] });

  test('is parsed for its validator and its handler, and so is its answer', () => {
    const run = source();
    run.start().turn();
    expect(update(run, { to: ' home ' })).toEqual([
      { kind: 'acceptUpdate', updateId: 'u' },
      MARK,
      { kind: 'completeUpdate', updateId: 'u', result: '{"at":"home true","seen":1}' },
    ]);
  });

  test('that does not fit is refused like one that its validator refuses', () => {
    const run = source();
    run.start().turn();
    expect(update(run, { to: ' hell ' })).toMatchObject([
      { kind: 'rejectUpdate', reason: 'validator', failure: { message: 'not there' } },
    ]);
    expect(update(run, { to: 5 })).toMatchObject([
      {
        kind: 'rejectUpdate',
        reason: 'validator',
        failure: {
          type: 'ValidationError',
          message: expect.stringMatching(/^payload of update "move" is invalid: to: /),
        },
      },
    ]);
  });

  test('fails when what it answers does not fit', () => {
    const run = source();
    run.start().turn();
    expect(update(run, { to: 'nowhere' })).toMatchObject([
      { kind: 'acceptUpdate' },
      MARK,
      {
        kind: 'completeUpdate',
        failure: { message: expect.stringMatching(/^result of update "move" is invalid: at: /) },
      },
    ]);
  });
});
