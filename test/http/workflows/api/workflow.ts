/** Workflows for the tests of the HTTP API: one per thing that the API has to show. */
import {
  CancellationScope,
  condition,
  createCallback,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  sleep,
  workflow,
  z,
} from 'perdure';
import { decline, first, second, spend, stuck, third } from './steps.js';

export const echo = workflow({ name: 'echo', fn: async (input: unknown) => input });

export const spends = workflow({
  name: 'spends',
  inputSchema: z.array(z.string()),
  fn: async (amounts) => {
    for (const amount of amounts) await spend(amount);
    return amounts.length;
  },
});

export const nothing = workflow({ name: 'nothing', fn: async () => undefined });

/** Its parser takes more than what the schema of it tells. */
export const lenient = workflow({
  name: 'lenient',
  inputSchema: z.object({
    id: z.string(),
    count: z.coerce.number().default(1),
    note: z.string().trim().max(3).optional(),
    size: z.preprocess((value) => value ?? 'M', z.enum(['S', 'M'])),
  }),
  queries: { count: { inputSchema: z.number().optional() } },
  fn: async (input) => {
    setHandler(defineQuery<number, [number?]>('count'), (more = 0) => input.count + more);
    return input;
  },
});

export const greets = workflow({
  name: 'greets',
  description: 'Greets a person',
  aliases: ['hello'],
  inputSchema: z.object({ name: z.string().min(1), tags: z.array(z.string()).default([]) }),
  outputSchema: z.string(),
  fn: async ({ name }) => `Hello, ${name}`,
});

export const declined = workflow({ name: 'declined', fn: async () => decline() });

export const expires = workflow({
  name: 'expires',
  options: { executionTimeout: '30ms' },
  fn: async () => sleep('1 hour'),
});

export const countsDown = workflow({
  name: 'countsDown',
  inputSchema: z.number().int().min(0),
  fn: async (from, context) => (from === 0 ? 'done' : context.control.continueAsNew(from - 1)),
});

/** Collects what it is sent until it is told to finish, and answers about it. Declares nothing. */
export const collects = workflow({
  name: 'collects',
  fn: async () => {
    const seen: unknown[] = [];
    let done = false;
    setHandler(defineSignal<unknown[]>('add'), (...args) => {
      seen.push(args);
    });
    setHandler(defineSignal('finish'), () => {
      done = true;
    });
    setHandler(defineQuery<unknown[]>('seen'), () => seen);
    setHandler(defineQuery<unknown[], unknown[]>('args'), (...args) => args);
    setHandler(defineQuery<undefined>('nothing'), () => undefined);
    setHandler(defineQuery<never>('broken'), () => {
      throw new RangeError('no answer to that');
    });
    setHandler(
      defineUpdate<number, [number]>('put'),
      (value) => {
        if (value === 13) throw new RangeError('thirteen brings bad luck');
        seen.push(value);
        return seen.length;
      },
      {
        validator: (value) => {
          if (typeof value !== 'number') throw new TypeError('only numbers can be put');
        },
      },
    );
    setHandler(defineUpdate<void>('nothing'), () => {});
    setHandler(defineUpdate<unknown[], unknown[]>('args'), (...args) => args);
    setHandler(defineUpdate<void>('hang'), () => condition(() => done));
    await condition(() => done);
    return seen;
  },
});

/** Declares all its handlers, with schemas. */
export const declares = workflow({
  name: 'declares',
  signals: {
    poke: { description: 'Wakes it up', inputSchema: z.object({ how: z.string() }) },
    finish: {},
  },
  queries: { mood: { inputSchema: z.enum(['short', 'long']), outputSchema: z.string() } },
  updates: { rename: { inputSchema: z.string().min(2), outputSchema: z.string() } },
  fn: async () => {
    const pokes: string[] = [];
    let done = false;
    setHandler(defineSignal<[{ how: string }]>('poke'), ({ how }) => {
      pokes.push(how);
    });
    setHandler(defineSignal('finish'), () => {
      done = true;
    });
    setHandler(defineQuery<string, [string]>('mood'), (form) => (form === 'short' ? 'ok' : 'very well'));
    setHandler(defineUpdate<string, [string]>('rename'), (name) => `now ${name}`);
    await condition(() => done);
    return pokes;
  },
});

