/** What happens in a world: data, made from a seed, so that it can be made smaller where something fails. */

import type { CostScope } from '../../src/core/cost/sums.js';
import { Random } from '../../src/testing/random.js';
import type { LinkFaults } from './link.js';
import {
  currencyOf,
  hasFamily,
  limited,
  type Program,
  programOf,
  type Spend,
  signalsWanted,
} from './program.js';

export interface PlannedStart {
  program: Program;
  at: number;
  client: number;
  workflowId: string;
  /** Leaves the id to the engine; then the key tells that it is the same start again. */
  isUnnamed: boolean;
  /** The caller waits for the outcome. */
  isAwaited: boolean;
  /** What its tree may spend. */
  budget?: Spend;
}

export type PlannedCall = {
  at: number;
  client: number;
  target: number;
} /** So many, one after the other. */ & (
  | { kind: 'signal'; count: number }
  | { kind: 'update'; isBad: boolean; isSlow: boolean }
  | { kind: 'query'; isUnknown: boolean }
  | { kind: 'cancel' }
  | { kind: 'terminate' }
  | { kind: 'pause' }
  | { kind: 'resume' }
  | { kind: 'why' }
  | { kind: 'cost'; scope: CostScope }
  | { kind: 'budget'; amount: string }
  /** To the completion of the step that stands there in the program, or to the start. */
  | { kind: 'reset'; action: string }
  /** By the same client's key, by the key with another body, or by the id alone. */
  | { kind: 'startAgain'; how: 'repeat' | 'otherBody' | 'idOnly' }
  | { kind: 'outcome'; waitMs: number }
  | { kind: 'read' }
);

export type PlannedFault = { at: number } & (
  | { kind: 'kill' }
  /** At the end of the first commit after that, before anybody is told of it. */
  | { kind: 'killAfterCommit' }
  | { kind: 'commitFails'; how: 'before' | 'after' }
  | { kind: 'diskFull'; ms: number }
  | { kind: 'clock'; offsetMs: number }
  | { kind: 'workerEnds'; words: 'guilty' | 'unknown' | undefined }
  | { kind: 'workerFreezes'; ms: number; isWitnessed: boolean }
  | { kind: 'evict'; isTold: boolean }
  | { kind: 'turnFails' }
  /** A worker leaves in order, and another one comes in its place, perhaps with other code. */
  | { kind: 'deploy' }
);

export interface Plan {
  seed: string;
  starts: PlannedStart[];
  calls: PlannedCall[];
  faults: PlannedFault[];
  link: LinkFaults;
  workers: number;
  /** How many versions of the code there are. */
  codes: number;
  slots: number;
  isCaching: boolean;
  spares: number;
  /** Runs that the engine keeps in memory when they are quiet. */
  cachedRuns: number;
  /** With none, all of them end after the commit that closes their parent. */
  childrenEndedAtOnce: number;
  /** With none, all that one run does to others comes after the commit of its turn. */
  messagesSentAtOnce: number;
}

/** How long the phase with faults lasts, in virtual time. */
export const SAFETY_MS = 40_000;
export const CLIENTS = 4;

