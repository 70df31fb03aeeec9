/** `npm run rolling -- --seconds 60 --seed 1`: a deployment that rolls over three versions under load, as a table. */
import { commandLine, count, positive } from '../command-line.js';
import { roll } from './campaign.js';

const { values } = commandLine(import.meta.url, {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
});
const { problems, events, ...counts } = await roll({
  seed: count('--seed', values.seed),
  ms: positive('--seconds', values.seconds) * 1_000,
});
console.table({ ...counts, ...events });
for (const problem of problems) console.error(problem);
console.log(
  problems.length === 0 ? 'no run failed, and none was held back for nothing' : `${problems.length} problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