export const awaitsFeedback = workflow({
  name: 'awaitsFeedback',
  fn: async () => {
    let given: { args: unknown[] } | undefined;
    setHandler(defineSignal<unknown[]>('resume'), (...args) => {
      given = { args };
    });
    await condition(() => given !== undefined);
    return given?.args;
  },
});

/** first, second, third: each value tells whether its step ran again. */
export const threeSteps = workflow({
  name: 'threeSteps',
  fn: async (ending) => {
    const added: unknown[] = [];
    let done = ending !== 'wait';
    setHandler(defineSignal<[unknown]>('add'), (value) => {
      added.push(value);
    });
    setHandler(defineSignal('finish'), () => {
      done = true;
    });
    setHandler(defineQuery<number>('added'), () => added.length);
    const values = [await first(), await second(), await third()];
    await condition(() => done);
    return { values, added };
  },
});

export const repeats = workflow({
  name: 'repeats',
  fn: async () => [await first(), await first(), await first()],
});

/** Hangs in a step that has not completed, after one that has. */
export const hangs = workflow({
  name: 'hangs',
  fn: async () => {
    await first();
    await stuck();
  },
});

/** Cleans up when it is stopped, and takes its time for it. */
export const cleansUp = workflow({
  name: 'cleansUp',
  fn: async () => {
    let mayEnd = false;
    setHandler(defineSignal('mayEnd'), () => {
      mayEnd = true;
    });
    try {
      await sleep('1 hour');
    } finally {
      await CancellationScope.nonCancellable(async () => {
        await first();
        await condition(() => mayEnd);
      });
    }
  },
});

export const child = workflow({ name: 'child', fn: async (input: unknown) => input });

/** Has events of many kinds in its history. */
export const eventful = workflow({
  name: 'eventful',
  fn: async (input) => {
    await Promise.all([first(), second()]);
    await sleep(1);
    const fromChild = await child(input);
    try {
      await decline();
    } catch {
      // What failed stands in the history.
    }
    return fromChild;
  },
});

/** Gives out two addresses, and returns what was posted there, once it may. */
export const callsBack = workflow({
  name: 'callsBack',
  fn: async (how) => {
    const plain = createCallback();
    const checked = createCallback({
      schema: z.object({ ok: z.boolean(), by: z.string().default('somebody') }),
    });
    let done = false;
    setHandler(defineSignal('finish'), () => {
      done = true;
    });
    setHandler(defineQuery<unknown>('given'), () => [plain, checked].map(({ id, url }) => ({ id, url })));
    if (how === 'steps') await first();
    const answers = [{ got: await plain.result }, { got: await checked.result }];
    await condition(() => done);
    return answers;
  },
});

/** Goes on as another run a few times, and then waits at the address that the first one would have had. */
export const callsBackLater = workflow({
  name: 'callsBackLater',
  inputSchema: z.number(),
  fn: async (left, context) => {
    const { url, result } = createCallback({ id: 'approval' });
    if (left > 0) {
      await first();
      return context.control.continueAsNew(left - 1);
    }
    setHandler(defineQuery<string>('url'), () => url);
    return { url, got: await result };
  },
});

const Note = z.object({
  text: z.string().trim().default(''),
  times: z
    .number()
    .refine((times) => times !== 13, 'brings bad luck')
    .default(1),
});

/** Declares payloads of which its schemas make something else. */
export const parses = workflow({
  name: 'parses',
  signals: { note: { inputSchema: Note }, finish: {} },
  queries: { times: { inputSchema: Note } },
  updates: { put: { inputSchema: Note } },
  fn: async () => {
    const notes: unknown[] = [];
    let done = false;
    setHandler(defineSignal<[unknown]>('note'), (note) => {
      notes.push(note);
    });
    setHandler(defineSignal('finish'), () => {
      done = true;
    });
    setHandler(defineQuery<number, [{ times: number }]>('times'), ({ times }) => times);
    setHandler(defineUpdate<unknown, [unknown]>('put'), (note) => {
      notes.push(note);
      return note;
    });
    await condition(() => done);
    return notes;
  },
});
