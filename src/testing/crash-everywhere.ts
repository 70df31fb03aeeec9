/**
 * Runs a program of workflows again and again, each time with something going wrong at another point, and holds every
 * outcome against that of the run in which nothing did.
 */
import { clearTimeout, setTimeout } from 'node:timers';
import { inspect, isDeepStrictEqual } from 'node:util';
import { UsageError } from '../sdk/errors.js';
import { Environment } from './environment.js';
import { CrashDifferenceError } from './errors.js';
import { type FaultPoint, nameOfPlan, PlannedFaults, planNamed } from './faults.js';
import { Random } from './random.js';
import type { CrashOptions, CrashReport, TestEnvironment } from './types.js';

/** Trials in which several things go wrong. */
const COMBINATIONS = 12;
/** In real time: a trial that takes longer waits for something that will not come. */
const TRIAL_MS = 30_000;

type Outcome<T> = { value: T } | { error: unknown };

/**
 * Runs `program` once undisturbed, and then with a crash after every commit, with the worker lost at every step, with every
 * answer delivered late or twice, and with some of these together. Each time it gets a fresh environment with the
 * workflows and mocks of `env`, and must return the same, or throw nothing if it threw nothing.
 * @throws CrashDifferenceError for the first difference; what the program throws undisturbed
 */
export async function crashEverywhere<T>(
  env: TestEnvironment,
  program: (env: TestEnvironment) => Promise<T> | T,
  options: CrashOptions = {},
): Promise<CrashReport> {
  if (typeof program !== 'function') {
    throw new UsageError('crashEverywhere() needs a program: crashEverywhere(env, async (env) => { … })');
  }
  if (!(env instanceof Environment)) {
    throw new UsageError('crashEverywhere() needs what createTestEnvironment() gave as its first argument');
  }
  const { seed = 1, point } = options;
  if (!Number.isSafeInteger(seed)) throw new UsageError(`seed ${String(seed)} is not a whole number`);
  const trials = new Trials(env, program, seed);
  const undisturbed = new PlannedFaults([]);
  const expected = await trials.run(undisturbed);
  if ('error' in expected) throw expected.error;
  const { commit: commits, step: steps } = undisturbed.counted;
  const plans = point === undefined ? plansFor(undisturbed.counted, seed) : [planOf(point)];
  for (const plan of plans) {
    const faults = new PlannedFaults(plan);
    compare(expected.value, await trials.run(faults), { seed, plan, met: faults.met });
    // Of those that are made up here some are beyond the end of a trial in which another one has cut something short.
    if (point !== undefined && faults.unmet.length > 0) {
      throw new UsageError(
        `nothing went wrong at ${nameOfPlan(faults.unmet)}: the program has ${commits} commits, ${steps} answers of steps and ${undisturbed.counted.turn} of turns`,
      );
    }
  }
  return { trials: plans.length + 1, commits, steps };
}

class Trials<T> {
  constructor(
    private readonly like: Environment,
    private readonly program: (env: TestEnvironment) => Promise<T> | T,
    private readonly seed: number,
  ) {}

  async run(faults: PlannedFaults): Promise<Outcome<T>> {
    const env = await Environment.open({ ...this.like.likeThis, seed: this.seed, faults });
    try {
      return { value: await within(TRIAL_MS, async () => this.program(env)) };
    } catch (error) {
      return { error };
    } finally {
      await env.close();
    }
  }
}

async function within<T>(ms: number, action: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const impatience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the program has not ended within ${ms / 1_000} s`)), ms);
  });
  try {
    return await Promise.race([action(), impatience]);
  } finally {
    clearTimeout(timer);
  }
}

function plansFor(counted: PlannedFaults['counted'], seed: number): FaultPoint[][] {
  const each = (fault: FaultPoint['fault'], of: FaultPoint['of']): FaultPoint[] =>
    Array.from({ length: counted[of] }, (_, i) => ({ fault, of, at: i + 1 }));
  const points = [
    ...each('crash', 'commit'),
    ...each('lost', 'step'),
    ...each('late', 'step'),
    ...each('twice', 'step'),
    ...each('twice', 'turn'),
  ];
  const random = new Random(`${seed}/faults`);
  const combinations = Array.from({ length: points.length > 1 ? COMBINATIONS : 0 }, () =>
    Array.from({ length: random.int(2, 3) }, () => random.pick(points)),
  );
  return [...points.map((point) => [point]), ...combinations];
}

function planOf(name: string): FaultPoint[] {
  const plan = planNamed(name);
  if (plan) return plan;
  throw new UsageError(
    `${JSON.stringify(name)} is no point at which something goes wrong: use one as a difference has named it, such as "crash after commit 3"`,
  );
}

function compare<T>(
  expected: T,
  outcome: Outcome<T>,
  { seed, plan, met }: { seed: number; plan: readonly FaultPoint[]; met: readonly string[] },
): void {
  const where = met.length === 0 ? '' : ` after ${met.join(' and ')}`;
  const point = nameOfPlan(plan);
  if ('error' in outcome) {
    const { error: cause } = outcome;
    const said = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    throw new CrashDifferenceError(
      seed,
      point,
      `the program failed where something went wrong${where}, and not undisturbed: ${said}`,
      { cause },
    );
  }
  if (isDeepStrictEqual(outcome.value, expected)) return;
  throw new CrashDifferenceError(
    seed,
    point,
    `the program returned ${shown(outcome.value)} where something went wrong${where}, and ${shown(expected)} undisturbed`,
  );
}

const shown = (value: unknown): string => inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
