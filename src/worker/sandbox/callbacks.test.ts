import { describe, expect, test } from 'vitest';
import { CALLBACK_SIGNAL } from '../../core/run/callback.js';
import { RUN_ID, ScriptedRun, type Source } from './scripted-run.fixture.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A run that gives the addresses of two callbacks to a step, and returns what came for them. */
const twoCallbacks: Source = ({ workflow, createCallback }, step) =>
  workflow({
    name: 'test',
    fn: async () => {
      const first = createCallback();
      const second = createCallback();
      await step('ask')([first.id, first.url, second.id, second.url]);
      return Promise.all([first.result, second.result]);
    },
  });

function startedWith(source: Source): { run: ScriptedRun; given: string[] } {
  const run = new ScriptedRun(source);
  const [ask] = run.start().turn() as { input: string[] }[];
  return { run, given: JSON.parse(ask!.input[0]!) as string[] };
}

describe('a callback', () => {
  test('has an id and an address of its own', () => {
    const { given } = startedWith(twoCallbacks);
    const [firstId, firstUrl, secondId, secondUrl] = given as [string, string, string, string];
    expect(firstId).toMatch(UUID);
    expect(secondId).toMatch(UUID);
    expect(firstId).not.toBe(secondId);
    expect([firstUrl, secondUrl]).toEqual([
      `https://outside.test/test-1/${firstId}`,
      `https://outside.test/test-1/${secondId}`,
    ]);
  });

  test('that is made after a reset is another one than the run had made that was reset', () => {
    const idsOf = (isReset: boolean): string[] => {
      const run = new ScriptedRun(({ workflow, createCallback }, step) =>
        workflow({
          name: 'test',
          fn: async () => {
            const before = createCallback().id;
            await step('one')();
            return [before, createCallback().id];
          },
        }),
      );
      run.start().turn();
      run.completeStep('1');
      if (isReset) {
        run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
        const { id } = run.append('WORKFLOW_TASK_STARTED', { scheduledEventId: run.history.length });
        run.append('WORKFLOW_TASK_FAILED', {
          scheduledEventId: id - 1,
          startedEventId: id,
          cause: 'RESET_WORKFLOW',
          failure: { kind: 'application', type: 'Reset', message: 'reset' },
          baseRunId: RUN_ID,
          newRunId: '01890000-0000-7000-8000-00000000000f',
        });
        run.forgetCache();
      }
      return JSON.parse((run.turn()[0] as { result: string }).result) as string[];
    };
    const [kept, later] = idsOf(false);
    const [keptByReset, madeAfterIt] = idsOf(true);
    expect(keptByReset).toBe(kept);
    expect(madeAfterIt).not.toBe(later);
  });

  test('gets what is posted for it and nothing else, whatever comes first, and the first of several', () => {
    const { run, given } = startedWith(twoCallbacks);
    const [first, , second] = given as [string, string, string];
    run.signal(CALLBACK_SIGNAL, second, 'for the second').completeStep('1').turn();
    run.signal(CALLBACK_SIGNAL, second, 'again').signal(CALLBACK_SIGNAL, 'of-nobody', 0).turn();
    run.signal(CALLBACK_SIGNAL, { not: 'an id' }).signal(CALLBACK_SIGNAL).turn();
    expect(run.signal(CALLBACK_SIGNAL, first, 'for the first').turn()).toEqual([
      { kind: 'completeRun', result: '["for the first","for the second"]' },
    ]);
  });

  test('can be given to a step as it is', () => {
    const run = new ScriptedRun(({ workflow, createCallback }, step) =>
      workflow({ name: 'test', fn: async () => step('ask')({ callback: createCallback({ id: 'a' }) }) }),
    );
    expect(run.start().turn()).toMatchObject([
      { stepName: 'ask', input: ['{"callback":{"id":"a","url":"https://outside.test/test-1/a"}}'] },
    ]);
  });

  test('tells nothing from null', () => {
    const run = new ScriptedRun(({ workflow, createCallback }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const [empty, none] = [createCallback({ id: 'empty' }), createCallback({ id: 'null' })];
          return [(await empty.result) === undefined, (await none.result) === null];
        },
      }),
    );
    run.start().turn();
    expect(run.signal(CALLBACK_SIGNAL, 'empty').signal(CALLBACK_SIGNAL, 'null', null).turn()).toEqual([
      { kind: 'completeRun', result: '[true,true]' },
    ]);
  });

  test('with a schema waits for what fits, as the schema reads it, and says what did not', () => {
    const run = new ScriptedRun(({ workflow, createCallback, z }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const paid = createCallback({
            schema: z.object({ cents: z.coerce.number(), currency: z.string().default('EUR') }),
          });
          await step('ask')(paid.url);
          return paid.result;
        },
      }),
    );
    const [ask] = run.start().turn() as { input: string[] }[];
    const url = JSON.parse(ask!.input[0]!) as string;
    expect(url).toMatch(/\/checked$/);
    const id = url.split('/').at(-2)!;
    run.signal(CALLBACK_SIGNAL, id, { cents: 'many' }).completeStep('1').turn();
    run.signal(CALLBACK_SIGNAL, id, 'nonsense').signal(CALLBACK_SIGNAL, id).turn();
    expect(run.logged.filter(({ level }) => level === 'warn')).toMatchObject([
      {
        message: expect.stringMatching(/posted for callback .*cents.*left out.*goes on waiting/),
        fields: { callbackId: id, issues: [{ path: ['cents'] }] },
      },
      { fields: { callbackId: id } },
      { fields: { callbackId: id } },
    ]);
    expect(run.signal(CALLBACK_SIGNAL, id, { cents: '5' }).turn()).toEqual([
      { kind: 'completeRun', result: '{"cents":5,"currency":"EUR"}' },
    ]);
  });

  test.each<[string, unknown]>([
    ['nothing', null],
    ['what has no text', 'bare'],
    ['what does not let itself be asked', 'proxy'],
  ])('that makes the schema throw %s is left out', (_what, posted) => {
    const run = new ScriptedRun(({ workflow, createCallback, z }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const schema = z.any().transform((value) => {
            if (value === null) throw null;
            if (value === 'bare') throw Object.create(null);
            if (value === 'proxy') {
              throw new Proxy(
                {},
                {
                  getPrototypeOf() {
                    throw 1;
                  },
                },
              );
            }
            return value;
          });
          return createCallback({ id: 'odd', schema }).result;
        },
      }),
    );
    run.start().turn();
    expect(run.signal(CALLBACK_SIGNAL, 'odd', posted).turn()).toEqual([]);
    expect(run.logged).toMatchObject([{ level: 'warn', message: expect.stringContaining('left out') }]);
    expect(run.signal(CALLBACK_SIGNAL, 'odd', 2).turn()).toEqual([{ kind: 'completeRun', result: '2' }]);
  });

  test('with an async schema counts too', () => {
    const run = new ScriptedRun(({ workflow, createCallback, z }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const schema = z.number().refine(async (value) => value > 1);
          return createCallback({ id: 'slow', schema }).result;
        },
      }),
    );
    run.start().turn();
    expect(run.signal(CALLBACK_SIGNAL, 'slow', 1).turn()).toEqual([]);
    expect(run.signal(CALLBACK_SIGNAL, 'slow', 2).turn()).toEqual([{ kind: 'completeRun', result: '2' }]);
  });

  test('of the author under an id gets what came before it was made', () => {
    const run = new ScriptedRun(({ workflow, createCallback, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          createCallback({ id: 'other' });
          await sleep('1h');
          return createCallback({ id: 'approval' }).result;
        },
      }),
    );
    run.start().signal(CALLBACK_SIGNAL, 'approval', 'early').turn();
    expect(run.fireTimer('1').turn()).toEqual([{ kind: 'completeRun', result: '"early"' }]);
  });

  test('is waited for in the scope that waits, and can be waited for again', () => {
    const run = new ScriptedRun(({ workflow, createCallback, CancellationScope }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const callback = createCallback({ id: 'late' });
          const inTime = await CancellationScope.withTimeout('1h', () => callback.result).catch(() => 'no');
          return [inTime, await callback.result, await callback.result];
        },
      }),
    );
    run.start().turn();
    expect(run.fireTimer('1').turn()).toEqual([]);
    expect(run.signal(CALLBACK_SIGNAL, 'late', 1).turn()).toEqual([
      { kind: 'completeRun', result: '["no",1,1]' },
    ]);
  });

  test('ends with its run when that is stopped', () => {
    const { run } = startedWith(twoCallbacks);
    run.completeStep('1').turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelRun' }]);
  });

  test.each([
    ['an option that is not known', { schma: 1 }, /no option "schma": did you mean "schema"\?/],
    ['what is no schema', { schema: 5 }, /not a schema/],
    ['what is no id', { id: 'with space' }, /not an id for a callback/],
    ['what is no object', 'approval', /must be an object/],
  ])('refuses %s', (_what, options, message) => {
    const run = new ScriptedRun(({ workflow, createCallback }) =>
      workflow({
        name: 'test',
        fn: async (given: unknown) => {
          try {
            createCallback(given as never);
          } catch (error) {
            return (error as Error).message;
          }
          return 'nothing thrown';
        },
      }),
    );
    const [done] = run.start(options).turn() as { result: string }[];
    expect(JSON.parse(done!.result)).toMatch(message);
  });

  test('refuses an id twice in one run, and to be made in a query', () => {
    const run = new ScriptedRun(({ workflow, createCallback, defineQuery, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineQuery<string>('make'), () => createCallback().url);
          createCallback({ id: 'a' });
          await sleep('1h');
          createCallback({ id: 'a' });
        },
      }),
    );
    const { answers } = run.start().turnAndAnswers({ queries: [{ name: 'make' }] });
    expect(answers).toMatchObject([
      { kind: 'failed', failure: { message: expect.stringContaining('createCallback()') } },
    ]);
    expect(run.fireTimer('1').turn()).toMatchObject([
      { kind: 'failRun', failure: { type: 'UsageError', message: expect.stringContaining('"a" already') } },
    ]);
  });

  test('draws none of the random numbers of the run', () => {
    const numbers = (source: Source) =>
      (new ScriptedRun(source).start().turn() as { result: string }[])[0]!.result;
    const without = numbers(({ workflow, uuid4 }) =>
      workflow({ name: 'test', fn: async () => [uuid4(), Math.random()] }),
    );
    const withOne = numbers(({ workflow, uuid4, createCallback }) =>
      workflow({
        name: 'test',
        fn: async () => {
          createCallback();
          return [uuid4(), Math.random()];
        },
      }),
    );
    expect(withOne).toBe(without);
  });
});

