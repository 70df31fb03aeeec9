/** `npm run fuzz [requests] [seed]`: the long run of the fuzzer, with a new seed unless one is given. */
import { startSystem } from '../system.js';
import { fuzz } from './fuzz.js';

const [requests = '50000', seed = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);
console.log(`sending ${requests} requests, seed ${seed}`);
const system = await startSystem();
const begun = performance.now();
try {
  const report = await fuzz({ url: system.server.url, requests: Number(requests), seed: Number(seed) });
  console.log(JSON.stringify(report, null, 2));
  console.log(
    `no 5xx but 503 for catalogs that nobody registered, no hang, every answer documented; ${Math.round((performance.now() - begun) / 1000)} s`,
  );
} finally {
  await system.stop();
}
