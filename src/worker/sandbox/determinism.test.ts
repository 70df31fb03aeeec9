import vm from 'node:vm';
import { describe, expect, test } from 'vitest';
import { remedyFor } from './realm/refusals.js';
import { RUN_ID, ScriptedRun, type Source } from './scripted-run.fixture.js';

const code = (body: string) => ({
  workflowType: 'test',
  filename: 'test/workflow.ts',
  exportName: 'default',
  stateless: false,
  code: `"use strict"; const { workflow, sleep } = require('perdure');
    exports.default = workflow({ name: 'test', fn: async () => { ${body} } });`,
});

describe('time and chance', () => {
  const source: Source = ({ workflow, sleep, uuid4, workflowInfo }) =>
    workflow({
      name: 'test',
      fn: async () => {
        const seen: unknown[] = [Date.now(), new Date().toISOString(), Date().length > 10];
        seen.push(Math.random(), uuid4(), crypto.randomUUID(), [
          ...crypto.getRandomValues(new Uint8Array(2)),
        ]);
        await sleep('1m');
        seen.push(
          Date.now() - (seen[0] as number),
          new Date(5).getTime(),
          Date.UTC(2020, 1),
          new Date() instanceof Date,
        );
        seen.push(Math.random(), workflowInfo().startedAt.getTime());
        return seen;
      },
    });

  test('are the same on every replay: the clock stands still within a turn and moves between turns', () => {
    const run = new ScriptedRun(source);
    run.start().turn();
    run.forgetCache();
    const [{ result }] = run.fireTimer('1').turn() as unknown as [{ result: string }];
    const seen = JSON.parse(result) as unknown[];
    expect(seen.slice(0, 3)).toEqual([1_700_000_000_000, '2023-11-14T22:13:20.000Z', true]);
    expect(seen[4]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(seen[5]).not.toBe(seen[4]);
    expect(seen.slice(7, 11)).toEqual([60_000, 5, Date.UTC(2020, 1), true]);
    expect(seen[12]).toBe(1_700_000_000_000);
  });

  test('of a turn that a worker began before the engine knew are the same on every replay, too', () => {
    const run = new ScriptedRun(source);
    const workflowTime = run.now;
    run.start().turn();
    const started = run.find('WORKFLOW_TASK_STARTED', () => true);
    started.attributes.workflowTime = workflowTime;
    started.at += 40;
    run.now += 60_000;
    const [{ result }] = run.fireTimer('1').turn() as unknown as [{ result: string }];
    expect(JSON.parse(result)).toMatchObject({ 0: workflowTime });
  });

  test('differ from run to run', () => {
    const randoms = [RUN_ID, '01890000-0000-7000-8000-000000000002'].map((originalExecutionRunId) => {
      const run = new ScriptedRun(({ workflow }) => workflow({ name: 'test', fn: () => Math.random() }));
      return run.start(undefined, { originalExecutionRunId }).turn();
    });
    expect(randoms[0]).not.toEqual(randoms[1]);
  });

  test('random numbers go on with a new sequence after a reset', () => {
    const source: Source = ({ workflow }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const first = Math.random();
          await step('one')();
          return [first, Math.random()];
        },
      });
    const play = (reset: boolean) => {
      const run = new ScriptedRun(source);
      run.start().turn();
      run.completeStep('1');
      if (reset) {
        run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
        const started = run.append('WORKFLOW_TASK_STARTED', { scheduledEventId: run.history.length });
        run.append('WORKFLOW_TASK_FAILED', {
          scheduledEventId: started.id - 1,
          startedEventId: started.id,
          cause: 'RESET_WORKFLOW',
          failure: { kind: 'application', type: 'Reset', message: 'reset' },
          baseRunId: RUN_ID,
          newRunId: '01890000-0000-7000-8000-00000000000f',
        });
        run.forgetCache();
      }
      return JSON.parse((run.turn()[0] as unknown as { result: string }).result) as number[];
    };
    const plain = play(false);
    const reset = play(true);
    expect(reset[0]).toBe(plain[0]);
    expect(reset[1]).not.toBe(plain[1]);
  });
});

