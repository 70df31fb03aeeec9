/** `npm run hostile -- [part of a name]`: what healthy runs notice of each hostile program, as a table. */
import { commandLine, WrongUse } from '../command-line.js';
import { asTable, type Measurement, measure } from './measure.js';
import { HOSTILE_PROGRAMS } from './programs.js';

/** More than this, compared with the same service left alone, nobody is to wait. */
const ALLOWED_MS = 2_000;

const { positionals } = commandLine(import.meta.url, {}, { allowPositionals: true });
const [part = ''] = positionals;
if (!HOSTILE_PROGRAMS.some(({ name }) => name.includes(part)))
  throw new WrongUse(`there is no program named ${part}`);
const measurements: Measurement[] = [];
for (const workers of [1, 2]) {
  for (const program of HOSTILE_PROGRAMS) {
    if (!program.name.includes(part)) continue;
    const measurement = await measure(program, { workers, calmMs: 3_000, hostileMs: 10_000 });
    measurements.push(measurement);
    console.log(asTable([measurement], ALLOWED_MS).split('\n').at(-1));
    for (const failure of measurement.failures.slice(0, 3)) console.log(`    ${failure}`);
  }
}
console.log(`\n${asTable(measurements, ALLOWED_MS)}`);
const isFine = ({ calmMs, hostileMs, failures }: Measurement) =>
  hostileMs - calmMs <= ALLOWED_MS && failures.length === 0;
process.exitCode = measurements.every(isFine) ? 0 : 1;
