/** A short run of the fuzzer on each engine; `npm run fuzz` is the long one. */
import { describe, expect, it } from 'vitest';
import { share } from '../../share.js';
import { describeTemporal } from '../../temporal/required.js';
import { type StartHttp, startSystem } from '../system.js';
import { startTemporalSystem } from '../temporal-system.js';
import { ENGINE_LIMITS, fuzz } from './fuzz.js';

const REQUESTS = share(1_000, 2_000);

function fuzzes(start: StartHttp): void {
  it('no made-up request brings the server down, hangs, or gets an answer that is not documented', async () => {
    const system = await start({ engineLimits: ENGINE_LIMITS });
    try {
      const report = await fuzz({ url: system.server.url, requests: REQUESTS, seed: 20_260_101 });
      expect(report.requests).toBeGreaterThanOrEqual(REQUESTS);
      // Requests must get past the door, or they show nothing.
      expect(report.byStatus[200]).toBeGreaterThan(0.15 * REQUESTS);
      expect(report.refused.length).toBeLessThan(12);
    } finally {
      await system.stop();
    }
  }, 180_000);
}

describe('the embedded engine', () => fuzzes(startSystem));
describeTemporal('the Temporal engine', () => fuzzes(startTemporalSystem));
