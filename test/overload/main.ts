/** `npm run overload -- [part of a name]`: what the server does under more load than it can take, as a table. */
import { commandLine, WrongUse } from '../command-line.js';
import {
  abandonedRuns,
  bursts,
  deadPeers,
  followers,
  largeBodies,
  streams,
  synchronousRuns,
} from './scenarios.js';
import { type Measurement, mega, RSS_BUDGET_BYTES, Stage } from './stage.js';
import type { HealthFigures } from './usage.js';

/** On a machine with nothing else to do: each answer at the port of probes, and 99 of 100 on a connection that is kept. */
const HEALTH_MS = 100;

const SCENARIOS = [
  synchronousRuns(10_000),
  synchronousRuns(12_000),
  abandonedRuns(3_000),
  streams(2_000, 100),
  followers({ polls: 1_000, pages: 100, costs: 40 }),
  bursts({ starts: 10_000, signals: 12_000, updates: 500, queries: 3_000, lists: 1_000 }),
  largeBodies(400),
  deadPeers(4_000),
];

const HEAD = [
  'scenario',
  's',
  'answers',
  'health p99/max in ms: port of probes',
  'connection that is kept',
  'new connections',
  'most MB',
  'after MB',
  'WAL MB',
  'fine',
];

function cells(measured: Measurement): string[] {
  const { scenario, seconds, statuses, health, mostRssBytes, after } = measured;
  const times = ({ p99Ms, longestMs }: HealthFigures) => `${Math.round(p99Ms)}/${Math.round(longestMs)}`;
  const answers = Object.entries(statuses).map(([status, count]) => `${count}×${status}`);
  return [
    scenario,
    seconds.toFixed(1),
    answers.join(' '),
    times(health.apart),
    times(health.kept),
    times(health.fresh),
    `${mega(mostRssBytes)}`,
    `${mega(after.rssBytes)}`,
    `${mega(after.walBytes)}`,
    problemsOf(measured).length === 0 ? 'yes' : 'NO',
  ];
}

function problemsOf({ problems, health: { apart, kept } }: Measurement): string[] {
  const slow: string[] = [];
  if (apart.longestMs > HEALTH_MS)
    slow.push(`the health took ${Math.round(apart.longestMs)} ms at the port of probes`);
  if (kept.p99Ms > HEALTH_MS) slow.push(`the health took ${Math.round(kept.p99Ms)} ms (p99)`);
  return [...problems, ...slow];
}

const line = (all: string[]) => `| ${all.join(' | ')} |`;

const { positionals } = commandLine(import.meta.url, {}, { allowPositionals: true });
const [part = ''] = positionals;
if (!SCENARIOS.some(({ name }) => name.includes(part)))
  throw new WrongUse(`there is no scenario named ${part}`);
const stage = await Stage.open();
let isFine = true;
console.log(
  `memory budget: ${mega(RSS_BUDGET_BYTES)} MB; at rest: ${mega((await stage.measure({ name: 'rest', load: async () => [] })).mostRssBytes)} MB\n`,
);
console.log(`${line(HEAD)}\n${line(HEAD.map(() => '---'))}`);
try {
  for (const scenario of SCENARIOS) {
    if (!scenario.name.includes(part)) continue;
    const measured = await stage.measure(scenario);
    console.log(line(cells(measured)));
    for (const problem of problemsOf(measured)) console.log(`    ${problem}`);
    isFine &&= problemsOf(measured).length === 0;
  }
} finally {
  await stage.close();
}
process.exitCode = isFine ? 0 : 1;
