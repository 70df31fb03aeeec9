/**
 * `npm run soak`: everything that looks for faults by chance, in turns and with ever new seeds, for as long as it is given.
 *
 *   --minutes 60   begins no further round after that; what is under way is finished
 *   --seed 1       of the first round; each round has the next one
 *
 * Prints a table: how often each campaign was run, with which seeds, and the command that repeats a round that was red.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine, countAboveZero, positive } from '../command-line.js';

const { values } = commandLine(import.meta.url, {
  minutes: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
});
const minutes = positive('--minutes', values.minutes);
const firstSeed = countAboveZero('--seed', values.seed);

interface Campaign {
  script: string;
  /** One round takes some minutes, so that all have their turn in an hour. */
  args(seed: number): string[];
}

const CAMPAIGNS: readonly Campaign[] = [
  { script: 'simulate', args: (seed) => ['--programs', '10000', '--seed', `${seed}`] },
  { script: 'crash', args: (seed) => ['--kills', '60', '--power-cuts', '20', '--seed', `${seed}`] },
  { script: 'store-faults', args: (seed) => ['--percent', '5', '--seed', `${seed}`, '--stride', '7'] },
  { script: 'differential', args: (seed) => ['--programs', '500', '--seed', `${seed}`] },
  { script: 'overload', args: () => [] },
  { script: 'hostile', args: () => [] },
];

interface Round {
  script: string;
  command: string;
  seconds: number;
  isGreen: boolean;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const logs = mkdtempSync(join(tmpdir(), 'perdure-soak-'));
const until = performance.now() + minutes * 60_000;
const rounds: Round[] = [];
let seed = firstSeed;
for (let number = 0; performance.now() < until; number++) {
  const campaign = CAMPAIGNS[number % CAMPAIGNS.length]!;
  if (number > 0 && number % CAMPAIGNS.length === 0) seed++;
  rounds.push(await round(campaign, seed));
}
rmSync(logs, { recursive: true });
report();

async function round({ script, args }: Campaign, seed: number): Promise<Round> {
  const given = ['run', script, '--', ...args(seed)];
  const command = `npm ${given.join(' ')}`;
  const begun = performance.now();
  const file = join(logs, `${rounds.length}.log`);
  const log = openSync(file, 'w');
  console.log(command);
  const [code] = (await once(spawn('npm', given, { cwd: root, stdio: ['ignore', log, log] }), 'exit')) as [
    number | null,
  ];
  const seconds = (performance.now() - begun) / 1_000;
  const isGreen = code === 0;
  console.log(`  ${isGreen ? 'green' : 'RED'} after ${seconds.toFixed(0)} s`);
  if (!isGreen) console.log(readFileSync(file, 'utf8'));
  return { script, command, seconds, isGreen };
}

function report(): void {
  console.log('\n| campaign | rounds | red | minutes |\n| --- | --- | --- | --- |');
  for (const { script } of CAMPAIGNS) {
    const own = rounds.filter((each) => each.script === script);
    const red = own.filter((each) => !each.isGreen).length;
    const spent = own.reduce((sum, each) => sum + each.seconds, 0) / 60;
    console.log(`| ${script} | ${own.length} | ${red} | ${spent.toFixed(1)} |`);
  }
  console.log(`\nseeds ${firstSeed} to ${seed}`);
  for (const { command, isGreen } of rounds) if (!isGreen) console.log(`red: ${command}`);
  process.exitCode = rounds.every(({ isGreen }) => isGreen) ? 0 : 1;
}
