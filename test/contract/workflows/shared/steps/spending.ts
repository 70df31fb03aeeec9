import { step, stepContext } from 'perdure';
import { hang, passGate, place, record } from '../ledger.js';
import { spending } from '../spending.js';

export const spend = step({
  name: 'spend',
  inputSchema: spending,
  options: { startToCloseTimeout: '10 minutes', retry: { initialInterval: '10ms', maximumAttempts: 4 } },
  fn: async (input): Promise<unknown> => {
    const { attempt, cost, heartbeat, lastHeartbeat } = stepContext();
    const { amount, currency, fails = 0, hangs = 0, gate, beats } = input;
    await record(input, 'spent', amount);
    cost({ amount, currency, kind: 'llm', label: 'model', usage: { calls: 1 } });
    if (beats !== undefined) heartbeat(beats);
    if (attempt <= fails) throw new Error(`attempt ${attempt} fails`);
    if (attempt <= hangs) await hang();
    if (gate !== undefined) await passGate(input, gate);
    return lastHeartbeat ?? attempt;
  },
});

export const misspend = step({
  name: 'misspend',
  inputSchema: place,
  options: { retry: { initialInterval: '10ms', maximumAttempts: 1 } },
  fn: async (): Promise<string[]> => {
    const { cost } = stepContext();
    const refused: string[] = [];
    for (const wrong of [
      { amount: -1 },
      { amount: '0.0000000001' },
      { amount: Number.NaN },
      { amount: 1, currency: 'usd' },
      { amount: 1, usage: { calls: -1 } },
    ]) {
      try {
        cost(wrong);
      } catch (error) {
        refused.push((error as Error).name);
      }
    }
    cost({ amount: '0.5' });
    return refused;
  },
});
