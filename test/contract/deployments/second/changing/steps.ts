import { step } from 'perdure';
import { place, record } from '../../../workflows/shared/ledger.js';

export const oldWay = step({
  name: 'oldWay',
  inputSchema: place,
  fn: async (input) => {
    await record(input, 'ran', 'old');
    return 'old';
  },
});

export const newWay = step({
  name: 'newWay',
  inputSchema: place,
  fn: async (input) => {
    await record(input, 'ran', 'new');
    return 'new';
  },
});

export const repaired = step({
  name: 'repaired',
  inputSchema: place,
  options: { retry: { initialInterval: '50ms', backoffCoefficient: 1, maximumAttempts: 0 } },
  fn: async (input) => {
    await record(input, 'ran', 'repaired');
    return 'repaired';
  },
});
