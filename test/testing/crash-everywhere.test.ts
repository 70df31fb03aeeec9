/** `crashEverywhere` finds programs whose outcome depends on what goes wrong, and leaves the others alone. */
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  CrashDifferenceError,
  crashEverywhere,
  createTestEnvironment,
  type TestEnvironment,
} from '../../src/testing/index.js';
import { bank } from './bugs/account/steps.js';
import { payments } from './bugs/account/workflow.js';
import { collector } from './bugs/early/workflow.js';
import { leaky } from './bugs/leaky/workflow.js';
import { fairLottery, lottery } from './bugs/lottery/workflow.js';
import { parent, tryingAgain } from './workflows/family/workflow.js';
import { note } from './workflows/stepping/steps.js';
import { cleaning, parallelNotes } from './workflows/stepping/workflow.js';
import { approval } from './workflows/waiting/workflow.js';

const bugs = fileURLToPath(new URL('bugs', import.meta.url));
const workflows = fileURLToPath(new URL('workflows', import.meta.url));

const difference = (trial: Promise<unknown>): Promise<CrashDifferenceError> =>
  trial.then(
    (report) => {
      throw new Error(`nothing was found: ${JSON.stringify(report)}`);
    },
    (error: unknown) => {
      if (error instanceof CrashDifferenceError) return error;
      throw error;
    },
  );

describe('bugs put in on purpose', () => {
  let env: TestEnvironment;
  beforeEach(async () => {
    env = await createTestEnvironment({ workflows: bugs });
  });
  afterEach(() => env.close());

  test("a random number outside the SDK's is found, and the SDK's own is not taken for one", async () => {
    const { message } = await difference(crashEverywhere(env, (each) => each.run(lottery)));
    expect(message).toMatch(/the program returned { ticket: \d+ } .* and { ticket: \d+ } undisturbed/);
    const { trials } = await crashEverywhere(env, (each) => each.run(fairLottery));
    expect(trials).toBeGreaterThan(3);
  });

  const paying = (isSafe: boolean) => async (each: TestEnvironment) => {
    bank.balance = 0;
    bank.seen.clear();
    await each.run(payments, { isSafe });
    return { balance: bank.balance };
  };

  test('a step that is not idempotent is found, with the seed and the point, and that point alone shows it again', async () => {
    const found = await difference(crashEverywhere(env, paying(false), { seed: 7 }));
    expect(found.message).toContain('{ balance: 30 } undisturbed');
    expect(found.message).toContain(`seed: 7, point: "${found.point}"`);
    const again = await difference(crashEverywhere(env, paying(false), { seed: 7, point: found.point }));
    expect(again.message).toBe(found.message);
    await crashEverywhere(env, paying(true), { seed: 7 });
  });

  const collecting = (keepsEarly: boolean) => async (each: TestEnvironment) => {
    const run = await each.start(collector, { keepsEarly });
    await run.signal('add', 1);
    await run.signal('add', 2);
    return run.result();
  };

  test('a signal handler that drops what comes early is found', async () => {
    const { message, point, cause } = await difference(crashEverywhere(env, collecting(false)));
    expect(point).toContain('late step 1');
    expect(message).toContain('It waits for a message; it takes the signal add');
    expect(cause).toMatchObject({ name: 'WorkflowStuckError' });
    await crashEverywhere(env, collecting(true));
  });

  test('a workflow that does not decide the same way each time is found', async () => {
    expect(await env.run(leaky)).toBe(1);
    const { message, point } = await difference(crashEverywhere(env, (each) => each.run(leaky)));
    expect(point).toContain('crash after commit');
    expect(message).toContain('but the code now asks for: timer number 1');
  });

  test('and shows at once where every turn is replayed', async () => {
    const replaying = await createTestEnvironment({ workflows: bugs, replayEveryTurn: true });
    await expect(replaying.run(leaky)).rejects.toMatchObject({
      name: 'WorkflowStuckError',
      message: expect.stringContaining('does not fit its history: event 5 of the history is'),
    });
    expect(await replaying.run(fairLottery)).toHaveProperty('ticket');
    await replaying.close();
  });

  test("what the program's own checks say counts", async () => {
    const program = async (each: TestEnvironment) => {
      const run = await each.start(collector, { keepsEarly: true });
      await run.signal('add', 1);
      await run.signal('add', 2);
      await run.result();
      expect(run.calls('prepare')).toHaveLength(1);
    };
    const { message } = await difference(crashEverywhere(env, program));
    expect(message).toContain('and not undisturbed: AssertionError');
    await expect(
      crashEverywhere(env, async () => {
        throw new RangeError('of itself');
      }),
    ).rejects.toThrow(RangeError);
  });

  test('wrong use is refused', async () => {
    await expect(crashEverywhere(env, 5 as never)).rejects.toThrow('needs a program');
    await expect(crashEverywhere(env, async () => 1, { point: 'at noon' })).rejects.toThrow(
      '"at noon" is no point',
    );
    for (const point of ['late commit 1', 'crash after step 1']) {
      await expect(crashEverywhere(env, async () => 1, { point })).rejects.toThrow('is no point');
    }
  });

  test('a point that there is none of is told', async () => {
    const program = paying(true);
    const { commits } = await crashEverywhere(env, program, { point: 'crash after commit 1' });
    for (const beyond of [`crash after commit ${commits + 50}`, 'crash after commit 1 + twice step 999']) {
      await expect(crashEverywhere(env, program, { point: beyond })).rejects.toThrow(
        `nothing went wrong at ${beyond.split(' + ').at(-1)}`,
      );
    }
  });
});

describe('what survives everything', () => {
  let env: TestEnvironment;
  beforeEach(async () => {
    env = await createTestEnvironment({ workflows, startTime: 1_800_000_000_000 });
    env.mock(note, async (text) => text.length);
  });
  afterEach(() => env.close());

  const PROGRAMS: Record<string, (each: TestEnvironment) => Promise<unknown>> = {
    'children, continue-as-new and timers': (each) => each.run(parent, 2),
    'retries of a workflow': (each) => each.run(tryingAgain),
    'steps in parallel': (each) => each.run(parallelNotes, ['a', 'bb', 'ccc', 'dddd']),
    'signals, queries and updates': async (each) => {
      const run = await each.start(approval, { name: 'x' });
      const renamed = await run.update('rename', 'y');
      await run.signal('approve', { by: 'ada' });
      await each.advance('1 day');
      return [renamed, await run.query('stage'), await run.result(), each.now().getTime()];
    },
    'stop and its cleanup': async (each) => {
      const run = await each.start(cleaning);
      await run.stop();
      const { status } = await run.result().then(
        () => ({ status: 'completed' }),
        (error: unknown) => error as { status: string },
      );
      return [status, (await run.status()).status];
    },
    'a reset': async (each) => {
      const run = await each.start('twoNotes');
      await run.result();
      const again = await run.reset({ stepName: 'note', occurrence: 1 });
      return again.result();
    },
  };

  test.each(Object.keys(PROGRAMS))('%s', async (name) => {
    const { trials, commits } = await crashEverywhere(env, PROGRAMS[name]!);
    expect(trials).toBeGreaterThan(commits);
    expect(commits).toBeGreaterThan(2);
  });
});
