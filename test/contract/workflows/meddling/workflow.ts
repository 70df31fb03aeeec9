import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  sleep,
  uuid4,
  workflow,
} from 'perdure';

const go = defineSignal('go');

function hostile(kind: string): unknown {
  const trap = () => {
    throw new Error('a trap');
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const thrown: Record<string, unknown> = {
    proxy: new Proxy(new Error('x'), { get: trap, getPrototypeOf: trap, ownKeys: trap }),
    revoked: proxy,
    getters: Object.defineProperty({}, 'message', { get: trap }),
    symbol: Symbol('s'),
    nothing: null,
    circular,
    half: new Error('unknown user \ud800'),
    long: new Error('😀'.repeat(50_000)),
  };
  return thrown[kind];
}

/** Its queries and validators do what they must not: assign, draw, throw what cannot be described. */
export const meddles = workflow({
  name: 'meddles',
  fn: async () => {
    const seen = { asked: 0, refused: 0 };
    const drawn: unknown[] = [];
    let isReleased = false;
    const ask = () => ++seen.asked;
    setHandler(go, () => {
      isReleased = true;
    });
    setHandler(defineQuery<number>('assigns'), () => ask());
    setHandler(defineQuery<unknown>('draws'), () => [Math.random(), uuid4(), crypto.randomUUID()]);
    setHandler(defineQuery<unknown>('state'), () => ({ ...seen, drawn }));
    setHandler(defineQuery<never, [string]>('throws'), (kind) => {
      throw hostile(kind);
    });
    setHandler(defineUpdate<string, [string]>('refused'), () => 'never', {
      validator: (kind) => {
        seen.refused++;
        uuid4();
        throw hostile(kind);
      },
    });
    setHandler(defineUpdate<string, [string]>('throws'), (kind) => {
      throw hostile(kind);
    });
    drawn.push(Math.random(), uuid4());
    await condition(() => isReleased);
    await sleep(1);
    drawn.push(Math.random(), uuid4());
    return { ...seen, drawn };
  },
});

export const throwsHostile = workflow({
  name: 'throwsHostile',
  fn: async (kind) => {
    throw hostile(kind as string);
  },
});

/** A signal that ends the run in the turn of an update. */
export const endsBySignal = workflow({
  name: 'endsBySignal',
  fn: async () => {
    setHandler(go, () => {
      throw new Error('ended by a signal');
    });
    setHandler(defineUpdate<string>('change'), () => 'changed');
    await condition(() => false);
  },
});

/** Changes what all runs share, as far as that is possible. */
export const tampers = workflow({
  name: 'tampers',
  fn: async () => {
    const changes = [
      'Function.prototype.call = () => 1',
      'Object.prototype.toString = () => "x"',
      'Object.getPrototypeOf(Object.getPrototypeOf(function* () {}.prototype)).evil = 1',
      'Object.getPrototypeOf(Object.getPrototypeOf((function* () {})())).next = () => ({ done: true })',
      'Object.defineProperty(Map.prototype, "size", { get: () => 99 })',
      'Object.getPrototypeOf(Uint8Array).prototype.set = null',
      'Object.defineProperty(Array, Symbol.species, { get: () => Object })',
      'Error.stackTraceLimit = 0',
      'Error.prototype.name = "Evil"',
      'Date.now = () => 5',
      'Array.prototype.map = () => 1',
      'Intl.NumberFormat.prototype.format = null',
    ];
    for (const change of changes) {
      try {
        new Function(`'use strict'; ${change}`)();
      } catch {
        // As it should be.
      }
    }
    return 'tampered';
  },
});

export const looksAround = workflow({
  name: 'looksAround',
  fn: async () => {
    function* numbers() {
      yield 1;
      yield 2;
    }
    return {
      call: (() => 2).call(null),
      text: String({}),
      numbers: [...numbers()],
      size: new Map().size,
      set: typeof new Uint8Array().set,
      mapped: [1].map((n) => n + 1),
      stack: (new Error('x').stack ?? '').includes('at '),
      name: new Error('x').name,
      hours: new Date(0).getHours(),
      local: new Date(2020, 0, 31, 12).toISOString(),
      parsed: new Date('2020-01-31T12:00').toISOString(),
      locale: (1234.5).toLocaleString(),
      zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      formatted: new Intl.NumberFormat().format(1234.5),
      url: new URL('/p?a=1', 'http://h').searchParams.get('a'),
      // The process around the sandbox is not to be had.
      outside: [URL, TextDecoder, AbortController].map((type) =>
        String(
          (type as unknown as { constructor: FunctionConstructor }).constructor('return typeof process')(),
        ),
      ),
    };
  },
});
