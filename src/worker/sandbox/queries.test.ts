import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

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

  test('what a handler asks for later is refused as what it asks for at once', () => {
    const run = new ScriptedRun(({ workflow, defineQuery, setHandler, condition, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineQuery<void>('sneaky'), () => {
            void Promise.resolve().then(() => sleep(1));
          });
          await condition(() => false);
        },
      }),
    );
    run.start().turn();
    run.turnAndAnswers({ readOnly: true, queries: [{ name: 'sneaky' }] });
    expect(run.logged).toMatchObject([
      { level: 'warn', message: expect.stringContaining('sleep() cannot be used in a query') },
    ]);
  });

  test('that change something leave that to no later query which sees more of the history', () => {
    const run = new ScriptedRun(({ workflow, defineQuery, defineSignal, setHandler, condition }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let asked = 0;
          let heard = 0;
          setHandler(defineQuery<number[]>('count'), () => [++asked, heard]);
          setHandler(defineSignal('hear'), () => {
            heard++;
          });
          await condition(() => false);
        },
      }),
    );
    run.start().turn();
    const count = () => run.turnAndAnswers({ readOnly: true, queries: [{ name: 'count' }] }).answers;
    expect(count()).toMatchObject([{ result: '[1,0]' }]);
    run.signal('hear');
    // A turn that another worker has made.
    run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
    const { id } = run.append('WORKFLOW_TASK_STARTED', { scheduledEventId: run.history.length });
    run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId: id - 1, startedEventId: id });
    expect(count()).toMatchObject([{ result: '[1,1]' }]);
  });

  test('leave the random numbers of the run as they are', () => {
    const run = new ScriptedRun(({ workflow, defineQuery, defineSignal, setHandler, condition }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let go = false;
          setHandler(defineQuery<boolean>('state'), () => go);
          setHandler(defineSignal('go'), () => {
            go = true;
          });
          const before = Math.random();
          await condition(() => go);
          return [before, Math.random()];
        },
      }),
    );
    run.start().turn();
    run.turnAndAnswers({ readOnly: true, queries: [{ name: 'state' }] });
    // The run that was asked goes on, and gives what one gives that nobody has asked.
    expect(run.signal('go').turn()).toMatchObject([{ kind: 'completeRun' }]);
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
