import { describe, expect, test } from 'vitest';
import { silentLog } from '../../core/log.js';
import type { TurnTask } from '../../core/task.js';
import { firstTurn } from './first-turn.fixture.js';
import { createSandbox, type Sandbox } from './host.js';
import { bundleOf, plain, type Source } from './scripted-run.fixture.js';

const turnOf = (runId: string, more: Partial<TurnTask> = {}) => firstTurn(runId, 'test', more);

/** The turn after the first one, which started a timer that has fired. */
function secondTurn(runId: string): TurnTask {
  return turnOf(runId, {
    events: [
      { id: 3, at: 1, type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId: 2 } },
      {
        id: 4,
        at: 1,
        type: 'WORKFLOW_TASK_COMPLETED',
        attributes: { scheduledEventId: 2, startedEventId: 3 },
      },
      { id: 5, at: 1, type: 'TIMER_STARTED', attributes: { timerId: '1', startToFireTimeoutMs: 1 } },
      { id: 6, at: 2, type: 'TIMER_FIRED', attributes: { timerId: '1', startedEventId: 5 } },
      { id: 7, at: 2, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    ],
    historyLength: 7,
  });
}

const sandbox = (source: Source, { cacheSize = 10, stateless = false } = {}): Sandbox =>
  createSandbox({ workflows: [bundleOf(source, stateless)], cacheSize, log: silentLog });
const resultOf = (box: Sandbox, task: TurnTask): unknown => {
  const answer = plain(box.runTurn(task));
  if (answer.kind !== 'turnCompleted') return answer;
  const command = answer.commands.at(-1);
  return command?.kind === 'completeRun' ? JSON.parse(command.result!) : command;
};
const sleeper: Source = ({ workflow, sleep }) => workflow({ name: 'test', fn: () => sleep(1) });