describe('what could differ on replay refuses to be used', () => {
  test.each([
    ['fetch("http://x")', 'sendHttpRequest()'],
    ['setInterval(() => {}, 1)', 'await sleep()'],
    ['setImmediate(() => {})', 'await sleep()'],
    ['new WeakRef({})', 'ordinary reference'],
    ['new FinalizationRegistry(() => {})', 'finally'],
    ['new XMLHttpRequest()', 'sendHttpRequest()'],
    ['Atomics.wait()', 'condition()'],
    ['crypto.subtle', 'step'],
    ['process.env.HOME', 'step'],
    ['Buffer.from("x")', 'TextEncoder'],
    ['performance.now()', 'Date.now()'],
    ['new WebSocket("ws://x")', 'step'],
    ['new EventSource("http://x")', 'step'],
    ['new SharedArrayBuffer(1)', 'arrays'],
    ['new Worker("x")', 'step'],
    ['new Response("x")', 'sendHttpRequest()'],
    ['global.x = 1', 'globalThis'],
    ['window.alert()', 'browser'],
    ['AbortSignal.timeout(1)', 'CancellationScope'],
    ['WebAssembly.compile()', 'step'],
    ['eval("1")', 'file of the workflow'],
  ])('%s', (use, remedy) => {
    const [command] = new ScriptedRun(code(use)).start().turn();
    expect(command).toMatchObject({
      kind: 'failRun',
      failure: {
        type: 'DeterminismError',
        nonRetryable: true,
        message: expect.stringMatching(
          / cannot be used in a workflow, since a replay would not give the same answer: /,
        ),
      },
    });
    expect(command).toMatchObject({ failure: { message: expect.stringContaining(remedy) } });
  });

  test('also in a query, an update and its validator', () => {
    const run = new ScriptedRun(({ workflow, defineQuery, defineUpdate, setHandler, sleep }) =>
      workflow({
        name: 'test',
        fn: async () => {
          const home = () => process.env.HOME;
          setHandler(defineQuery<unknown>('q'), home);
          setHandler(defineUpdate<unknown>('u'), home);
          setHandler(defineUpdate<unknown>('v'), () => 1, { validator: () => void home() });
          await sleep(1000);
        },
      }),
    );
    run.start().turn();
    const failure = {
      type: 'DeterminismError',
      message: expect.stringContaining('process cannot be used in'),
    };
    const { answers } = run.turnAndAnswers({ readOnly: true, queries: [{ name: 'q' }] });
    expect(answers).toMatchObject([{ kind: 'failed', failure }]);
    const updates = ['u', 'v'].map((name) => ({ updateId: name, name, input: [] }));
    expect(run.turn({ updates })).toMatchObject([
      { kind: 'acceptUpdate', updateId: 'u' },
      { kind: 'completeUpdate', updateId: 'u', failure },
      { kind: 'rejectUpdate', updateId: 'v', failure },
    ]);
  });

  test('whatever Node has and JavaScript has not is there, or is refused with a remedy', () => {
    const bare = new Set(
      vm.runInContext(
        'Object.getOwnPropertyNames(globalThis)',
        vm.createContext(vm.constants.DONT_CONTEXTIFY),
      ) as string[],
    );
    const names = Object.getOwnPropertyNames(globalThis).filter(
      (name) => /^[A-Za-z]\w+$/.test(name) && !bare.has(name),
    );
    // What the test runner itself has put there is nobody's.
    const nodes = names.filter((name) => !/^(vitest|vite|__|RunCache)/i.test(name));
    expect(nodes.length).toBeGreaterThan(50);
    const run = new ScriptedRun(
      code(`return ${JSON.stringify(nodes)}.filter((name) => !(name in globalThis));`),
    );
    const [{ result }] = run.start().turn() as unknown as [{ result: string }];
    const missing = JSON.parse(result) as string[];
    expect(missing).toContain('process');
    expect(missing.filter((name) => remedyFor(name) === undefined)).toEqual([]);
  });

  test('libraries may look for it', () => {
    const run = new ScriptedRun(
      code('return [typeof process, typeof fetch, typeof Buffer, typeof window, typeof WeakRef];'),
    );
    expect(run.start().turn()).toEqual([
      { kind: 'completeRun', result: '["undefined","function","undefined","undefined","function"]' },
    ]);
  });

  test('imports that the loader did not bundle', () => {
    const run = new ScriptedRun({ ...code(''), code: "require('node:fs')" });
    expect(run.start().attempt()).toMatchObject({
      kind: 'turnFailed',
      cause: 'WORKFLOW_WORKER_UNHANDLED_FAILURE',
      failure: { message: expect.stringContaining('"node:fs" cannot be imported in a workflow') },
    });
  });

  test.each([
    ["require('perdure').sleep(1)", "sleep() cannot be used in the top level of a workflow's file"],
    [
      "require('perdure/internal').stepReference({ name: 'pay' })()",
      'step "pay" cannot be used in the top level',
    ],
  ])('%s while the file is loaded', (use, message) => {
    const run = new ScriptedRun({ ...code(''), code: `const never = ${use}; const a = 1;` });
    expect(run.start().attempt()).toMatchObject({ failure: { message: expect.stringContaining(message) } });
  });

  test('plain functions that are missing in bare JavaScript are there', () => {
    const run = new ScriptedRun(
      code(`await new Promise(queueMicrotask);
        const circle = { list: [1], map: new Map([['k', new Set([2])]]), at: new Date(5), bytes: new Uint8Array([7]) };
        circle.self = circle;
        const copy = structuredClone(circle);
        const copied = [copy !== circle && copy.self === copy, copy.list, [...copy.map.get('k')], copy.at.getTime(), copy.bytes[0]];
        const encoded = new TextEncoder().encode('é');
        return [new URL('http://a/b?c=1').pathname, copied, atob(btoa('x')), encoded instanceof Uint8Array, new TextDecoder().decode(encoded)];`),
    );
    expect(run.start().turn()).toEqual([
      { kind: 'completeRun', result: '["/b",[true,[1],[2],5,7],"x",true,"é"]' },
    ]);
  });

  test('console and log write once, not again on replay', () => {
    const run = new ScriptedRun(({ workflow, sleep, log }) =>
      workflow({
        name: 'test',
        fn: async () => {
          console.log('started', { n: 1 });
          await sleep(1);
          log.warn('slept', { for: 1 });
        },
      }),
    );
    run.start().turn();
    run.forgetCache();
    run.fireTimer('1').turn();
    expect(run.logged).toMatchObject([
      { level: 'info', message: 'started {"n":1}', fields: { workflowId: 'test-1', runId: RUN_ID } },
      { level: 'warn', message: 'slept', fields: { for: 1 } },
    ]);
  });
});

