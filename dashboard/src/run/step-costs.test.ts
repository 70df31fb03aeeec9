import type { CostRecord } from 'perdure/client';
import { expect, it } from 'vitest';
import { costsOfSteps } from './step-costs.js';

const said = (activityId: string, amount: string, currency = 'USD') =>
  ({ activityId, amount, currency }) as CostRecord;

it('sums up what all attempts of a step have said, to the last digit', () => {
  const costs = costsOfSteps([
    said('1', '0.1'),
    said('2', '1000'),
    said('1', '0.2'),
    said('2', '0.000000001'),
    said('3', '0'),
  ]);
  expect([...costs]).toEqual([
    ['1', '0.3 USD'],
    ['2', '1000.000000001 USD'],
    ['3', '0 USD'],
  ]);
});

it('keeps currencies apart', () => {
  expect(costsOfSteps([said('1', '2'), said('1', '10', 'EUR'), said('1', '3')]).get('1')).toBe(
    '10 EUR, 5 USD',
  );
});