describe('runs of one worker', () => {
  test('have module state of their own, which stays between turns', () => {
    const box = sandbox(({ workflow, sleep }) => {
      let turns = 0;
      return workflow({
        name: 'test',
        fn: async () => {
          turns++;
          await sleep(1);
          return ++turns;
        },
      });
    });
    box.runTurn(turnOf('a'));
    box.runTurn(turnOf('b'));
    expect(resultOf(box, secondTurn('a'))).toBe(2);
    expect(resultOf(box, secondTurn('b'))).toBe(2);
  });

  test('cannot reach each other through what they are given', () => {
    const box = sandbox(({ workflow }) =>
      workflow({
        name: 'test',
        fn: async (_input, context) => {
          const next = Object.getPrototypeOf(context.control.continueAsNew(null)) as object;
          const getterOf = (object: object, name: string) =>
            Object.getOwnPropertyDescriptor(object, name)!.get!;
          const getters = [getterOf(context, 'info'), getterOf(context.info, 'historyLength')];
          const shared = [next, next.constructor, ...getters, ...getters.map(({ prototype }) => prototype)];
          return shared.map((each) => Object.isFrozen(each));
        },
      }),
    );
    expect(new Set(resultOf(box, turnOf('a')) as boolean[])).toEqual(new Set([true]));
  });

  test.each([true, false])('cannot reach each other through globals (stateless: %s)', (stateless) => {
    const box = sandbox(
      ({ workflow }) =>
        workflow({
          name: 'test',
          fn: async () => {
            const shared = globalThis as Record<string, unknown>;
            const before = shared.left ?? 'nothing';
            shared.left = 'something';
            return [before, shared.left];
          },
        }),
      { stateless },
    );
    expect(resultOf(box, turnOf('a'))).toEqual(['nothing', 'something']);
    expect(resultOf(box, turnOf('b'))).toEqual(['nothing', 'something']);
  });

  test.each([
    'Array.prototype.evil = 1',
    'Object.prototype.evil = 1',
    'Array.prototype.map = () => 1',
    'JSON.parse = () => 1',
    'Math.random = () => 4',
    'Promise.prototype.then = null',
    'Date.now = () => 5',
    'Map.prototype.get = () => 1',
    'Object.getPrototypeOf(async () => {}).evil = 1',
    'new Function("\'use strict\'; this.evil = 1").call(new Function("return this")())',
    'console.log = null',
    'URL.prototype.evil = 1',
    'TextDecoder.prototype.decode = null',
  ])('cannot change built-ins: %s', (tampering) => {
    const source = new Function(
      'sdk',
      `return sdk.workflow({ name: 'test', fn: async () => { ${tampering}; } });`,
    );
    const box = sandbox(source as Source);
    const answer = resultOf(box, turnOf('a')) as { kind: string };
    expect(answer).toMatchObject({ kind: 'failRun', failure: { type: 'TypeError' } });
    const honest = sandbox(({ workflow }) => workflow({ name: 'test', fn: () => [1, 2].map((n) => n * 2) }));
    expect(resultOf(honest, turnOf('b'))).toEqual([2, 4]);
  });

  test('ordinary code that shadows inherited names works', () => {
    const box = sandbox(({ workflow }) =>
      workflow({
        name: 'test',
        fn: () => {
          const plainObject = {} as { [key: string]: unknown } & object;
          plainObject.toString = () => 'own';
          Object.assign(plainObject, { hasOwnProperty: 1 });
          const error = new Error('x');
          error.name = 'Own';
          error.message = 'changed';
          class Sub extends Map<string, number> {
            override get(): number {
              return 7;
            }
          }
          const fn = () => {};
          fn.toString = () => 'fn';
          return [String(plainObject), error.name, error.message, new Sub().get(), String(fn)];
        },
      }),
    );
    expect(resultOf(box, turnOf('a'))).toEqual(['own', 'Own', 'changed', 7, 'fn']);
  });

  test('values belong to the sandbox, not to the process around it', () => {
    const box = sandbox(({ workflow, defineQuery, setHandler }) =>
      workflow({
        name: 'test',
        fn: async (input) => {
          setHandler(defineQuery<boolean, [unknown]>('own'), (list) => list instanceof Object);
          return input instanceof Object;
        },
      }),
    );
    const task = turnOf('a', { queries: [{ queryId: 1, name: 'own', input: ['[]'] }] });
    (task.events[0]!.attributes as { input: string[] }).input = ['[1]'];
    const answer = plain(box.runTurn(task));
    expect(answer).toMatchObject({
      commands: [{ result: 'true' }],
      answers: [{ kind: 'answered', result: 'true' }],
    });
  });
});

test('what a failed turn has left behind does not run in the turn of another run', () => {
  const broken: Source = ({ sleep }) => {
    void Promise.resolve().then(() => sleep(7));
    throw new Error('the file breaks');
  };
  const box = createSandbox({
    ...{ workflows: [bundleOf(broken, false, 'broken'), bundleOf(sleeper)], cacheSize: 10, log: silentLog },
  });
  expect(box.runTurn(turnOf('a', { workflowType: 'broken' })).kind).toBe('turnFailed');
  expect(plain(box.runTurn(turnOf('b')))).toMatchObject({
    commands: [{ kind: 'startTimer', timerId: '1', durationMs: 1 }],
  });
});

test('numbers of timeouts are counted by each run', () => {
  const box = sandbox(({ workflow }) =>
    workflow({ name: 'test', fn: () => Number(setTimeout(() => {}, 5)) }),
  );
  expect(resultOf(box, turnOf('a'))).toBe(1);
  expect(resultOf(box, turnOf('b'))).toBe(1);
});

