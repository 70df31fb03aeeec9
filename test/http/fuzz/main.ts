/** `npm run fuzz -- [requests] [seed] [--engine temporal]`: the long run of the fuzzer, with a new seed unless one is given. */
import { commandLine, count, countAboveZero, WrongUse } from '../../command-line.js';
import { startSystem } from '../system.js';
import { ENGINE_LIMITS, fuzz } from './fuzz.js';

const { values, positionals } = commandLine(
  import.meta.url,
  { engine: { type: 'string', default: 'embedded' } },
  { allowPositionals: true },
);
const [requests = '50000', seed = String(Date.now() % 1_000_000_000)] = positionals;
const { engine } = values;
const extent = { requests: countAboveZero('requests', requests), seed: count('seed', seed) };
if (engine !== 'embedded' && engine !== 'temporal') {
  throw new WrongUse(`--engine is embedded or temporal, not ${engine}`);
}
console.log(`sending ${requests} requests, seed ${seed}, ${engine} engine`);
// Temporal's packages are loaded only for those who ask for it.
const start =
  engine === 'temporal' ? (await import('../temporal-system.js')).startTemporalSystem : startSystem;
const system = await start({ engineLimits: ENGINE_LIMITS });
const begun = performance.now();
try {
  const report = await fuzz({ url: system.server.url, ...extent });
  console.log(JSON.stringify(report, null, 2));
  console.log(
    `no 5xx but 503 for catalogs that nobody registered, no hang, every answer documented; ${Math.round((performance.now() - begun) / 1000)} s`,
  );
} finally {
  await system.stop();
}
