/**
 * `npm run differential`: the long run, with a new seed unless one is given.
 *
 *   --programs 5000   how many, of seeds that follow each other
 *   --seed 1          the first seed
 *   --program JSON    one program, as a report gives it, in place of generated ones
 *   --pair a,b        embedded, replayed, temporal; embedded,temporal when left out
 *   --at-once 16      how many at a time
 *   --without-budgets programs that spend without a bound
 */
import { commandLine, count, countAboveZero, WrongUse } from '../command-line.js';
import { campaign, described } from './campaign.js';
import { isSystemName, startPair } from './pairs.js';
import type { Program } from './program.js';
import { tryOut } from './trial.js';

const { values } = commandLine(import.meta.url, {
  programs: { type: 'string', default: '300' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  program: { type: 'string' },
  pair: { type: 'string', default: 'embedded,temporal' },
  'at-once': { type: 'string', default: '16' },
  shrink: { type: 'string', default: '120' },
  'without-budgets': { type: 'boolean', default: false },
});
const [one = '', other = ''] = values.pair.split(',');
if (!isSystemName(one) || !isSystemName(other)) throw new WrongUse(`--pair ${values.pair}: no such systems`);

const pair = await startPair([one, other]);
// Servers and workers are processes of their own: they end with this one.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void pair.stop().finally(() => process.exit(1)));
}
try {
  if (values.program !== undefined) {
    const program = JSON.parse(values.program) as Program;
    const trial = await tryOut(pair, program);
    console.log(described(pair, program, trial));
    process.exitCode = trial.differences.length === 0 ? 0 : 1;
  } else {
    const from = count('--seed', values.seed);
    const programs = countAboveZero('--programs', values.programs);
    console.log(
      `${programs} programs on ${pair.names.join(' and ')}, seeds ${from} to ${from + programs - 1}`,
    );
    const begun = performance.now();
    const { coverage, failed, report } = await campaign(pair, {
      seeds: Array.from({ length: programs }, (_, index) => from + index),
      atOnce: countAboveZero('--at-once', values['at-once']),
      shrinkMs: count('--shrink', values.shrink) * 1_000,
      hasBudgets: !values['without-budgets'],
      log: (line) => console.log(line),
    });
    console.log(String(coverage));
    console.log(`${Math.round((performance.now() - begun) / 1000)} s`);
    if (report) console.log(report);
    console.log(failed.length === 0 ? 'all agree' : `came out differently: seeds ${failed.join(', ')}`);
    process.exitCode = failed.length === 0 ? 0 : 1;
  }
} finally {
  await pair.stop();
}
