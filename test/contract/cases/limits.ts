import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';
import type { SystemLimits } from '../system.js';

/** Low enough to be met in a test. */
export const LOW_LIMITS = {
  signalsPerRun: 5,
  updatesInFlightPerRun: 2,
  updatesPerRun: 4,
  pendingPerRun: 20,
  historyEvents: 400,
  historyEventsSuggestContinue: 60,
  childDepth: 4,
  payloadBytes: 20_000,
} satisfies SystemLimits;

/** So that a step can be made to wait for a place. */
export const STEP_SLOTS = 2;

/** A run that meets a bound ends or is told so; it is never left hanging, and others are not concerned. */
export function limitCases(stage: Stage): void {
  describe('limits', () => {
    test('a signal too many is refused, and the run is healthy otherwise (SG-15)', async () => {
      const run = await stage.start('collects');
      for (let value = 1; value <= 5; value++) await run.signal('add', value);
      await expect(run.signal('add', 6)).rejects.toMatchObject({ name: 'TooManyRequestsError', status: 429 });
      expect(await run.query('seen')).toEqual([1, 2, 3, 4, 5]);
      expect(await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(5);
      await run.terminate();
    });

    test('an update too many at a time is refused until one has ended (UP-22)', async () => {
      const place = stage.place();
      const run = await stage.start('account', place);
      const transfers = [run.update('transfer'), run.update('transfer')];
      await stage.ledger.until(place.key, 'started', 2);
      await expect(run.update('withdraw', 1)).rejects.toMatchObject({
        name: 'TooManyRequestsError',
        status: 429,
      });
      stage.ledger.release(place.key);
      await Promise.all(transfers);
      expect(await run.update('withdraw', 1)).toBe(99);
      await run.terminate();
    });

    test('an update too many in all is refused (UP-22)', async () => {
      const run = await stage.start('account');
      for (let taken = 1; taken <= 4; taken++) expect(await run.update('withdraw', 1)).toBe(100 - taken);
      await expect(run.update('withdraw', 1)).rejects.toMatchObject({ name: 'TooManyRequestsError' });
      await run.signal('finish');
      expect(await run.result()).toMatchObject({ balance: 96 });
    });

    test('as many pending steps as allowed are fine', async () => {
      expect(await stage.run('parallelSteps', { ...stage.place(), count: 20 })).toHaveLength(20);
    });

    test('a pending step too many ends the run with a typed failure (AC-26)', async () => {
      const run = await stage.start('parallelSteps', { ...stage.place(), count: 21 });
      const { status, failure } = await run.outcome();
      expect(status).toBe('failed');
      expect(failure!.type).toMatch(/Limit/);
      expect(failure!.message).toContain('20');
    });

    test('a history that grows without end ends the run with a typed failure', async () => {
      const run = await stage.start('serialSteps', { ...stage.place(), count: 1000 });
      const { status, failure } = await run.outcome();
      expect(['failed', 'terminated']).toContain(status);
      expect(JSON.stringify(failure)).toMatch(/Limit|history/i);
      expect((await run.history()).length).toBeLessThanOrEqual(LOW_LIMITS.historyEvents + 20);
    });

    test('a workflow is told in time to continue as new', async () => {
      const result = (await stage.run('suggests')) as { suggested: boolean; historyLength: number };
      expect(result.suggested).toBe(true);
      expect(result.historyLength).toBeGreaterThanOrEqual(LOW_LIMITS.historyEventsSuggestContinue);
      expect(result.historyLength).toBeLessThan(LOW_LIMITS.historyEventsSuggestContinue + 20);
    });

    test('children of children without end are a typed failure (CH-10)', async () => {
      expect(await stage.run('descends', 3)).toBe(3);
      const run = await stage.start('descends', 10);
      const { status, failure } = await run.outcome();
      expect(status).toBe('failed');
      expect(JSON.stringify(failure)).toMatch(/Limit|deep/i);
    });

    test('a result that is too large fails the step or the run, and says so (SG-16)', async () => {
      const big = 'x'.repeat(30_000);
      const { status, failure } = await (
        await stage.start('makesLarge', { bytes: big.length, by: 'workflow' })
      ).outcome();
      expect(status).toBe('failed');
      expect(failure!.message).toMatch(/20.?000|large/i);
      const step = await (await stage.start('makesLarge', { bytes: big.length, by: 'step' })).outcome();
      expect(step.status).toBe('failed');
      expect(JSON.stringify(step.failure)).toMatch(/20.?000|large/i);
    });

    test('a step that no worker has room for in time is timed out, and not tried again (AC-07)', async () => {
      const held = stage.place('held');
      const holding = await Promise.all([1, 2].map(() => stage.start('neverCompletes', held)));
      await stage.ledger.until(held.key, 'started', STEP_SLOTS);
      const place = stage.place();
      const run = await stage.start('callPlaced', { ...place, step: 'shortQueue' });
      expect(await run.result()).toMatchObject({
        error: { name: 'TimeoutError', timeoutType: 'SCHEDULE_TO_START' },
      });
      const [timedOut] = await run.eventsOf('ACTIVITY_TASK_TIMED_OUT');
      expect(timedOut!.attributes.failure).toMatchObject({ timeoutType: 'SCHEDULE_TO_START' });
      stage.ledger.release(held.key);
      await Promise.all(holding.map((each) => each.result()));
      expect(stage.ledger.entries(place.key)).toEqual([]);
    });

    test('after all that, runs run', async () => {
      expect(await stage.run('echo', 'still here')).toBe('still here');
    });
  });
}