describe('a rejection that nobody handles', () => {
  test.each([
    ['Promise.reject(new Error("lost")); await sleep(1);', 'Error', 'lost'],
    [
      'void (async () => { await null; throw new TypeError("deep"); })(); await sleep(1);',
      'TypeError',
      'deep',
    ],
    [
      'void (async () => { await null; await 1; throw new TypeError("deep"); })(); await sleep(1);',
      'TypeError',
      'deep',
    ],
    ['Promise.resolve().then(() => { throw "a text"; }); await sleep(1);', 'Error', 'a text'],
  ])('%s fails the run', (body, type, message) => {
    const commands = new ScriptedRun(code(body)).start().turn();
    expect(commands.at(-1)).toMatchObject({ kind: 'failRun', failure: { type, message } });
  });

  test('in a later turn fails the run then', () => {
    const run = new ScriptedRun(({ workflow, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          void (async () => {
            await step('forgotten')();
          })();
          await sleep('1 day');
        },
      }),
    );
    run.start().turn();
    expect(run.failStep('1', { message: 'broke' }).turn().at(-1)).toMatchObject({
      kind: 'failRun',
      failure: { message: 'broke', activityType: 'test#forgotten' },
    });
  });

  test('is none of a step that is awaited later', () => {
    const run = new ScriptedRun(({ workflow, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const early = step('early')();
          await sleep('1 day');
          return await early.catch((error: Error) => error.message);
        },
      }),
    );
    run.start().turn();
    expect(run.failStep('1', { message: 'broke' }).turn()).toEqual([]);
    expect(run.fireTimer('1').turn()).toMatchObject([{ kind: 'completeRun', result: '"broke"' }]);
  });

  test('does not stand in the way of a run that ends in the same turn', () => {
    const body = 'void (async () => { throw new Error("late"); })(); return 1;';
    expect(new ScriptedRun(code(body)).start().turn()).toMatchObject([{ kind: 'completeRun', result: '1' }]);
  });

  test.each([
    'const p = Promise.reject(new Error("x")); await null; await p.catch(() => {}); await sleep(1);',
    'const p = sleep(1); await Promise.race([p, Promise.reject(1)]).catch(() => {}); await p;',
    'await Promise.allSettled([Promise.reject(1), (async () => { throw 2; })()]); await sleep(1);',
    'const late = Promise.reject(3); late.catch(() => {}); await sleep(1);',
  ])('is none where somebody does: %s', (body) => {
    expect(new ScriptedRun(code(body)).start().turn()).toMatchObject([{ kind: 'startTimer' }]);
  });
});
