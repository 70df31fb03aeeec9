/** Many worlds, one after the other, each from a seed of its own; those in which a rule is violated are shrunk. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Plan, planOf } from './plan.js';
import { ruleOf, shrink, sizeOf } from './shrink.js';
import { World, type WorldResult } from './world.js';

/** Programs that share a world: enough to meet each other, few enough to understand. */
export const PROGRAMS_PER_WORLD = 20;

export interface Tally {
  worlds: number;
  programs: number;
  runs: number;
  commits: number;
  events: number;
  kills: number;
  answered: number;
  costs: number;
  budgetPauses: number;
  timeouts: number;
  misfits: number;
  /** Hours of virtual time. */
  hours: number;
}

export const noTally = (): Tally => ({
  ...{ worlds: 0, programs: 0, runs: 0, commits: 0, events: 0, kills: 0, answered: 0 },
  ...{ costs: 0, budgetPauses: 0, timeouts: 0, misfits: 0, hours: 0 },
});

export interface Failing {
  seed: string;
  violation: string;
}

export interface CampaignOptions {
  seed: string;
  /** The worlds to go through, by their numbers. */
  worlds: Iterable<number>;
  /** More say nothing new. */
  maxFailing: number;
  onProgress?(tally: Tally): void;
}

export const worldSeed = (seed: string, world: number): string => `${seed}.${world}`;

export async function campaign(options: CampaignOptions): Promise<{ tally: Tally; failing: Failing[] }> {
  const tally = noTally();
  const failing: Failing[] = [];
  for (const world of options.worlds) {
    const seed = worldSeed(options.seed, world);
    const result = await new World(planOf(seed, PROGRAMS_PER_WORLD)).run();
    count(tally, result);
    options.onProgress?.(tally);
    if (result.violation === undefined) continue;
    failing.push({ seed, violation: result.violation });
    if (failing.length >= options.maxFailing) break;
  }
  return { tally, failing };
}

function count(tally: Tally, result: WorldResult): void {
  tally.worlds++;
  tally.programs += PROGRAMS_PER_WORLD;
  tally.runs += result.runs;
  tally.commits += result.commits;
  tally.events += result.events;
  tally.kills += result.kills;
  tally.answered += result.answered;
  tally.costs += result.costs;
  tally.budgetPauses += result.budgetPauses;
  tally.timeouts += result.timeouts;
  tally.misfits += result.misfits;
  tally.hours += result.virtualMs / 3_600_000;
}

export const add = (one: Tally, other: Tally): Tally =>
  Object.fromEntries(
    Object.entries(one).map(([name, value]) => [name, value + other[name as keyof Tally]]),
  ) as unknown as Tally;

/** What went wrong, as small as it gets, and how to see it again. */
export async function reportOf({ seed, violation }: Failing, shrinkMs: number): Promise<string> {
  const failure = { plan: planOf(seed, PROGRAMS_PER_WORLD), violation };
  const shrunk = await shrink(failure, shrinkMs, async (plan) => (await new World(plan).run()).violation);
  const { starts, calls, faults } = shrunk.plan;
  return [
    `The world of seed ${seed} violates ${ruleOf(violation)}: ${violation}`,
    `Again: npm run simulate -- --world ${seed} --trace`,
    `Shrunk to size ${sizeOf(shrunk.plan)}: ${shrunk.violation}`,
    ...starts.map((start, index) => `  program ${index} ${JSON.stringify(start)}`),
    ...calls.map((call) => `  ${JSON.stringify(call)}`),
    ...faults.map((fault) => `  ${JSON.stringify(fault)}`),
    `Again: npm run simulate -- --trace --plan ${packed(shrunk.plan)}`,
  ].join('\n');
}

/** A plan as one word for a command line. */
export const packed = (plan: Plan): string => gzipSync(JSON.stringify(plan)).toString('base64url');
export const unpacked = (word: string): Plan =>
  JSON.parse(gunzipSync(Buffer.from(word, 'base64url')).toString()) as Plan;
