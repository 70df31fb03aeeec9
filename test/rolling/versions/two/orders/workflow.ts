import { patched, sleep, workflow } from 'perdure';
import { beta, charge, notify, ship } from './steps.js';

export const order = workflow({
  name: 'order',
  fn: async (input: { id: string }) => {
    const ways: string[] = [await charge(input)];
    await sleep(300);
    if (patched('notify')) ways.push(await notify(input));
    return [...ways, await ship(input)];
  },
});

export const careless = workflow({
  name: 'careless',
  fn: async (input: { id: string }) => {
    await sleep(200);
    return beta(input);
  },
});
