import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Log, silentLog } from '../../core/log.js';
import { runnerOf } from './one-step.fixture.js';

describe('a step that replaces built-ins of the process', () => {
  const originals = [
    JSON.stringify,
    JSON.parse,
    Map.prototype.get,
    Array.prototype.map,
    Promise.prototype.then,
  ];
  const current = () => [
    JSON.stringify,
    JSON.parse,
    Map.prototype.get,
    Array.prototype.map,
    Promise.prototype.then,
  ];

  test.each([
    [
      'JSON.stringify',
      () => {
        JSON.stringify = () => 'evil';
      },
    ],
    [
      'JSON.parse',
      () => {
        JSON.parse = () => 'evil';
      },
    ],
    [
      'Map.prototype.get',
      () => {
        Map.prototype.get = () => undefined;
      },
    ],
    [
      'Array.prototype.map',
      () => {
        Array.prototype.map = () => [];
      },
    ],
    [
      'Promise.prototype.then',
      () => {
        Reflect.set(Promise.prototype, 'then', () => new Promise(() => {}));
      },
    ],
    [
      'Array.prototype[Symbol.iterator]',
      () => {
        Array.prototype[Symbol.iterator] = () => [].values();
      },
    ],
    [
      'Object.keys',
      () => {
        Object.keys = () => [];
      },
    ],
    [
      'Function.prototype.call',
      () => {
        Function.prototype.call = () => undefined;
      },
    ],
  ])('is answered, and so are those after it: %s', async (_, replace) => {
    const said: string[] = [];
    const log: Log = { ...silentLog, error: (_fields, message) => said.push(message) };
    for (const late of [false, true]) {
      const { answer } = runnerOf(
        {
          fn: async () => {
            if (late) await sleep(1);
            replace();
            return { list: [1, 2] };
          },
        },
        log,
      );
      expect(await answer()).toMatchObject({ kind: 'stepCompleted', result: '{"list":[1,2]}' });
      expect(current()).toEqual(originals);
    }
    expect(said).toHaveLength(2);
    expect(said[0]).toContain('have been put back');
  });

  test('while it fails is put back as well, and what is less vital a little later', async () => {
    const { answer, runner } = runnerOf({
      fn: () => {
        JSON.stringify = () => 'evil';
        Math.floor = () => 7;
        (BigInt.prototype as { toJSON?: unknown }).toJSON = () => 'kept';
        throw new Error('failed');
      },
    });
    expect(await answer()).toMatchObject({ kind: 'stepFailed', failure: { message: 'failed' } });
    runner.stopOverdue();
    expect(Math.floor(1.5)).toBe(1);
    expect(JSON.stringify({ n: 1n })).toBe('{"n":"kept"}');
    Reflect.deleteProperty(BigInt.prototype, 'toJSON');
  });

  test('may wrap timers, and gets back those that it has deleted', async () => {
    const { setTimeout: original } = globalThis;
    const wrapped = Object.assign((...args: Parameters<typeof setTimeout>) => original(...args), original);
    try {
      globalThis.setTimeout = wrapped as typeof setTimeout;
      expect(await runnerOf({ fn: async () => 1 }).answer()).toMatchObject({ kind: 'stepCompleted' });
      expect(globalThis.setTimeout).toBe(wrapped);
      globalThis.setTimeout = original;
      const deleting = runnerOf({ fn: async () => Reflect.deleteProperty(globalThis, 'setTimeout') });
      expect(await deleting.answer()).toMatchObject({ kind: 'stepCompleted', result: 'true' });
      expect(globalThis.setTimeout).toBe(original);
    } finally {
      globalThis.setTimeout = original;
    }
  });
});
