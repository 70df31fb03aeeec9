import {
  condition,
  createCallback,
  defineQuery,
  defineSignal,
  sendPostRequestAndAwaitWebhook,
  setHandler,
  sleep,
  uuid4,
  workflow,
  z,
} from 'perdure';
import type { Place } from '../shared/ledger.js';
import { note } from '../shared/steps/recording.js';

const given = defineQuery<{ id: string; url: string }[]>('given');

/** Gives out an address for each of its schemas, and returns what came, each with the number of its place. */
export const severalCallbacks = workflow({
  name: 'severalCallbacks',
  fn: async (input) => {
    const { count, ...place } = input as Place & { count: number };
    const callbacks = Array.from({ length: count }, () => createCallback<unknown>());
    setHandler(given, () => callbacks.map(({ id, url }) => ({ id, url })));
    const noted = await note({ ...place, value: callbacks.length });
    const answers = await Promise.all(callbacks.map(({ result }) => result));
    return { noted, answers, random: uuid4() };
  },
});

export const checkedCallback = workflow({
  name: 'checkedCallback',
  fn: async () => {
    const callback = createCallback({
      schema: z.object({ cents: z.number().positive(), currency: z.string().default('EUR') }),
    });
    setHandler(given, () => [callback]);
    return callback.result;
  },
});

/** Under an id of its own, over continue-as-new. What comes while it sleeps is kept. */
export const standingCallback = workflow({
  name: 'standingCallback',
  inputSchema: z.number(),
  fn: async (left, context) => {
    if (left > 0) {
      await sleep(1);
      return context.control.continueAsNew(left - 1);
    }
    let mayWait = false;
    setHandler(defineSignal('wait'), () => {
      mayWait = true;
    });
    await condition(() => mayWait);
    const callback = createCallback({ id: 'standing' });
    setHandler(given, () => [callback]);
    return callback.result;
  },
});

/** Under an id that the next run of the chain does not have. */
export const passingCallback = workflow({
  name: 'passingCallback',
  inputSchema: z.number(),
  fn: async (left, context) => {
    const callback = createCallback();
    let mayGoOn = false;
    setHandler(given, () => [callback]);
    setHandler(defineSignal('goOn'), () => {
      mayGoOn = true;
    });
    await condition(() => mayGoOn || left === 0);
    return left > 0 ? context.control.continueAsNew(left - 1) : callback.result;
  },
});

export const parallelWebhooks = workflow({
  name: 'parallelWebhooks',
  fn: async (url) =>
    Promise.all(
      ['a', 'b', 'c'].map((payload) => sendPostRequestAndAwaitWebhook({ url: url as string, payload })),
    ),
});
