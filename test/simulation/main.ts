/**
 * `npm run simulate`: generated programs on an engine that is driven by one seed, in virtual time.
 *
 *   --programs 2000   how many
 *   --seed 1          of the whole campaign; the same seed gives the same worlds
 *   --jobs 2          how many processes share the worlds
 *   --first 0         the number of the first world, to go on where another campaign has ended
 *   --world 1.17      one world by the seed that a report gives, in place of many
 *   --plan WORD       one world by its shrunk plan
 *   --trace           prints all that happens in it
 *   --bugs            puts each bug of test/simulation/bugs into a copy of the checkout, and finds it there
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { commandLine, count, countAboveZero } from '../command-line.js';
import { findBugs } from './bugs.js';
import {
  add,
  campaign,
  type Failing,
  noTally,
  PROGRAMS_PER_WORLD,
  reportOf,
  type Tally,
  unpacked,
} from './campaign.js';
import { planOf } from './plan.js';
import { World } from './world.js';

const { values } = commandLine(import.meta.url, {
  programs: { type: 'string', default: '2000' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  jobs: { type: 'string', default: '2' },
  first: { type: 'string', default: '0' },
  world: { type: 'string' },
  plan: { type: 'string' },
  trace: { type: 'boolean', default: false },
  bugs: { type: 'boolean', default: false },
  /** Of a process that another one has started: its share of the worlds. */
  share: { type: 'string' },
});

/** How long a failing world is made smaller. */
const SHRINK_MS = 60_000;
const MAX_FAILING = 3;
const PROGRESS_MS = 10_000;

const first = count('--first', values.first);
const last = first + Math.ceil(countAboveZero('--programs', values.programs) / PROGRAMS_PER_WORLD);
const jobs = countAboveZero('--jobs', values.jobs);

function* worldsOf(share: number): Generator<number> {
  for (let world = first + share; world < last; world += jobs) yield world;
}

if (values.bugs) process.exitCode = await findBugs();
else if (values.share !== undefined) await share(count('--share', values.share));
else if (values.world !== undefined || values.plan !== undefined) await one();
else await all();

async function one(): Promise<void> {
  const plan = values.plan !== undefined ? unpacked(values.plan) : planOf(values.world!, PROGRAMS_PER_WORLD);
  const result = await new World(plan, values.trace ? (line) => console.log(line) : undefined).run();
  console.log(result);
  process.exitCode = result.violation === undefined ? 0 : 1;
}

async function share(number: number): Promise<void> {
  let toldAt = 0;
  const { tally, failing } = await campaign({
    seed: values.seed,
    worlds: worldsOf(number),
    maxFailing: MAX_FAILING,
    onProgress(soFar) {
      if (performance.now() - toldAt < PROGRESS_MS) return;
      toldAt = performance.now();
      process.send?.({ tally: soFar });
    },
  });
  process.send?.({ tally, failing }, () => process.disconnect?.());
}

async function all(): Promise<void> {
  console.log(
    `${values.programs} programs, seed ${values.seed}, worlds ${first} to ${last - 1}, ${jobs} processes`,
  );
  const begun = performance.now();
  const tallies: Tally[] = Array.from({ length: jobs }, noTally);
  const failing: Failing[] = [];
  let toldAt = begun;
  await Promise.all(
    tallies.map(
      (_, number) =>
        new Promise<void>((resolve, reject) => {
          const child = fork(fileURLToPath(import.meta.url), [
            ...process.argv.slice(2),
            '--seed',
            values.seed,
            '--share',
            String(number),
          ]);
          let isDone = false;
          child.on('message', (message: { tally: Tally; failing?: Failing[] }) => {
            tallies[number] = message.tally;
            if (message.failing) {
              failing.push(...message.failing);
              isDone = true;
            }
            if (performance.now() - toldAt < PROGRESS_MS) return;
            toldAt = performance.now();
            const { programs } = tallies.reduce(add);
            console.log(`${programs} programs after ${Math.round((toldAt - begun) / 1000)} s`);
          });
          child.on('exit', (code) =>
            isDone ? resolve() : reject(new Error(`a process ended with ${code}`)),
          );
        }),
    ),
  );
  const tally = tallies.reduce(add);
  const seconds = (performance.now() - begun) / 1000;
  for (const each of failing.slice(0, 1)) console.log(await reportOf(each, SHRINK_MS));
  for (const { seed, violation } of failing.slice(1)) console.log(`seed ${seed}: ${violation}`);
  console.table({ ...tally, hours: Math.round(tally.hours), seconds: Math.round(seconds) });
  console.log(
    failing.length === 0 ? 'no invariant was violated' : `${failing.length} worlds violate an invariant`,
  );
  process.exitCode = failing.length === 0 ? 0 : 1;
}