describe('requests that are answered later', () => {
  const webhooks: Source = ({ workflow, sendPostRequestAndAwaitWebhook }) =>
    workflow({
      name: 'test',
      fn: async () =>
        Promise.all([
          sendPostRequestAndAwaitWebhook({ url: 'http://localhost/a', payload: 1 }),
          sendPostRequestAndAwaitWebhook({ url: 'http://localhost/b', payload: 2 }),
        ]),
    });

  function posted(): { run: ScriptedRun; ids: string[] } {
    const run = new ScriptedRun(webhooks);
    const steps = run.start().turn() as { input: string[] }[];
    const bodies = steps.map(({ input }) => JSON.parse(input[0]!) as { payload: Record<string, string> });
    for (const { payload } of bodies) {
      expect(payload).toEqual({
        workflowId: 'test-1',
        payload: expect.any(Number),
        callbackId: expect.stringMatching(UUID),
        callbackUrl: `https://outside.test/test-1/${payload.callbackId}`,
      });
    }
    return { run, ids: bodies.map(({ payload }) => payload.callbackId!) };
  }

  test('get their own answers, in whatever order those come', () => {
    const { run, ids } = posted();
    run.completeStep('1').completeStep('2').turn();
    run.signal(CALLBACK_SIGNAL, ids[1], 'to b').turn();
    expect(run.signal(CALLBACK_SIGNAL, ids[0], 'to a').turn()).toEqual([
      { kind: 'completeRun', result: '["to a","to b"]' },
    ]);
  });

  test('get answers that come before the requests are answered', () => {
    const { run, ids } = posted();
    run.signal(CALLBACK_SIGNAL, ids[1], 'to b').signal(CALLBACK_SIGNAL, ids[0], 'to a').turn();
    expect(run.completeStep('2').completeStep('1').turn()).toEqual([
      { kind: 'completeRun', result: '["to a","to b"]' },
    ]);
  });

  test('feedback without a name goes to the one that has waited longest, as in histories from before', () => {
    const { run } = posted();
    run.completeStep('2').turn();
    run.signal('resume', 'to b').completeStep('1').turn();
    expect(run.signal('resume', 'to a').turn()).toEqual([{ kind: 'completeRun', result: '["to a","to b"]' }]);
  });

  test('feedback without a name passes over those that were answered at their own address', () => {
    const { run, ids } = posted();
    run.completeStep('1').completeStep('2').turn();
    run.signal(CALLBACK_SIGNAL, ids[0], 'to a').turn();
    expect(run.signal('resume', 'to b').turn()).toEqual([{ kind: 'completeRun', result: '["to a","to b"]' }]);
  });

  test('feedback without a name does not reach a callback that an outsider was given', () => {
    const run = new ScriptedRun(({ workflow, createCallback, sendPostRequestAndAwaitWebhook }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const outsider = createCallback({ id: 'outsider' });
          const service = await sendPostRequestAndAwaitWebhook({ url: 'http://localhost/a' });
          return [service, await outsider.result];
        },
      }),
    );
    run.start().turn();
    run.completeStep('1').signal('resume', 'of the service').turn();
    expect(run.signal(CALLBACK_SIGNAL, 'outsider', 'of the outsider').turn()).toEqual([
      { kind: 'completeRun', result: '["of the service","of the outsider"]' },
    ]);
  });

  test('one that is given up does not take the feedback of the next', () => {
    const run = new ScriptedRun(({ workflow, CancellationScope, sendPostRequestAndAwaitWebhook }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const url = 'http://localhost/a';
          const first = await CancellationScope.withTimeout('1h', () =>
            sendPostRequestAndAwaitWebhook({ url }),
          ).catch(() => 'given up');
          return [first, await sendPostRequestAndAwaitWebhook({ url })];
        },
      }),
    );
    run.start().turn();
    run.completeStep('1').turn();
    run.fireTimer('1').turn();
    run.completeStep('2').turn();
    expect(run.signal('resume', 'second').turn()).toEqual([
      { kind: 'completeRun', result: '["given up","second"]' },
    ]);
  });
});
