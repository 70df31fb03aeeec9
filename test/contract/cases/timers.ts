import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';
import type { Described } from '../workflows/shared/described.js';

export function timerCases(stage: Stage): void {
  describe('timers', () => {
    test('a sleep takes as long as asked, never less, given as number or text (TM-01)', async () => {
      const run = await stage.start('sleeps', [30, '40ms', '0.05s', '60']);
      const took = (await run.result()) as number[];
      [30, 40, 50, 60].forEach((asked, index) => {
        expect(took[index]).toBeGreaterThanOrEqual(asked);
      });
      const started = await run.eventsOf('TIMER_STARTED');
      expect(started.map((event) => event.attributes)).toEqual([
        { timerId: expect.any(String), startToFireTimeoutMs: 30 },
        { timerId: expect.any(String), startToFireTimeoutMs: 40 },
        { timerId: expect.any(String), startToFireTimeoutMs: 50 },
        { timerId: expect.any(String), startToFireTimeoutMs: 60 },
      ]);
      const fired = await run.eventsOf('TIMER_FIRED');
      fired.forEach((event, index) => {
        expect(event.attributes.startedEventId).toBe(started[index]!.id);
        expect(event.at - started[index]!.at).toBeGreaterThanOrEqual(
          started[index]!.attributes.startToFireTimeoutMs,
        );
      });
      expect(new Set(started.map((event) => event.attributes.timerId)).size).toBe(4);
    });

    test('a sleep of nothing and of one millisecond end (TM-03)', async () => {
      const run = await stage.start('sleeps', [0, 1, '0s', 0.4]);
      expect(await run.result()).toHaveLength(4);
    });

    test('a duration that is none is an error that names it (TM-03)', async () => {
      const run = await stage.start('badSleeps');
      const errors = (await run.result()) as { error: Described }[];
      expect(errors).toHaveLength(7);
      for (const { error } of errors) {
        expect(error).toMatchObject({ name: 'DurationError' });
        expect(error.message).toMatch(/ is (not a duration|longer than 1000 years)/);
      }
      expect(errors[3]!.error.message).toContain('"soon"');
      expect(await run.eventTypes()).not.toContain('TIMER_STARTED');
    });

    test.each(['25 days', '100 years', 2 ** 31 + 1])(
      'a timer of %s waits, and can be cancelled (TM-03, TM-04)',
      async (duration) => {
        const run = await stage.start('farSleep', duration);
        await run.until('TIMER_STARTED');
        await run.signal('stop');
        expect(await run.result()).toMatchObject({ error: { name: 'CancelledError' } });
        expect(await run.eventTypes()).toEqual([
          'WORKFLOW_EXECUTION_STARTED',
          'TIMER_STARTED',
          'WORKFLOW_EXECUTION_SIGNALED',
          'TIMER_CANCELED',
          'WORKFLOW_EXECUTION_COMPLETED',
        ]);
      },
    );

    test('setTimeout and clearTimeout are durable timers (TM-09)', async () => {
      const run = await stage.start('hostTimers');
      expect(await run.result()).toEqual(['sooner', 'later']);
      const types = await run.eventTypes();
      expect(types.filter((type) => type === 'TIMER_FIRED')).toHaveLength(2);
    });

    test('timers fire in the order in which they are due', async () => {
      const run = await stage.start('timerOrder');
      expect(await run.result()).toEqual([10, 60, 120]);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'TIMER_STARTED',
        'TIMER_STARTED',
        'TIMER_STARTED',
        'TIMER_FIRED',
        'TIMER_FIRED',
        'TIMER_FIRED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('many timers that are due together fire once each (TM-06)', async () => {
      const runs = await Promise.all(Array.from({ length: 200 }, () => stage.start('sleeps', [200])));
      const took = (await Promise.all(runs.map((run) => run.result()))) as number[][];
      for (const [ms] of took) expect(ms).toBeGreaterThanOrEqual(200);
      const fired = await Promise.all(runs.map((run) => run.eventsOf('TIMER_FIRED')));
      expect(fired.map((events) => events.length)).toEqual(Array(200).fill(1));
    });

    test('a run ends although a timer of it is still pending', async () => {
      const run = await stage.start('sleepRace');
      expect(await run.result()).toBe('short');
      expect((await run.eventTypes()).at(-1)).toBe('WORKFLOW_EXECUTION_COMPLETED');
    });
  });

  describe('conditions', () => {
    test('a condition without timeout ends when it becomes true (WT-29)', async () => {
      const run = await stage.start('waitsFor', null);
      await run.signal('open');
      expect(await run.result()).toBe('opened');
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'WORKFLOW_EXECUTION_SIGNALED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('a condition with timeout says whether it came true, and cancels its timer (WT-29)', async () => {
      const run = await stage.start('waitsFor', '1 hour');
      await run.until('TIMER_STARTED');
      await run.signal('open');
      expect(await run.result()).toBe('opened');
      expect((await run.eventTypes()).filter((type) => type.startsWith('TIMER'))).toEqual([
        'TIMER_STARTED',
        'TIMER_CANCELED',
      ]);
    });

    test('a condition that does not come true in time says so (WT-29)', async () => {
      expect(await stage.run('waitsFor', '20ms')).toBe('timed out');
    });

    test('a condition that is true already does not wait, one with timeout 0 gives up (WT-29)', async () => {
      expect(await stage.run('alreadyTrue')).toEqual([true, false]);
    });

    test('a condition whose predicate does something is refused, and the run goes on', async () => {
      expect(await stage.run('conditionRefused')).toMatchObject({ error: { name: 'UsageError' } });
    });

    test('conditions that depend on each other settle in one turn', async () => {
      expect(await stage.run('conditionChain')).toBe(3);
    });

    test('a scope with a timeout cancels what is in it', async () => {
      const run = await stage.start('scopedTimeout');
      expect(await run.result()).toMatchObject({ error: { name: 'CancelledError' } });
    });
  });
}
