import { describe, expect, test } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { ScriptedRun, type Source } from './scripted-run.fixture.js';

/** Queries and validators are not asked again at a replay, so nothing of them may stay: each turn here runs both ways. */

const update = (name: string, ...args: unknown[]) => ({
  updateId: `u-${name}`,
  name,
  input: args.map((arg) => JSON.stringify(arg)),
});
const resultOf = (commands: Command[]): unknown => {
  const last = commands.at(-1);
  return last?.kind === 'completeRun' ? JSON.parse(last.result!) : last;
};

describe('random numbers', () => {
  const source: Source = ({ workflow, sleep, uuid4, defineQuery, defineUpdate, setHandler }) =>
    workflow({
      name: 'test',
      fn: async () => {
        const draw = () => [
          Math.random(),
          uuid4(),
          crypto.randomUUID(),
          crypto.getRandomValues(new Uint8Array(2)).length,
        ];
        setHandler(defineQuery('draw'), draw);
        setHandler(defineUpdate('draw'), () => 'drawn', { validator: () => void draw() });
        setHandler(defineUpdate('refused'), () => {}, {
          validator: () => {
            throw new Error(`drew ${draw().length}`);
          },
        });
        const before = draw();
        await sleep(1);
        return [before, draw()];
      },
    });

  test('of a query do not move those of the run, and differ from them', () => {
    const undisturbed = new ScriptedRun(source);
    undisturbed.start().turn();
    const expected = resultOf(undisturbed.fireTimer('1').turn()) as unknown[][];
    const run = new ScriptedRun(source);
    run.start().turn();
    const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'draw' }, { name: 'draw' }] });
    const drawn = answers.map((answer) => JSON.parse((answer as { result: string }).result) as unknown[]);
    expect(drawn[0]).not.toEqual(drawn[1]);
    expect(resultOf(run.fireTimer('1').turn())).toEqual(expected);
    for (const number of expected.map(([first]) => first)) expect(drawn.flat()).not.toContain(number);
  });

  test.each(['draw', 'refused'])('of a validator do not move those of the run: %s', (name) => {
    const run = new ScriptedRun(source);
    run.start().turn();
    run.turn({ updates: [update(name)] });
    resultOf(run.fireTimer('1').turn());
  });
});

test.each([
  ['setTimeout(() => {}, 1)', 'setTimeout()'],
  ['clearTimeout(timer)', 'clearTimeout()'],
  ['scope.cancel()', 'CancellationScope.cancel()'],
  ['new sdk.CancellationScope()', 'new CancellationScope()'],
  ['void sdk.sleep(1)', 'sleep()'],
  ['void sdk.condition(() => true)', 'condition()'],
  ['sdk.patched("p")', 'patched()'],
])('a query cannot ask for anything: %s', (use, name) => {
  const source = new Function(
    'sdk',
    `const { workflow, sleep, setHandler, defineQuery, CancellationScope } = sdk;
    return workflow({ name: 'test', fn: async () => {
      const timer = setTimeout(() => {}, 50);
      const scope = new CancellationScope();
      const waiting = scope.run(() => sleep(1));
      setHandler(defineQuery('q'), () => { ${use}; });
      await waiting;
      return setTimeout(() => {}, 1);
    } })`,
  ) as Source;
  const run = new ScriptedRun(source);
  run.start().turn();
  const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'q' }] });
  expect(answers).toMatchObject([
    {
      kind: 'failed',
      failure: {
        type: 'UsageError',
        message: expect.stringContaining(`${name} cannot be used in query "q"`),
      },
    },
  ]);
  expect(resultOf(run.fireTimer('2').turn())).toBe(2);
});

describe('an update that is refused', () => {
  test('causes no pass over conditions', () => {
    const run = new ScriptedRun(({ workflow, sleep, condition, defineUpdate, setHandler }) =>
      workflow({
        name: 'test',
        fn: async () => {
          let asked = 0;
          setHandler(defineUpdate('no'), () => {}, {
            validator: () => {
              throw new Error('no');
            },
          });
          void condition(() => ++asked < 0);
          await sleep(1);
          return asked;
        },
      }),
    );
    run.start().turn();
    expect(run.turn({ updates: [update('no')] })).toMatchObject([
      { kind: 'rejectUpdate', reason: 'validator' },
    ]);
    expect(run.turn({ updates: [update('unknown')] })).toMatchObject([
      { kind: 'rejectUpdate', reason: 'noHandler' },
    ]);
    expect(resultOf(run.fireTimer('1').turn())).toBe(2);
  });

  test.each(['proxy', 'getters', 'symbol', 'null'])(
    'by something that cannot be described does not concern the run: %s',
    (kind) => {
      const run = new ScriptedRun(({ workflow, sleep, defineUpdate, defineQuery, setHandler }) =>
        workflow({
          name: 'test',
          fn: async () => {
            const refuse = (what: string) => {
              const fail = () => {
                throw new Error('a trap');
              };
              if (what === 'proxy') throw new Proxy(new Error('x'), { get: fail, getPrototypeOf: fail });
              if (what === 'getters') throw Object.defineProperty({}, 'message', { get: fail });
              throw what === 'symbol' ? Symbol('s') : null;
            };
            setHandler(defineUpdate<void, [string]>('no'), () => {}, { validator: refuse });
            setHandler(defineUpdate<void, [string]>('fails'), refuse);
            setHandler(defineQuery<void, [string]>('fails'), refuse);
            await sleep(1);
            return 'went on';
          },
        }),
      );
      run.start().turn();
      expect(run.turn({ updates: [update('no', kind), update('fails', kind)] })).toMatchObject([
        { kind: 'rejectUpdate', failure: { message: expect.any(String) } },
        { kind: 'acceptUpdate' },
        { kind: 'completeUpdate', failure: { message: expect.any(String) } },
      ]);
      const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'fails', args: [kind] }] });
      expect(answers).toMatchObject([{ kind: 'failed' }]);
      expect(resultOf(run.fireTimer('1').turn())).toBe('went on');
    },
  );
});

