import { describe, expect, test, vi } from 'vitest';
import type { FromWorker, StepTask } from '../../core/task.js';
import { type StepContext, stepContext } from '../../sdk/step-context.js';
import { runnerOf, TASK } from './one-step.fixture.js';

describe('heartbeats', () => {
  const beating = (task: Partial<StepTask> = {}) => {
    let context!: StepContext;
    let end!: (error?: Error) => void;
    const started = runnerOf({
      fn: () => {
        context = stepContext();
        return new Promise<void>((resolve, reject) => {
          end = (error) => (error ? reject(error) : resolve());
        });
      },
    });
    started.runner.run({ ...TASK, ...task });
    const ready = async () => {
      while (!context) await new Promise(setImmediate);
    };
    return {
      ...started,
      ready,
      beat: (details: unknown) => context.heartbeat(details),
      end: (error?: Error) => end(error),
    };
  };
  const details = (messages: FromWorker[]) =>
    messages.map((message) => (message.kind === 'stepHeartbeat' ? message.details : message.kind));

  test('the first leaves at once, later ones are gathered, the latest wins', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { ready, beat, sent, end, runner } = beating();
      await ready();
      beat(1);
      beat(2);
      beat(3);
      expect(details(sent)).toEqual(['1']);
      vi.advanceTimersByTime(1_000);
      expect(details(sent)).toEqual(['1', '3']);
      beat(3.5);
      expect(details(sent)).toEqual(['1', '3']);
      vi.advanceTimersByTime(1_000);
      expect(details(sent)).toEqual(['1', '3', '3.5']);
      vi.advanceTimersByTime(10_000);
      expect(details(sent)).toEqual(['1', '3', '3.5']);
      beat(4);
      expect(details(sent)).toEqual(['1', '3', '3.5', '4']);
      end();
      await runner.idle();
      expect(details(sent)).toEqual(['1', '3', '3.5', '4', 'stepCompleted']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('leave at least twice within the heartbeat timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { ready, beat, sent } = beating({ heartbeatTimeoutMs: 100 });
      await ready();
      beat(1);
      beat(2);
      vi.advanceTimersByTime(50);
      expect(details(sent)).toEqual(['1', '2']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('the latest details go out before a failure, for the next attempt', async () => {
    const { ready, beat, sent, end, runner } = beating();
    await ready();
    beat(1);
    beat(2);
    end(new Error('no'));
    await runner.idle();
    expect(details(sent)).toEqual(['1', '2', 'stepFailed']);
  });

  test('details that JSON cannot carry, or too many, are refused where they are given', async () => {
    const { ready, beat, end } = beating();
    await ready();
    expect(() => beat(1n)).toThrow(/BigInt/);
    expect(() => beat('x'.repeat(2_000))).toThrow(/2002 bytes/);
    end();
  });

  test('after the end nobody hears them', async () => {
    const { ready, beat, sent, end, runner } = beating();
    await ready();
    end();
    await runner.idle();
    beat(1);
    expect(details(sent)).toEqual(['stepCompleted']);
  });
});
