/**
 * `npm run crash`: the real server and real workers, ended in every way there is, and what clients were told held against
 * what is there afterwards.
 *
 *   --kills 1000       kill -9 in all, those at named places included
 *   --power-cuts 200   disks as a power cut leaves them
 *   --rounds 1         times that every named place is gone through
 *   --no-rows          without the rows of other faults
 *   --seed 1           the first seed; each folder has one of its own
 */
import { commandLine, count } from '../command-line.js';
import { Campaign } from './campaign.js';

const { values } = commandLine(import.meta.url, {
  kills: { type: 'string', default: '100' },
  'power-cuts': { type: 'string', default: '50' },
  rounds: { type: 'string', default: '1' },
  'no-rows': { type: 'boolean', default: false },
  seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const begun = performance.now();
const log = (line: string) =>
  console.log(`${((performance.now() - begun) / 1_000).toFixed(0).padStart(5)} s  ${line}`);
const campaign = new Campaign({
  kills: count('--kills', values.kills),
  powerCuts: count('--power-cuts', values['power-cuts']),
  rounds: count('--rounds', values.rounds),
  rows: !values['no-rows'],
  seed: count('--seed', values.seed),
  log,
});
log(`seed ${values.seed}`);
await campaign.run();
const { kills, powerCuts, acknowledged, unclear, lost, twice, broken } = campaign.summary;
console.log(`
kill -9                      ${kills}
power cuts                   ${powerCuts}
operations acknowledged      ${acknowledged}
operations unclear           ${unclear}
acknowledged and lost        ${lost.length}
applied twice                ${twice.length}
otherwise wrong              ${broken.length}`);
process.exitCode = lost.length + twice.length + broken.length === 0 ? 0 : 1;