test('an update that comes with a signal whose handler ends the run is left to the engine', () => {
  const run = new ScriptedRun(({ workflow, sleep, defineSignal, defineUpdate, setHandler }) =>
    workflow({
      name: 'test',
      fn: async () => {
        setHandler(defineSignal('break'), () => {
          throw new Error('broken');
        });
        setHandler(defineUpdate('change'), () => 'changed');
        await sleep(1);
      },
    }),
  );
  run.start().turn();
  expect(run.signal('break').turn({ updates: [update('change')] })).toMatchObject([
    { kind: 'failRun', failure: { message: 'broken' } },
  ]);
});

test.each([
  'null',
  'undefined',
  'new Proxy(new Error("x"), { get() { throw 1 }, getPrototypeOf() { throw 1 } })',
])('a workflow that throws %s fails', (thrown) => {
  for (const body of [`throw ${thrown};`, `Promise.reject(${thrown}); await sdk.sleep(1);`]) {
    const source = new Function(
      'sdk',
      `return sdk.workflow({ name: 'test', fn: async () => { ${body} } })`,
    ) as Source;
    expect(new ScriptedRun(source).start().turn().at(-1)).toMatchObject({ kind: 'failRun' });
  }
});

describe('what queries and refused updates assign', () => {
  const source: Source = ({ workflow, sleep, defineQuery, defineUpdate, setHandler }) =>
    workflow({
      name: 'test',
      fn: async () => {
        const state = { asked: 0, refused: 0, list: [] as number[] };
        const bump = () => ++state.asked;
        setHandler(defineQuery('assigns'), () => ++state.asked);
        setHandler(defineQuery('hidden'), () => bump());
        setHandler(defineQuery('pushes'), () => state.list.push(1));
        setHandler(defineQuery('reads'), () => state);
        setHandler(defineUpdate('refuses'), () => {}, {
          validator: () => {
            state.refused++;
            throw new Error('no');
          },
        });
        await sleep(1);
        return state;
      },
    });
  const untouched = { asked: 0, refused: 0, list: [] };

  test.each(['assigns', 'hidden', 'pushes', 'reads'])('does not reach the run: query %s', (name) => {
    const run = new ScriptedRun(source);
    run.start().turn();
    run.turnAndAnswers({ readOnly: true, queries: [{ name }] });
    expect(resultOf(run.fireTimer('1').turn())).toEqual(untouched);
  });

  test('does not reach the run when it came with a turn', () => {
    const run = new ScriptedRun(source);
    run.start().turnAndAnswers({ queries: [{ name: 'assigns' }] });
    expect(resultOf(run.fireTimer('1').turn())).toEqual(untouched);
  });

  test('does not reach the run: a validator', () => {
    const run = new ScriptedRun(source);
    run.start().turn();
    run.turn({ updates: [update('refuses')] });
    expect(resultOf(run.fireTimer('1').turn())).toEqual(untouched);
  });
});

describe('what queries go through', () => {
  const source: Source = ({ workflow, sleep, defineQuery, setHandler }) =>
    workflow({
      name: 'test',
      fn: async () => {
        const numbers = (function* () {
          for (let n = 1; ; n++) yield n;
        })();
        const letters = ['a', 'b', 'c'].values();
        const seen = new Set(['x', 'y']).values();
        const all = [['k', 'v'].values()];
        setHandler(defineQuery('loop'), () => {
          for (const n of numbers) return n;
          return 0;
        });
        setHandler(defineQuery('spread'), () => [...letters]);
        setHandler(defineQuery('arguments'), () => Math.max(...(letters as Iterable<never>)));
        setHandler(defineQuery('parameters'), () => all.map(([first]) => first));
        setHandler(defineQuery('list'), () => [...seen]);
        await sleep(1);
        return [numbers.next().value, [...letters], [...seen], [...all[0]!]];
      },
    });

  test.each(['loop', 'spread', 'arguments', 'parameters', 'list'])('is there for the run: %s', (name) => {
    const run = new ScriptedRun(source);
    run.start().turn();
    run.turnAndAnswers({ readOnly: true, queries: [{ name }] });
    const left = [undefined, ['a', 'b', 'c'], ['x', 'y'], ['k', 'v']];
    expect(resultOf(run.fireTimer('1').turn())).toMatchObject([expect.any(Number), ...left.slice(1)]);
  });
});
