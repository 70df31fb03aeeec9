import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';
import type { Described } from '../workflows/shared/described.js';

export function determinismCases(stage: Stage): void {
  describe('deterministic workflow code', () => {
    test('time, random numbers and ids are the same at replay (WT-06, WT-07, WT-08)', async () => {
      const run = await stage.start('draws', stage.place());
      await run.until('ACTIVITY_TASK_COMPLETED', 3);
      const asked = await run.query('drawn');
      await run.signal('finish');
      const drawn = (await run.result()) as [number, string, number, string, string][];
      expect(asked).toEqual(drawn);
      expect(await run.query('drawn')).toEqual(drawn);
      expect(new Set(drawn.map((each) => each[2])).size).toBe(3);
      expect(new Set(drawn.flatMap((each) => each.slice(3))).size).toBe(6);
      for (const [now, iso, random, ...ids] of drawn) {
        expect(new Date(now).toISOString()).toBe(iso);
        expect(random).toBeGreaterThanOrEqual(0);
        expect(random).toBeLessThan(1);
        for (const id of ids)
          expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }
      const times = drawn.map((each) => each[0]);
      expect([...times].sort((a, b) => a - b)).toEqual(times);
    });

    test('two runs draw differently', async () => {
      const [one, two] = await Promise.all([
        stage.start('draws', stage.place()),
        stage.start('draws', stage.place()),
      ]);
      await Promise.all([one.signal('finish'), two.signal('finish')]);
      const [first, second] = (await Promise.all([one.result(), two.result()])) as [
        number,
        string,
        number,
      ][][];
      expect(first![0]![2]).not.toBe(second![0]![2]);
    });

    test('the clock stands still inside a turn and moves between turns (WT-07)', async () => {
      const result = (await stage.run('clock')) as { fixed: number; advanced: number };
      expect(result).toMatchObject({ fixed: 0, isDate: true, text: 'string' });
      expect(result.advanced).toBeGreaterThanOrEqual(50);
    });

    test('module state belongs to one run and stays with it (WT-11)', async () => {
      const places = [stage.place(), stage.place(), stage.place()];
      const runs = await Promise.all(places.map((place) => stage.start('moduleState', place)));
      const results = await Promise.all(runs.map((run) => run.result()));
      results.forEach((result, index) => {
        const key = places[index]!.key;
        expect(result).toEqual({ moduleCounter: 3, moduleList: [key, key, key] });
        expect(stage.ledger.entries(key).map((entry) => entry.value)).toEqual([1, 2, 3]);
      });
    });

    test.each(['fetch', 'process', 'weakRef', 'finalization', 'setInterval'])(
      'workflow code cannot use %s (WT-09, WT-27)',
      async (kind) => {
        const result = (await stage.run('forbidden', kind)) as { error?: Described };
        expect(result).toHaveProperty('error');
      },
    );

    test.each([
      ['fetch', 'sendHttpRequest()'],
      ['XMLHttpRequest', 'sendHttpRequest()'],
      ['WebSocket', 'in a step'],
      ['process', 'in a step'],
      ['performance', 'Date.now()'],
      ['Buffer', 'TextEncoder'],
      ['setImmediate', 'sleep()'],
      ['setInterval', 'sleep()'],
      ['Atomics.wait', 'condition()'],
      ['WeakRef', 'ordinary reference'],
      ['FinalizationRegistry', 'finally'],
      ['SharedArrayBuffer', 'arrays'],
      ['WebAssembly', 'in a step'],
      ['AbortSignal', 'CancellationScope'],
      ['"node:fs"', "step's file"],
    ])('%s is refused in the same words as all others', async (what, remedy) => {
      const run = await stage.start('usesForbidden', what);
      const { failure } = await run.outcome();
      expect(failure).toMatchObject({ type: 'DeterminismError', message: expect.stringContaining(remedy) });
      expect(failure?.message).toMatch(
        /^.* cannot be (used|imported) in a workflow, since a replay would not give the same answer: /,
      );
      expect(failure?.message.startsWith(what)).toBe(true);
    });

    test('fetch names the remedy', async () => {
      const { error } = (await stage.run('forbidden', 'fetch')) as { error: Described };
      expect(error.message).toContain('fetch');
      expect(error.message).toMatch(/step/i);
    });

    test('promises settle in a stable order (WT-16, WT-17)', async () => {
      const run = await stage.start('promiseOrder', stage.place());
      const order = (await run.result()) as string[];
      expect([...order].sort()).toEqual(['a', 'a2', 'async', 'b', 'micro', 'timer']);
      expect(order.slice(0, 2)).toEqual(['micro', 'async']);
      expect(order.indexOf('a')).toBeLessThan(order.indexOf('a2'));
    });

    test('an error that nobody waits for fails the run (WT-13)', async () => {
      const { status, failure } = await (await stage.start('looseRejection')).outcome();
      expect(status).toBe('failed');
      expect(failure).toMatchObject({ type: 'Error', message: 'nobody caught me' });
    });

    test('what a workflow asks for after its end is not done (WT-18)', async () => {
      const place = stage.place();
      const run = await stage.start('actsAfterReturn', place);
      expect(await run.result()).toBe('done');
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_COMPLETED']);
      expect(stage.ledger.entries(place.key)).toEqual([]);
    });
  });
}