export function planOf(seed: string, programs: number): Plan {
  const random = new Random(seed);
  const limits = random.of('limits');
  const hasVersions = limits.chance(0.5);
  // Many things happen at few instants, so that they meet.
  const instants = Array.from({ length: 10 }, () => random.int(0, 20_000));
  const instant = (from: number) =>
    from + (random.chance(0.6) ? random.pick(instants) : random.int(0, 20_000));
  const starts = Array.from({ length: programs }, (_, index): PlannedStart => {
    const isUnnamed = random.chance(0.2);
    return {
      program: limited(programOf(random, programs), limits, hasVersions),
      at: random.chance(0.6) ? random.pick(instants) >> 1 : random.int(0, 10_000),
      client: random.int(0, CLIENTS - 1),
      workflowId: `${isUnnamed ? 'unnamed' : 'w'}${index}`,
      isUnnamed,
      isAwaited: random.chance(0.2),
      ...(random.chance(0.4) && { budget: { amount: budgetOf(random), currency: currencyOf(random) } }),
    };
  });
  const calls: PlannedCall[] = [];
  for (const [target, { program, at: begun }] of starts.entries()) {
    for (let left = signalsWanted(program) + random.int(0, 2); left > 0; left--) {
      calls.push({
        kind: 'signal',
        count: 1,
        at: instant(begun),
        client: random.int(0, CLIENTS - 1),
        target,
      });
    }
    if (random.chance(0.3)) {
      // Whoever gets no answer asks again; here before the first could get one.
      calls.push({
        kind: 'startAgain',
        how: 'repeat',
        at: begun,
        client: random.int(0, CLIENTS - 1),
        target,
      });
    }
    if (hasFamily(program) && random.chance(0.7)) {
      const call = random.pick<object>([
        { kind: 'cancel' },
        { kind: 'terminate' },
        { kind: 'reset', action: 'start' },
      ]);
      calls.push({
        ...call,
        at: instant(begun),
        client: random.int(0, CLIENTS - 1),
        target,
      } as PlannedCall);
    }
    for (let left = random.int(0, 4); left > 0; left--) {
      const at = instant(begun);
      calls.push({
        ...callOf(random, program),
        at,
        client: random.int(0, CLIENTS - 1),
        target,
      } as PlannedCall);
      if (calls.at(-1)!.kind !== 'reset') continue;
      // What comes while a turn is under way must not be lost by it.
      calls.push({ kind: 'signal', count: 2, at, client: random.int(0, CLIENTS - 1), target });
    }
  }
  return {
    seed,
    starts,
    calls,
    faults: [...(random.chance(0.1) ? [] : faultsOf(random)), ...(hasVersions ? deploysOf(limits) : [])],
    link: {
      slowMs: random.pick([5, 50, 1_000]),
      duplicates: random.pick([0, 0.05, 0.5]),
      overtakes: random.pick([0, 0.2]),
    },
    workers: Math.max(random.int(1, 3), hasVersions ? 2 : 1),
    codes: hasVersions ? 2 : 1,
    slots: random.pick([2, 10, 100]),
    isCaching: random.chance(0.8),
    spares: hasVersions ? 0 : random.pick([0, 0, 1]),
    cachedRuns: random.pick([0, 3, 5_000]),
    childrenEndedAtOnce: random.pick([0, 0, 1, 5, 100]),
    messagesSentAtOnce: random.pick([0, 0, 1, 5, 100]),
  };
}

/** The same programs with nothing that fails and nobody who interferes. */
export const quietPlan = (plan: Plan): Plan => ({
  ...plan,
  calls: [],
  faults: [],
  link: { slowMs: 2, duplicates: 0, overtakes: 0 },
});

export const isQuiet = ({ calls, faults, link }: Plan): boolean =>
  calls.length === 0 && faults.length === 0 && link.slowMs <= 2;

function callOf(random: Random, { actions }: Program): object {
  const steps = actions.flatMap((action, at) =>
    action.do === 'all'
      ? action.parts.flatMap((part, within) => (part.do === 'step' ? [`${at}.${within}`] : []))
      : action.do === 'step'
        ? [String(at)]
        : [],
  );
  return random.choose<object>([
    [4, { kind: 'signal', count: random.int(1, 4) }],
    [5, { kind: 'update', isBad: random.chance(0.2), isSlow: random.chance(0.4) }],
    [3, { kind: 'query', isUnknown: random.chance(0.1) }],
    [1, { kind: 'cancel' }],
    [1, { kind: 'terminate' }],
    [3, { kind: 'reset', action: random.pick([...steps, 'start', String(random.int(0, 4))]) }],
    [3, { kind: 'pause' }],
    [2, { kind: 'resume' }],
    [3, { kind: 'why' }],
    [3, { kind: 'cost', scope: random.pick(['run', 'chain', 'tree']) }],
    [2, { kind: 'budget', amount: budgetOf(random) }],
    [2, { kind: 'startAgain', how: random.pick(['otherBody', 'idOnly']) }],
    [2, { kind: 'outcome', waitMs: random.pick([0, 100, 20_000]) }],
    [3, { kind: 'read' }],
  ]);
}

const budgetOf = (random: Random): string => random.pick(['0', '0.000000001', '0.5', '1.1', '4', '10']);

const deploysOf = (random: Random): PlannedFault[] =>
  Array.from({ length: random.int(0, 4) }, () => ({ kind: 'deploy', at: random.int(0, SAFETY_MS - 8_000) }));

function faultsOf(random: Random): PlannedFault[] {
  return Array.from({ length: random.int(1, 8) }, () => ({
    at: random.int(0, SAFETY_MS - 8_000),
    ...random.choose<object>([
      [3, { kind: 'kill' }],
      [3, { kind: 'killAfterCommit' }],
      [1, { kind: 'commitFails', how: random.pick(['before', 'after']) }],
      [2, { kind: 'diskFull', ms: random.int(1, 4_000) }],
      [2, { kind: 'clock', offsetMs: random.pick([-600_000, -5_000, 0, 5_000, 60_000, 600_000]) }],
      [4, { kind: 'workerEnds', words: random.pick(['guilty', 'unknown', undefined, undefined]) }],
      [2, { kind: 'workerFreezes', ms: random.pick([500, 4_000, 8_000]), isWitnessed: random.chance(0.3) }],
      [2, { kind: 'evict', isTold: random.chance(0.5) }],
      [2, { kind: 'turnFails' }],
    ]),
  })) as PlannedFault[];
}
