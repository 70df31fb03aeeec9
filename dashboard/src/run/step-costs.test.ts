import { expect, it } from 'vitest';
import { costsOfSteps } from './step-costs.js';

it('has the amounts of all currencies of a step', () => {
  const usd = { amount: '5', currency: 'USD' };
  const costs = costsOfSteps([
    { activityId: '1', totals: [{ amount: '10', currency: 'EUR' }, usd] },
    { activityId: '3', totals: [usd] },
  ]);
  expect([...costs]).toEqual([
    ['1', '10 EUR, 5 USD'],
    ['3', '5 USD'],
  ]);
});
