/** A short run of the fuzzer; `npm run fuzz` is the long one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HttpSystem, startSystem } from '../system.js';
import { fuzz } from './fuzz.js';

let system: HttpSystem;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system.stop());

it('no made-up request brings the server down, hangs, or gets an answer that is not documented', async () => {
  const report = await fuzz({ url: system.server.url, requests: 2_000, seed: 20_260_101 });
  expect(report.requests).toBeGreaterThanOrEqual(2_000);
  // Requests must get past the door, or they show nothing.
  expect(report.byStatus[200]).toBeGreaterThan(300);
  expect(report.refused.length).toBeLessThan(12);
}, 120_000);
