import { expect, it } from 'vitest';
import { Hearsay, STUCK_MS } from './hearsay.js';

it('is healthy while nobody has asked, and as long as answers come', () => {
  const hearsay = new Hearsay();
  expect(hearsay.whyNotHealthy(1_000_000)).toBeUndefined();
  hearsay.mustAsk(0);
  hearsay.isAlive();
  hearsay.mustAsk(STUCK_MS);
  expect(hearsay.whyNotHealthy(2 * STUCK_MS - 1)).toBeUndefined();
});

it('is not once a question has stood for ten seconds, however often it was asked again', () => {
  const hearsay = new Hearsay();
  hearsay.readiness(undefined, 0);
  expect(hearsay.mustAsk(500)).toBe(true);
  expect(hearsay.mustAsk(9_000)).toBe(false);
  expect(hearsay.whyNotHealthy(500 + STUCK_MS - 1)).toBeUndefined();
  expect(hearsay.whyNotHealthy(500 + STUCK_MS)).toBe('the server has not turned to anything else for 10 s');
  expect(hearsay.whyNotReady(500 + STUCK_MS)).toBe('the server has not turned to anything else for 10 s');
  hearsay.isAlive();
  expect(hearsay.whyNotHealthy(500 + STUCK_MS)).toBeUndefined();
  expect(hearsay.mustAsk(500 + STUCK_MS)).toBe(true);
});

it('repeats the last word on whether it is ready, and is not before the first', () => {
  const hearsay = new Hearsay();
  expect(hearsay.whyNotReady(0)).toBe('the server is starting');
  hearsay.readiness('storage-full', 0);
  expect(hearsay.whyNotReady(0)).toBe('storage-full');
  hearsay.readiness(undefined, 0);
  expect(hearsay.whyNotReady(0)).toBeUndefined();
});

it('has less patience for a new word the younger the last one is', () => {
  const hearsay = new Hearsay();
  expect(hearsay.patienceMs(0)).toBe(STUCK_MS);
  hearsay.readiness(undefined, 1_000);
  expect(hearsay.patienceMs(10_999)).toBe(50);
  expect(hearsay.patienceMs(11_000)).toBe(2_500);
  hearsay.readiness('storage-full', 11_000);
  expect(hearsay.patienceMs(11_000)).toBe(50);
});