describe('the cache of runs', () => {
  test('a run that is not in it, or stands elsewhere in its history, is asked for as a whole', () => {
    const box = sandbox(sleeper);
    expect(box.runTurn(secondTurn('a')).kind).toBe('turnMissed');
    box.runTurn(turnOf('a'));
    const ahead = { ...secondTurn('a'), events: secondTurn('a').events.slice(1) };
    expect(box.runTurn(ahead).kind).toBe('turnMissed');
    expect(box.runTurn(secondTurn('a')).kind).toBe('turnMissed');
  });

  test('holds the runs that were used last, and says which ones left', () => {
    const box = sandbox(sleeper, { cacheSize: 2 });
    for (const runId of ['a', 'b', 'c']) box.runTurn(turnOf(runId));
    expect(box.takeEvicted()).toEqual(['a']);
    expect(box.takeEvicted()).toEqual([]);
    expect(box.runTurn(secondTurn('a')).kind).toBe('turnMissed');
    expect(box.runTurn(secondTurn('b')).kind).toBe('turnCompleted');
  });

  test('of size 0 keeps nothing', () => {
    const box = sandbox(sleeper, { cacheSize: 0 });
    box.runTurn(turnOf('a'));
    expect(box.takeEvicted()).toEqual(['a']);
    expect(box.runTurn(secondTurn('a')).kind).toBe('turnMissed');
  });

  test('forgets what it is told to, and runs that have closed', () => {
    const box = sandbox(sleeper);
    box.runTurn(turnOf('a'));
    box.forget('a');
    expect(box.runTurn(secondTurn('a')).kind).toBe('turnMissed');
    box.runTurn(turnOf('b'));
    box.runTurn(secondTurn('b'));
    expect(box.runTurn({ ...secondTurn('b'), events: [], historyLength: 7 }).kind).toBe('turnMissed');
  });

  test('a turn that ran here and was not accepted is not built upon', () => {
    const box = sandbox(sleeper);
    box.runTurn(turnOf('a'));
    const rejected = secondTurn('a');
    rejected.events.splice(1, 2, {
      id: 4,
      at: 1,
      type: 'WORKFLOW_TASK_FAILED',
      attributes: {
        scheduledEventId: 2,
        startedEventId: 3,
        cause: 'WORKFLOW_WORKER_UNHANDLED_FAILURE',
        failure: { kind: 'application', type: 'Error', message: 'x' },
      },
    });
    expect(box.runTurn(rejected).kind).toBe('turnMissed');
  });

  test('a whole history replaces what is cached', () => {
    const box = sandbox(sleeper);
    box.runTurn(turnOf('a'));
    expect(plain(box.runTurn(turnOf('a')))).toMatchObject({
      commands: [{ kind: 'startTimer', timerId: '1' }],
    });
  });
});

test('a workflow that this worker does not have is a turn that failed, with what to do', () => {
  const box = sandbox(sleeper);
  expect(plain(box.runTurn(turnOf('a', { workflowType: 'other' })))).toMatchObject({
    kind: 'turnFailed',
    cause: 'WORKFLOW_WORKER_UNHANDLED_FAILURE',
    failure: { message: expect.stringContaining('no workflow "other"; it has test') },
  });
});

describe('packages', () => {
  const boxWith = (library: string, body: string) =>
    createSandbox({
      workflows: [
        {
          workflowType: 'test',
          filename: 'test/workflow.ts',
          exportName: 'order',
          stateless: false,
          code: `const { workflow, sleep } = require('perdure'); exports.order = workflow({ name: 'test', fn: async () => { ${body} } });`,
        },
      ],
      library: { code: library },
      cacheSize: 10,
      log: silentLog,
    });

  test('are evaluated by each run, once, so that their state is its own; a library may bring its own zod', () => {
    const box = boxWith(
      'let evaluated; const counter = () => evaluated ??= (() => { let n = 0; return { next: () => ++n }; })(); exports.counter = counter; exports.zod = () => ({ mine: true });',
      "const first = require('counter').next(); await sleep(1); return [first, require('counter').next(), require('zod').mine];",
    );
    box.runTurn(turnOf('a'));
    box.runTurn(turnOf('b'));
    expect(resultOf(box, secondTurn('a'))).toEqual([1, 2, true]);
    expect(resultOf(box, secondTurn('b'))).toEqual([1, 2, true]);
  });

  test('may keep something on the global object, for each run', () => {
    const box = boxWith(
      'exports.registry = () => { globalThis.registry ??= { n: 0 }; return { next: () => ++globalThis.registry.n }; };',
      "return [require('registry').next(), require('registry').next()];",
    );
    expect(resultOf(box, turnOf('a'))).toEqual([1, 2]);
    expect(resultOf(box, turnOf('b'))).toEqual([1, 2]);
  });

  test('may add to JavaScript itself, which then is there for all', () => {
    const box = boxWith(
      "exports.polyfill = () => { if (!Array.prototype.last) Object.defineProperty(Array.prototype, 'last', { value() { return this.at(-1); } }); return {}; };",
      "require('polyfill'); return [1, 2].last();",
    );
    expect(resultOf(box, turnOf('a'))).toBe(2);
    expect(resultOf(box, turnOf('b'))).toBe(2);
  });
});

