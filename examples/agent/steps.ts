import { FatalError, RetryAfterError, step, stepContext, z } from 'perdure';
import { Message, Reply } from './conversation.js';

/** What the vendor takes, in millionths of a dollar: money is counted in whole numbers, never in floats. */
const MICRO_USD_PER_TOKEN = { input: 3, output: 15 };

const MICROS = 1_000_000;
const decimal = (micros: number) =>
  `${Math.floor(micros / MICROS)}.${String(micros % MICROS).padStart(6, '0')}`;

export const think = step({
  name: 'think',
  description: 'Asks the model what to say or do next',
  inputSchema: z.object({ modelUrl: z.string(), conversation: z.array(Message) }),
  outputSchema: Reply,
  // A model is slow and often busy: it gets its time, and many tries.
  options: { startToCloseTimeout: '2 minutes', retry: { initialInterval: '200ms', maximumAttempts: 10 } },
  fn: async ({ modelUrl, conversation }) => {
    const { signal, idempotencyKey, cost } = stepContext();
    const response = await fetch(`${modelUrl}/v1/chat`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify({ model: 'parrot-1', messages: conversation }),
    });
    if (response.status === 429) {
      const seconds = Number(response.headers.get('retry-after') ?? 1);
      throw new RetryAfterError('the model is busy', seconds * 1_000);
    }
    if (response.status >= 500) throw new Error(`the model is broken (${response.status})`);
    if (!response.ok) throw new FatalError(`the model refuses: ${response.status} ${await response.text()}`);
    const { reply, usage } = (await response.json()) as Answer;
    // Said before anything else can go wrong with the answer: it was spent whatever becomes of it.
    const microUsd =
      usage.inputTokens * MICRO_USD_PER_TOKEN.input + usage.outputTokens * MICRO_USD_PER_TOKEN.output;
    cost({ amount: decimal(microUsd), kind: 'llm', label: 'parrot-1', usage: { ...usage } });
    return Reply.parse(reply);
  },
});

interface Answer {
  reply: unknown;
  usage: { inputTokens: number; outputTokens: number };
}

const PRICES: Record<string, number> = { apple: 40, bread: 250, cheese: 610 };

export const lookUpPrice = step({
  name: 'lookUpPrice',
  description: 'A tool: what something costs, in cents',
  inputSchema: z.string(),
  outputSchema: z.string(),
  fn: async (what) => {
    stepContext().cost({ amount: '0.0005', kind: 'http', label: 'price list' });
    const cents = PRICES[what];
    return cents === undefined ? `there is no ${what}` : `${what} costs ${cents} cents`;
  },
});

export const addUp = step({
  name: 'addUp',
  description: 'A tool: the sum of numbers',
  inputSchema: z.string(),
  outputSchema: z.string(),
  fn: async (numbers) => String(numbers.split(/\D+/).reduce((sum, each) => sum + Number(each), 0)),
});
