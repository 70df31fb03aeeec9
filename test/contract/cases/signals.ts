import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

export function signalCases(stage: Stage): void {
  describe('signals', () => {
    test('every acknowledged signal is in the history once and handled once, in order (SG-01)', async () => {
      const run = await stage.start('collects');
      for (let value = 0; value < 25; value++) {
        expect(await run.signal('add', value)).toEqual({ workflowId: run.workflowId, runId: run.runId });
      }
      await run.signal('finish');
      const expected = Array.from({ length: 25 }, (_, value) => value);
      expect(await run.result()).toEqual(expected);
      const signals = await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED');
      expect(signals.map((event) => [event.attributes.signalName, ...event.attributes.input])).toEqual([
        ...expected.map((value) => ['add', String(value)]),
        ['finish'],
      ]);
    });

    test('signals sent together arrive once each', async () => {
      const run = await stage.start('collects');
      await Promise.all(Array.from({ length: 100 }, (_, value) => run.signal('add', value)));
      await run.signal('finish');
      const seen = (await run.result()) as number[];
      expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, value) => value));
      const inHistory = (await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).slice(0, 100);
      expect(inHistory.map((event) => JSON.parse(event.attributes.input[0]!))).toEqual(seen);
    });

    test('a signal without payload calls the handler with nothing', async () => {
      const run = await stage.start('collects');
      await run.signal('add');
      await run.signal('add', null);
      await run.signal('finish');
      expect(await run.result()).toEqual(['nothing', 'nothing']);
    });

    test('a signal with no handler yet is kept until there is one, in order (SG-04)', async () => {
      const place = stage.place();
      const run = await stage.start('listensLate', place);
      for (const value of ['a', 'b', 'c']) await run.signal('add', value);
      stage.ledger.release(place.key);
      expect(await run.result()).toEqual(['a', 'b', 'c']);
    });

    test('a handler that another handler sets gets what was kept for it (SG-04)', async () => {
      const run = await stage.start('handlerSetsHandler');
      await run.signal('add', 1);
      await run.signal('add', 2);
      await run.signal('finish');
      expect(await run.result()).toEqual([1, 2]);
    });

    test('a handler can be replaced (SG-05)', async () => {
      const run = await stage.start('handlerChanges');
      for (const value of [1, 2, 3]) await run.signal('add', value);
      expect(await run.result()).toEqual(['first 1', 'second 2', 'second 3']);
    });

    test('handlers may take their time, beside each other', async () => {
      const place = stage.place();
      const run = await stage.start('asyncHandlers', place);
      await Promise.all([run.signal('add', 1), run.signal('add', 2)]);
      const seen = (await run.result()) as string[];
      expect([...seen].sort()).toEqual(['begin 1', 'begin 2', 'end 1', 'end 2']);
      expect(stage.ledger.entries(place.key)).toHaveLength(2);
    });

    test.each([
      ['sync', 'cannot take 9'],
      ['async', 'async cannot take 9'],
    ])('an error of a %s handler fails the run (SG-13)', async (kind, message) => {
      const run = await stage.start('handlerThrows', kind);
      await run.signal('add', 9);
      const { status, failure } = await run.outcome();
      expect(status).toBe('failed');
      expect(failure).toMatchObject({ type: 'RangeError', message });
    });

    test('signals that come in while turns are under way are all handled (SG-06)', async () => {
      const place = stage.place();
      const run = await stage.start('signalBesideStep', place);
      for (let value = 0; value < 20; value++) await run.signal('add', value);
      const expected = Array.from({ length: 20 }, (_, value) => value);
      expect(await run.result()).toEqual({ seen: expected, values: expected });
      expect(stage.ledger.entries(place.key)).toHaveLength(20);
    });

    test('a run may end while a handler is under way, which is given up then (SG-14)', async () => {
      const run = await stage.start('leavesHandler');
      await run.signal('add', 1);
      expect(await run.result()).toBe('left');
    });

    test('a closed run takes no signal, and its history stays as it was (SG-08)', async () => {
      const run = await stage.start('echo', 1);
      await run.result();
      const before = JSON.stringify(await run.history());
      await expect(run.signal('add', 1)).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
        status: 409,
        details: { workflowId: run.workflowId },
      });
      expect(JSON.stringify(await run.history())).toBe(before);
    });

    test('a workflow that declares its signals takes no other name', async () => {
      const run = await stage.start('declaresSignals');
      await expect(run.signal('unknown', {})).rejects.toMatchObject({
        name: 'HandlerNotFoundError',
        status: 404,
      });
      await run.signal('known', { by: 'me' });
      expect(await run.result()).toBe('me');
      expect(await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(1);
    });
  });
}
