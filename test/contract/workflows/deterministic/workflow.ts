import { condition, defineQuery, defineSignal, setHandler, sleep, uuid4, workflow } from 'perdure';
import { settled } from '../shared/described.js';
import type { Place } from '../shared/ledger.js';
import { note } from '../shared/steps/recording.js';

const finish = defineSignal('finish');

/** Draws everything that must be the same at replay, over several turns. */
export const draws = workflow({
  name: 'draws',
  fn: async (input) => {
    const place = input as Place;
    const drawn: unknown[] = [];
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    setHandler(defineQuery<unknown[]>('drawn'), () => drawn);
    for (let turn = 0; turn < 3; turn++) {
      drawn.push([Date.now(), new Date().toISOString(), Math.random(), uuid4(), crypto.randomUUID()]);
      await note({ ...place, value: turn });
    }
    await condition(() => done);
    return drawn;
  },
});

export const clock = workflow({
  name: 'clock',
  fn: async () => {
    const before = Date.now();
    for (let spin = 0; spin < 2e6; spin++) Math.sqrt(spin);
    const fixed = Date.now() - before;
    await sleep(50);
    return { fixed, advanced: Date.now() - before, isDate: new Date() instanceof Date, text: typeof Date() };
  },
});

/** What workflow code must not do says so, and what to do instead. */
export const forbidden = workflow({
  name: 'forbidden',
  fn: async (kind) => {
    const scope = globalThis as unknown as Record<string, never> & {
      fetch(url: string): Promise<unknown>;
      process: { exit(code: number): void };
    };
    const attempts: Record<string, () => unknown> = {
      fetch: () => scope.fetch('http://127.0.0.1:1/'),
      process: () => scope.process.exit(1),
      weakRef: () => new WeakRef({}),
      finalization: () => new FinalizationRegistry(() => {}),
      setInterval: () => setInterval(() => {}, 10),
    };
    return settled(
      Promise.resolve()
        .then(() => attempts[kind as string]!())
        .then(() => 'allowed'),
    );
  },
});

/** The order in which promises settle is part of the history's meaning. */
export const promiseOrder = workflow({
  name: 'promiseOrder',
  fn: async (input) => {
    const place = input as Place;
    const order: string[] = [];
    const say = (text: string) => () => {
      order.push(text);
    };
    await Promise.all([
      note({ ...place, value: 'a' })
        .then(say('a'))
        .then(say('a2')),
      note({ ...place, value: 'b' }).then(say('b')),
      sleep(1).then(say('timer')),
      Promise.resolve().then(say('micro')),
      (async () => {
        await null;
        order.push('async');
      })(),
    ]);
    return order;
  },
});

/** An error that nobody waits for. */
export const looseRejection = workflow({
  name: 'looseRejection',
  fn: async () => {
    void Promise.reject(new Error('nobody caught me'));
    await sleep(1);
    return 'went on';
  },
});

/** What comes after the end of a run is not done. */
export const actsAfterReturn = workflow({
  name: 'actsAfterReturn',
  fn: async (input) => {
    const place = input as Place;
    void Promise.resolve()
      .then(() => undefined)
      .then(() => undefined)
      .then(() => undefined)
      .then(() => undefined)
      .then(() => note({ ...place, value: 'too late' }));
    return 'done';
  },
});

/** Each of them reaches for something that a workflow must not use. */
const forbiddenUses: Record<string, () => unknown> = {
  fetch: () => fetch('http://127.0.0.1:1'),
  XMLHttpRequest: () => new (globalThis as unknown as { XMLHttpRequest: new () => object }).XMLHttpRequest(),
  WebSocket: () =>
    new (globalThis as unknown as { WebSocket: new (url: string) => object }).WebSocket('ws://x'),
  process: () => process.env.HOME,
  performance: () => performance.now(),
  Buffer: () => Buffer.from('x'),
  setImmediate: () => setImmediate(() => {}),
  setInterval: () => setInterval(() => {}, 1),
  'Atomics.wait': () => Atomics.wait(new Int32Array(1), 0, 0),
  WeakRef: () => new WeakRef({}),
  FinalizationRegistry: () => new FinalizationRegistry(() => {}),
  SharedArrayBuffer: () => new SharedArrayBuffer(1),
  // @ts-expect-error there are no types for it, since nothing here may use it
  WebAssembly: () => WebAssembly.Memory,
  AbortSignal: () => AbortSignal.abort(),
  '"node:fs"': () => {
    const name = ['node', 'fs'].join(':');
    return require(name);
  },
};

export const usesForbidden = workflow({
  name: 'usesForbidden',
  fn: async (what: string) => void forbiddenUses[what]!(),
});
