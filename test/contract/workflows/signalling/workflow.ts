import { condition, defineQuery, defineSignal, setHandler, sleep, workflow, z } from 'perdure';
import type { Place } from '../shared/ledger.js';
import { gated, note } from '../shared/steps/recording.js';

const add = defineSignal<[unknown]>('add');
const finish = defineSignal('finish');
const seenQuery = defineQuery<unknown[]>('seen');

/** Collects what it is sent until it is told to finish. */
export const collects = workflow({
  name: 'collects',
  fn: async () => {
    const seen: unknown[] = [];
    let done = false;
    setHandler(add, (value) => {
      seen.push(value ?? 'nothing');
    });
    setHandler(finish, () => {
      done = true;
    });
    setHandler(seenQuery, () => seen);
    await condition(() => done);
    return seen;
  },
});

/** Has its handler before anything else runs in it, and looks at once. */
export const looksAtOnce = workflow({
  name: 'looksAtOnce',
  fn: async () => {
    const seen: unknown[] = [];
    setHandler(add, (value) => {
      seen.push(value);
    });
    await Promise.resolve();
    return seen;
  },
});

/** Sets its handler late: until then signals are kept. */
export const listensLate = workflow({
  name: 'listensLate',
  fn: async (input) => {
    const place = input as Place;
    const seen: unknown[] = [];
    await gated({ ...place, gate: place.key });
    setHandler(add, (value) => {
      seen.push(value);
    });
    await condition(() => seen.length === 3);
    return seen;
  },
});

/** Handlers of two signals, the second set by the first: order of arrival is kept per handler. */
export const handlerSetsHandler = workflow({
  name: 'handlerSetsHandler',
  fn: async () => {
    const seen: unknown[] = [];
    setHandler(finish, () => {
      setHandler(add, (value) => {
        seen.push(value);
      });
    });
    await condition(() => seen.length === 2);
    return seen;
  },
});

/** A handler may be taken away and come back. */
export const handlerChanges = workflow({
  name: 'handlerChanges',
  fn: async () => {
    const seen: string[] = [];
    setHandler(add, (value) => {
      seen.push(`first ${value}`);
      setHandler(add, (next) => {
        seen.push(`second ${next}`);
      });
    });
    await condition(() => seen.length === 3);
    return seen;
  },
});

/** Handlers that take their time run beside each other. */
export const asyncHandlers = workflow({
  name: 'asyncHandlers',
  fn: async (input) => {
    const seen: unknown[] = [];
    setHandler(add, async (value) => {
      seen.push(`begin ${value}`);
      await note({ ...(input as Place), value });
      await sleep(1);
      seen.push(`end ${value}`);
    });
    await condition(() => seen.length === 4);
    return seen;
  },
});

export const handlerThrows = workflow({
  name: 'handlerThrows',
  fn: async (kind) => {
    setHandler(add, (value) => {
      if (kind === 'async') return Promise.reject(new RangeError(`async cannot take ${value}`));
      throw new RangeError(`cannot take ${value}`);
    });
    await condition(() => false);
  },
});

export const declaresSignals = workflow({
  name: 'declaresSignals',
  signals: { known: { inputSchema: z.object({ by: z.string() }) } },
  fn: async () => {
    let by: string | undefined;
    setHandler(defineSignal<[{ by: string }]>('known'), (payload) => {
      by = payload.by;
    });
    await condition(() => by !== undefined);
    return by;
  },
});

/** Which comes first when a turn brings several things: the answer is the order. */
export const turnOrder = workflow({
  name: 'turnOrder',
  fn: async () => {
    const order: string[] = [];
    setHandler(add, (value) => {
      order.push(`signal ${value}`);
    });
    const timer = sleep('2s').then(() => order.push('timer'));
    await condition(() => order.length >= 3);
    await timer;
    return order;
  },
});

/** Ends while a handler of it is still under way. */
export const leavesHandler = workflow({
  name: 'leavesHandler',
  fn: async () => {
    let begun = false;
    setHandler(add, async () => {
      begun = true;
      await sleep('1 hour');
    });
    await condition(() => begun);
    return 'left';
  },
});

/** The signal comes while a step's completion is on its way: both must be there in the end. */
export const signalBesideStep = workflow({
  name: 'signalBesideStep',
  fn: async (input) => {
    const place = input as Place;
    const seen: unknown[] = [];
    setHandler(add, (value) => {
      seen.push(value);
    });
    const values: unknown[] = [];
    for (let turn = 0; turn < 20; turn++) values.push(await note({ ...place, value: turn }));
    await condition(() => seen.length === 20);
    return { seen, values };
  },
});
