import { condition, workflow, workflowInfo, z } from 'perdure';

export const echo = workflow({ name: 'echo', fn: async (input) => input });

export const waitForever = workflow({
  name: 'waitForever',
  fn: async () => {
    await condition(() => false);
  },
});

export const schemaed = workflow({
  name: 'schemaed',
  description: 'Parses what goes in and what comes out',
  aliases: ['formerlySchemaed'],
  inputSchema: z.object({ name: z.string().trim(), times: z.number().int().default(2) }),
  outputSchema: z.object({ text: z.string().toUpperCase() }),
  signals: { poke: { description: 'Does nothing', inputSchema: z.object({ how: z.string() }) } },
  queries: { mood: { outputSchema: z.string() } },
  updates: { rename: { inputSchema: z.string() } },
  fn: async ({ name, times }) => ({ text: Array(times).fill(name).join(' ') }),
});

export const misfitOutput = workflow({
  name: 'misfitOutput',
  outputSchema: z.object({ text: z.string() }),
  // The cast stands for an author whose types lie.
  fn: async () => ({ text: 42 as unknown as string }),
});

export const returnsValue = workflow({
  name: 'returnsValue',
  fn: async (kind): Promise<unknown> => {
    const circle: Record<string, unknown> = {};
    circle.again = { circle };
    const values: Record<string, unknown> = {
      undefined: undefined,
      bigint: { a: [1, { b: 10n }] },
      nan: { ratio: Number.NaN },
      circular: circle,
      hole: { list: [1, undefined, 3] },
      map: { seen: new Map([['a', 1]]) },
      date: { at: new Date(0) },
    };
    return values[kind as string];
  },
});

class PaymentError extends Error {
  override readonly name = 'PaymentError';
  readonly code = 'E_PAYMENT';
  readonly retryable = false;
}

export const throws = workflow({
  name: 'throws',
  fn: async (kind) => {
    switch (kind) {
      case 'custom':
        throw new PaymentError('not enough', { cause: new RangeError('limit is 5', { cause: 'bank' }) });
      case 'string':
        throw 'a plain text';
      case 'deep': {
        let error = new Error('cause 0');
        for (let depth = 1; depth <= 20; depth++) error = new Error(`cause ${depth}`, { cause: error });
        throw error;
      }
      case 'sync':
        return JSON.parse('{not json');
      default:
        throw new Error('plain');
    }
  },
});

/** Not an async function: it throws before there is a promise. */
export const throwsAtOnce = workflow({
  name: 'throwsAtOnce',
  fn: () => {
    throw new TypeError('before any promise');
  },
});

export const aboutMe = workflow({
  name: 'aboutMe',
  fn: async (_input, context) => ({ fromContext: context.info, fromFunction: workflowInfo() }),
});
