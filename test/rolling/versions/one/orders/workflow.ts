import { sleep, workflow } from 'perdure';
import { alpha, charge, ship } from './steps.js';

export const order = workflow({
  name: 'order',
  fn: async (input: { id: string }) => {
    const ways = [await charge(input)];
    await sleep(300);
    return [...ways, await ship(input)];
  },
});

/** Each version does something else here without saying so: its runs fit no code but that which began them. */
export const careless = workflow({
  name: 'careless',
  fn: async (input: { id: string }) => {
    const way = await alpha(input);
    await sleep(300);
    return way;
  },
});
