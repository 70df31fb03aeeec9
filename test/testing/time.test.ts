/** `perdure/testing`: time, which goes by at once. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { stepContext } from '../../src/sdk/index.js';
import { createTestEnvironment } from '../../src/testing/index.js';
import { spentMs } from '../cpu-time.js';
import { DAY, EnvironmentStage, HOUR, START, workflows } from './environment.fixture.js';
import { tryingAgain } from './workflows/family/workflow.js';
import { fetchPrice, note, takesTime } from './workflows/stepping/steps.js';
import { content, price, working } from './workflows/stepping/workflow.js';
import { patient, year } from './workflows/waiting/workflow.js';

/** Of the processor, many times what a year takes: with code that nobody has run before, or while coverage is taken. */
const SECONDS = 5_000;

const stage = new EnvironmentStage();
const { since } = stage;

describe('time', () => {
  test('jumps over what a run waits for, to the millisecond', async () => {
    expect(await stage.env.run(patient, { waits: ['30 days', '1ms', '1 year'] })).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-01-31T00:00:00.000Z',
      '2026-01-31T00:00:00.001Z',
      '2027-01-31T06:00:00.001Z',
    ]);
    expect(stage.env.now().toISOString()).toBe('2027-01-31T06:00:00.001Z');
  });

  test('a hundred steps and a year', async () => {
    stage.env.mock(note, async (text) => Number(text));
    const before = process.cpuUsage();
    expect(await stage.env.run(year)).toBe(99);
    expect(since()).toBe(365 * DAY);
    expect(spentMs(before)).toBeLessThan(SECONDS);
  });

  test('stands still unless somebody moves it', async () => {
    const run = await stage.env.start(patient, { waits: ['1s'] });
    await run.status();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(since()).toBe(0);
    expect(await run.status()).toMatchObject({ status: 'running', startedAt: START });
  });

  test('advance: what is due until then has happened, and nothing else', async () => {
    const run = await stage.env.start(patient, { waits: ['1 hour', '1 hour', '1 hour'] });
    await stage.env.advance('2 hours');
    expect(since()).toBe(2 * HOUR);
    const fired = (await run.history()).filter(({ eventTypeName }) => eventTypeName === 'TIMER_FIRED');
    expect(fired.map(({ eventTime }) => eventTime)).toEqual([
      '2026-01-01T01:00:00.000Z',
      '2026-01-01T02:00:00.000Z',
    ]);
    await stage.env.advance(HOUR - 1);
    expect(await run.status()).toMatchObject({ status: 'running' });
    await stage.env.advance(1);
    expect(await run.status()).toMatchObject({ status: 'completed', completedAt: START + 3 * HOUR });
  });

  test('advance: what becomes due on the way does so in its order, over all runs', async () => {
    const order: string[] = [];
    stage.env.mock(note, async (text) => order.push(`${text} at ${since() / HOUR}`));
    await stage.env.start(year, undefined, { workflowId: 'a' });
    await stage.env.advance('12 hours');
    await stage.env.start(year, undefined, { workflowId: 'b' });
    await stage.env.advance('8 days');
    expect(order).toEqual(['0 at 0', '0 at 12', '1 at 87.6', '1 at 99.6', '2 at 175.2', '2 at 187.2']);
  });

  test('does not jump while a step takes real time', async () => {
    const run = await stage.env.start(working, 30);
    await stage.env.advance('1 day');
    expect(run.calls(takesTime)).toHaveLength(1);
    expect(await run.status()).toMatchObject({ status: 'running' });
    expect(await run.result()).toBe(30);
    expect(since()).toBeGreaterThanOrEqual(30 * DAY);
  });

  test('passes as it does outside while a step hangs, so that its timeout is met', async () => {
    let aborted = false;
    stage.env.mock(fetchPrice, () => {
      stepContext().signal.addEventListener('abort', () => {
        aborted = true;
      });
      return new Promise<never>(() => {});
    });
    const run = await stage.env.start(price, 'tea');
    await stage.env.advance('1 minute', { pastRunningSteps: true });
    expect(aborted).toBe(true);
    await stage.env.advance('5 minutes', { pastRunningSteps: true });
    expect(run.calls(fetchPrice).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    await expect(run.result()).rejects.toMatchObject({ cause: { timeoutType: 'START_TO_CLOSE' } });
  });

  test('jumps again when a step that hangs has met its timeout', async () => {
    stage.env.mock(fetchPrice, () => new Promise<never>(() => {}));
    expect(await stage.env.run(content, 'tea')).toBeNull();
    expect(since()).toBeGreaterThanOrEqual(30 * DAY);
    const run = await stage.env.start(content, 'tea');
    await stage.env.advance('31 days');
    expect(await run.status()).toMatchObject({ status: 'completed' });
  });

  test('waits for what a step that met its timeout has to clean up', async () => {
    let cleanedUpAt: number | undefined;
    stage.env.mock(fetchPrice, async () => {
      await once(stepContext().signal, 'abort');
      await delay(20);
      cleanedUpAt = since();
      return { cents: 5 };
    });
    expect(await stage.env.run(content, 'tea')).toBeNull();
    expect(cleanedUpAt).toBeLessThan(DAY);
  });

  test('waits for a step that hangs, and says so', async () => {
    const lines: string[] = [];
    const log = { warn: (_: object, message: string) => lines.push(message) };
    const warned = await createTestEnvironment({ workflows, log });
    warned.mock(fetchPrice, () => new Promise<never>(() => {}));
    const result = warned.run(price, 'tea').catch((error: Error) => error.message);
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toContain('the test waits for the code of step "fetchPrice"');
    await warned.close();
    expect(await result).toBe('the test environment is closed');
  });

  test('a step may let it pass, to take long', async () => {
    stage.env.mock(fetchPrice, async () => {
      await stage.env.advance('50 seconds');
      return { cents: 5 };
    });
    expect(await stage.env.run(price, 'tea')).toEqual({ cents: 5 });
    expect(since()).toBe(50_000);
    stage.env.mock(fetchPrice, async () => {
      await stage.env.advance('70 seconds');
      return { cents: 5 };
    });
    await expect(stage.env.run(price, 'tea')).rejects.toThrow('startToCloseTimeout');
  });

  test('jumps over the backoff of retries, of steps and of workflows', async () => {
    let attempts = 0;
    stage.env.mock(fetchPrice, async () => {
      if (++attempts < 3) throw new Error('try again');
      return { cents: 7 };
    });
    const run = await stage.env.start(price, 'tea');
    expect(await run.result()).toEqual({ cents: 7 });
    expect(since()).toBe(30_000);
    expect(run.calls(fetchPrice)).toEqual(
      [1, 2, 3].map((attempt) => ({ input: { product: 'tea' }, attempt })),
    );
    expect(await stage.env.run(tryingAgain)).toBe(3);
    expect(since()).toBe(30_000 + 2 * HOUR);
  });

  test('works with the fake timers of a test runner', async () => {
    vi.useFakeTimers();
    try {
      expect(await stage.env.run(patient, { waits: ['1 day'] })).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });
});
