import { appendFileSync } from 'node:fs';
import { step, stepContext, z } from 'perdure';

/**
 * The side effect that must not happen again once it is recorded as done: a line in a file that the engine knows nothing
 * of (../../effects.ts reads it). One write to a file opened for appending, so that a kill leaves all of it or nothing.
 */
export const act = step({
  name: 'act',
  inputSchema: z.object({ effects: z.string(), value: z.unknown(), forMs: z.number().optional() }),
  options: { retry: { initialInterval: '20ms', maximumAttempts: 50 } },
  fn: async ({ effects, value, forMs }) => {
    const { idempotencyKey, attempt } = stepContext();
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, attempt, at: Date.now() })}\n`);
    spend();
    if (forMs !== undefined) await new Promise((resolve) => setTimeout(resolve, forMs));
    return value;
  },
});

/** What the attempt has spent, under a name of its own (../../costs.ts looks for it). */
function spend(): void {
  const { cost, idempotencyKey, attempt } = stepContext();
  cost({ amount: '0.01', kind: 'crash', label: `${idempotencyKey}#${attempt}` });
}

/** Fails on its first attempts, so that a backoff is waited for. */
export const stumble = step({
  name: 'stumble',
  inputSchema: z.object({ effects: z.string(), value: z.unknown() }),
  options: { retry: { initialInterval: '30ms', maximumAttempts: 50 } },
  fn: async ({ effects, value }) => {
    const { idempotencyKey, attempt } = stepContext();
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, attempt, at: Date.now() })}\n`);
    spend();
    if (attempt === 1) throw new Error('not at the first attempt');
    return value;
  },
});
