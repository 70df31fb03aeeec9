import { patched, sleep, workflow } from 'perdure';
import { audit, charge, gamma, notify, refund as refundOnce, ship } from './steps.js';

export const order = workflow({
  name: 'order',
  fn: async (input: { id: string }) => {
    const ways: string[] = [await charge(input)];
    await sleep(300);
    if (patched('notify')) ways.push(await notify(input));
    ways.push(await ship(input));
    if (patched('audit')) ways.push(await audit(input));
    return ways;
  },
});

export const careless = workflow({
  name: 'careless',
  fn: async (input: { id: string }) => {
    const first = await gamma(input);
    await sleep(200);
    return [first, await gamma(input)];
  },
});

/** No other version has it. */
export const refund = workflow({
  name: 'refund',
  fn: async (input: { id: string }) => {
    await sleep(100);
    return refundOnce(input);
  },
});
