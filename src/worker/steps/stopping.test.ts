import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CancelledError } from '../../sdk/errors.js';
import { stepContext } from '../../sdk/step-context.js';
import { ATTEMPT, failureOf, runnerOf, TASK } from './one-step.fixture.js';

describe('a step that is stopped', () => {
  const untilAborted = async () => {
    const { signal } = stepContext();
    signal.throwIfAborted();
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };

  test('by cancellation answers that it was cancelled', async () => {
    const { runner, until } = runnerOf({ fn: untilAborted });
    runner.run(TASK);
    runner.stop(ATTEMPT, 'cancelled');
    expect(await until('stepCancelled')).toEqual([{ kind: 'stepCancelled', ...ATTEMPT }]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['AbortError', () => sleep(60_000, undefined, { signal: stepContext().signal })],
    ['CancelledError', () => untilAborted().catch(() => Promise.reject(new CancelledError('so be it')))],
  ])('by cancellation may say so with %s', async (_name, fn) => {
    const { runner, until } = runnerOf({ fn });
    runner.run(TASK);
    runner.stop(ATTEMPT, 'cancelled');
    await until('stepCancelled');
  });

  test('by cancellation may still complete, or fail in its own way', async () => {
    const completing = runnerOf({ fn: () => untilAborted().catch(() => 'cleaned up') });
    completing.runner.run(TASK);
    completing.runner.stop(ATTEMPT, 'cancelled');
    expect(await completing.until('stepCompleted')).toMatchObject([{ result: '"cleaned up"' }]);
    const failing = runnerOf({
      fn: () => untilAborted().catch(() => Promise.reject(new RangeError('cleanup failed'))),
    });
    failing.runner.run(TASK);
    failing.runner.stop(ATTEMPT, 'cancelled');
    expect(failureOf((await failing.until('stepFailed'))[0]!)).toMatchObject({ type: 'RangeError' });
  });

  test.each(['timedOut', 'runClosed'] as const)(
    'since it %s is aborted and not heard any more',
    async (reason) => {
      let seen: unknown;
      const { runner, sent } = runnerOf({
        fn: () =>
          untilAborted().catch((error: unknown) => {
            seen = error;
            stepContext().heartbeat(1);
            throw error;
          }),
      });
      runner.run(TASK);
      runner.stop(ATTEMPT, reason);
      await runner.idle();
      expect(seen).toMatchObject({ name: reason === 'timedOut' ? 'TimeoutError' : 'TerminatedError' });
      expect(sent).toEqual([]);
    },
  );

  test('is not heard any more, but what it has spent until then', async () => {
    const { runner, sent } = runnerOf({
      fn: () => {
        stepContext().cost({ amount: '1' });
        return untilAborted().catch(() => stepContext().cost({ amount: '2' }));
      },
    });
    runner.run(TASK);
    await new Promise(setImmediate);
    runner.stop(ATTEMPT, 'timedOut');
    await runner.idle();
    expect(sent).toMatchObject([{ kind: 'stepCosts', ...ATTEMPT, costs: [{ amount: '1' }] }]);
  });

  test('has its context in what listens to its signal, so that it is known whose code that is', async () => {
    let seen: unknown;
    const { runner, until } = runnerOf({
      fn: () => {
        const { signal } = stepContext();
        signal.addEventListener('abort', () => {
          seen = { ...runner.blame().culprit };
        });
        return untilAborted();
      },
    });
    runner.run(TASK);
    await new Promise(setImmediate);
    runner.stop(ATTEMPT, 'cancelled');
    await until('stepCancelled');
    expect(seen).toEqual(ATTEMPT);
  });

  test('for two reasons is stopped for the first', async () => {
    const { runner, until } = runnerOf({ fn: untilAborted });
    runner.run(TASK);
    await new Promise(setImmediate);
    runner.stop(ATTEMPT, 'cancelled');
    runner.stopAll('the worker is shutting down', true);
    expect(await until('stepCancelled')).toHaveLength(1);
  });

  test('is not stopped for another attempt', async () => {
    const { runner, sent } = runnerOf({
      fn: async () => {
        await sleep(1);
        return stepContext().signal.aborted;
      },
    });
    runner.run(TASK);
    for (const reason of ['cancelled', 'timedOut', 'runClosed'] as const) {
      runner.stop({ ...ATTEMPT, attempt: 1 }, reason);
    }
    await runner.idle();
    expect(sent).toMatchObject([{ kind: 'stepCompleted', result: 'false' }]);
  });

  test('sees an abort that came before it asked for its signal', async () => {
    let go!: () => void;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { runner, until } = runnerOf({
      fn: async () => {
        await gate;
        stepContext().signal.throwIfAborted();
      },
    });
    runner.run(TASK);
    runner.stop(ATTEMPT, 'cancelled');
    go();
    await until('stepCancelled');
  });

  test('at its own deadline is aborted even when the engine says nothing', async () => {
    const { runner, sent } = runnerOf({ fn: untilAborted });
    runner.run({ ...TASK, timeoutMs: 1_000 });
    runner.stopOverdue(performance.now() + 500);
    expect(runner.running).toBe(1);
    runner.stopOverdue(performance.now() + 1_500);
    await runner.idle();
    expect(sent).toEqual([]);
  });

  test('by a lost connection is aborted and forgotten, by a shutdown its answer counts', async () => {
    const lost = runnerOf({ fn: untilAborted });
    lost.runner.run(TASK);
    lost.runner.stopAll('the worker has lost its server', false);
    expect(lost.runner.running).toBe(0);
    const ending = runnerOf({ fn: untilAborted });
    ending.runner.run(TASK);
    ending.runner.stopAll('the worker is shutting down', true);
    expect(failureOf((await ending.until('stepFailed'))[0]!)).toMatchObject({
      type: 'WorkerStoppedError',
      message: 'the worker is shutting down',
    });
    expect(lost.sent).toEqual([]);
  });

  test('and tried again: the end of the older attempt leaves the newer one under way', async () => {
    const { runner, until } = runnerOf({ fn: untilAborted });
    runner.run(TASK);
    runner.run({ ...TASK, attempt: 3 });
    // The older one has been aborted, and comes to its end meanwhile.
    await new Promise(setImmediate);
    expect(runner.running).toBe(1);
    runner.stop({ ...ATTEMPT, attempt: 3 }, 'cancelled');
    expect(await until('stepCancelled')).toMatchObject([{ attempt: 3 }]);
  });

  test('and tried again: the older attempt is aborted and only the newer one answers', async () => {
    const { runner, sent, until } = runnerOf({
      fn: () => (stepContext().attempt === 2 ? untilAborted() : 'second'),
    });
    runner.run(TASK);
    runner.run({ ...TASK, attempt: 3 });
    await until('stepCompleted');
    await runner.idle();
    expect(sent).toMatchObject([{ kind: 'stepCompleted', attempt: 3 }]);
  });
});
