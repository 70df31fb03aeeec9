import { step, stepContext, z } from 'perdure';

/** Returns values that JSON does not carry, or carries in another form. */
export const strangeValue = step({
  name: 'strangeValue',
  inputSchema: z.object({ kind: z.string() }),
  fn: async ({ kind }): Promise<unknown> => {
    const circle: Record<string, unknown> = {};
    circle.again = { circle };
    const values: Record<string, unknown> = {
      bigint: { a: [1, { b: 10n }] },
      nan: { ratio: Number.NaN },
      infinity: [1, Number.POSITIVE_INFINITY],
      circular: circle,
      hole: { list: [1, undefined, 3] },
      map: { seen: new Map([['a', 1]]) },
      function: { callback: () => 1 },
      invalidDate: { at: new Date(Number.NaN) },
      undefined: undefined,
      null: null,
      date: { at: new Date(0) },
      property: { kept: 1, left: undefined },
      falsy: [0, false, ''],
      unicode: 'naïve \u2028 \ud83d\ude00 "quoted" \\ \u0000',
    };
    return values[kind];
  },
});

export const whoAmI = step({
  name: 'whoAmI',
  fn: async () => {
    const { attempt, workflowId, runId, stepName, idempotencyKey, lastHeartbeat } = stepContext();
    return { attempt, workflowId, runId, stepName, idempotencyKey, lastHeartbeat: lastHeartbeat ?? null };
  },
});

/** Schemas parse on both sides of a step. */
export const parsed = step({
  name: 'parsed',
  description: 'Doubles a number that may be given as text',
  inputSchema: z.object({ count: z.coerce.number(), unit: z.string().default('pieces') }),
  outputSchema: z.object({ total: z.number(), unit: z.string().toUpperCase() }),
  fn: async (input) => ({ total: input.count * 2, unit: input.unit, dropped: true }),
});

export const misfit = step({
  name: 'misfit',
  inputSchema: z.object({ count: z.number() }),
  outputSchema: z.object({ total: z.number() }),
  // The cast stands for an author whose types lie.
  fn: async () => ({ total: 'many' as unknown as number }),
});

export const makeLarge = step({
  name: 'makeLarge',
  inputSchema: z.object({ bytes: z.number() }),
  options: { retry: { maximumAttempts: 1 } },
  fn: async ({ bytes }) => 'x'.repeat(bytes),
});