describe('what runs share of files without state', () => {
  const boxOf = (top: string, names: string, body: string) =>
    createSandbox({
      workflows: [
        {
          workflowType: 'test',
          filename: 'test/workflow.ts',
          exportName: 'order',
          stateless: true,
          code: `"use strict"; const { workflow, z } = require('perdure'); ${top}; exports.order = workflow({ name: 'test', fn: async () => { ${body} } });
            require('perdure/internal').share([${names}]);`,
        },
      ],
      cacheSize: 10,
      log: silentLog,
    });

  test.each([
    [
      'a class',
      'class Counter { method() {} }',
      'Counter',
      '((c) => { c.n = (c.n ?? 0) + 1; return c.n; })(Counter)',
    ],
    [
      'a prototype',
      'class Counter { method() {} }',
      'Counter',
      '((c) => { c.method = 1; return 1; })(Counter["proto" + "type"])',
    ],
    ['a function', 'const f = () => {}', 'f', '((g) => { g.n = 1; return 1; })(f)'],
    ['a list', 'const list = [1]', 'list', '((l) => l.push(1))(list)'],
    ['a table', 'const table = { a: { b: 1 } }', 'table', '((t) => ++t.a.b)(table)'],
    ['a schema', 'const S = z.object({ a: z.string() })', 'S', '((s) => { s.evil = 1; return 1; })(S)'],
    [
      'a method of a schema',
      'const S = z.object({ a: z.string() })',
      'S',
      '((s) => { s.safeParse = 1; return s.safeParse; })(S)',
    ],
  ])('cannot be changed by another name: %s', (_, top, names, change) => {
    const box = boxOf(top, names, `return ${change};`);
    const results = ['a', 'b'].map((runId) => resultOf(box, turnOf(runId)));
    const isOwn = results.every((result) => result === 1);
    const isRefused = results.every(
      (result) => (result as { failure?: { type: string } }).failure?.type === 'TypeError',
    );
    expect(isOwn || isRefused).toBe(true);
  });

  test('works as ever', () => {
    const box = boxOf(
      'class Base { constructor() { this.handle = this.handle.bind(this); this.toString = () => "own"; } handle() { return this.n ?? 0; } } class Refused extends Error { constructor(m) { super(m); this.name = "Refused"; } } const S = z.object({ a: z.string().default("x"), get next() { return S.optional(); } }); const L = z.lazy(() => S)',
      'Base, Refused, S, L',
      'const b = new Base(); b.n = 2; class Sub extends Base { handle() { return super.handle() + 1; } } return [b.handle(), String(b), new Refused("m").name, S.parse({}), S.shape.a.parse("y"), L.parse({ next: {} }), S.extend({ b: z.number() }).parse({ b: 1 }), new Sub().handle(), z.toJSONSchema(S).type, S.keyof().options];',
    );
    const expected = [
      2,
      'own',
      'Refused',
      { a: 'x' },
      'y',
      { a: 'x', next: { a: 'x' } },
      { a: 'x', b: 1 },
      1,
      'object',
      ['a', 'next'],
    ];
    expect(resultOf(box, turnOf('a'))).toEqual(expected);
    expect(resultOf(box, turnOf('b'))).toEqual(expected);
  });
});
