import { step } from 'perdure';
import { place, record } from '../../../workflows/shared/ledger.js';

export const newWay = step({
  name: 'newWay',
  inputSchema: place,
  fn: async (input) => {
    await record(input, 'ran', 'new');
    return 'new';
  },
});
