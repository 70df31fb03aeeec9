import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

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

  test.each(['throws', 'answers what does not fit'])('whose handler %s has finished', (how) => {
    const run = new ScriptedRun(
      ({ workflow, defineUpdate, setHandler, condition, allHandlersFinished }, step) =>
        workflow({
          name: 'test',
          fn: async () => {
            let any = false;
            setHandler(defineUpdate<unknown, [string]>('work'), async (how) => {
              any = true;
              await step('one')();
              if (how === 'throws') throw new TypeError('handler broke');
              return 1n;
            });
            await condition(() => any);
            await condition(allHandlersFinished);
            return 'all finished';
          },
        }),
    );
    run.start().turn();
    run.turn({ updates: [{ updateId: 'u1', name: 'work', input: [JSON.stringify(how)] }] });
    expect(run.completeStep('1').turn()).toMatchObject([
      { kind: 'completeUpdate', updateId: 'u1', failure: {} },
      { kind: 'completeRun', result: '"all finished"' },
    ]);
  });

  test('wait each for its own handler, and reach it once', () => {
    const run = new ScriptedRun(({ workflow, defineUpdate, setHandler, condition }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineUpdate<string>('one'), () => 'of one');
          await null;
          setHandler(defineUpdate<string>('two'), () => 'of two');
          await condition(() => false);
        },
      }),
    );
    const updates = ['two', 'one'].map((name) => ({ updateId: name, name, input: [] }));
    expect(run.start().turn({ updates })).toEqual([
      { kind: 'acceptUpdate', updateId: 'one' },
      { kind: 'completeUpdate', updateId: 'one', result: '"of one"' },
      { kind: 'acceptUpdate', updateId: 'two' },
      { kind: 'completeUpdate', updateId: 'two', result: '"of two"' },
    ]);
  });

  test('that come with the message which ends the run leave no trace', () => {
    const run = new ScriptedRun(({ workflow, defineUpdate, defineSignal, setHandler, condition }) =>
      workflow({
        name: 'test',
        fn: async () => {
          setHandler(defineUpdate<string>('work'), () => 'worked');
          setHandler(defineSignal('break'), () => {
            throw new Error('broken');
          });
          await condition(() => false);
        },
      }),
    );
    run.start().turn();
    const commands = run.signal('break').turn({ updates: [{ updateId: 'u1', name: 'work', input: [] }] });
    expect(commands).toMatchObject([{ kind: 'failRun', failure: { message: 'broken' } }]);
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
