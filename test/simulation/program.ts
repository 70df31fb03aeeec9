/**
 * Generated workflows: what they do, and what becomes of them, which follows from the program alone. Whatever the faults,
 * a program that nobody ends from outside comes to the outcome that is computed here.
 */
import type { ParentClosePolicy } from '../../src/core/history/event.js';
import type { Random } from '../../src/testing/random.js';

/** What every attempt of a step says that it has spent. */
export interface Spend {
  amount: string;
  currency: string;
}

export const CURRENCIES = ['USD', 'EUR'] as const;

export type Action =
  /**
   * Fails so often before it succeeds; it may be tried without end. One with little time may run out of it on the way, and one
   * that is picky is refused by all code but the one that has asked for it.
   */
  | {
      do: 'step';
      ms: number;
      fails: number;
      heartbeats?: boolean;
      hasLittleTime?: boolean;
      isPicky?: boolean;
      spends?: Spend[];
    }
  /** Fails however often it is tried. */
  | { do: 'doomed'; ms: number; attempts: number; spends?: Spend[] }
  | { do: 'sleep'; ms: number }
  /** A step against a timer; whichever is later is cancelled, so either may have won. */
  | { do: 'race'; stepMs: number; timerMs: number; spends?: Spend[] }
  | { do: 'all'; parts: Action[] }
  | { do: 'child'; program: Program; policy: ParentClosePolicy; isAwaited: boolean }
  /** Until so many different signals have come in all. */
  | { do: 'signals'; count: number }
  /** Signals another program of the world, by its number. */
  | { do: 'tell'; to: number }
  | { do: 'patch' }
  | { do: 'continueAsNew' };

export interface Program {
  actions: Action[];
  /** The first runs fail, and are retried as further runs; more than that fail for good. */
  failures: number;
  /** What it does when it is asked to stop. */
  onCancel: 'cleanUp' | 'ignore';
  /** Its executionTimeout. */
  timeLimitMs?: number;
  /** Only the code that has made the first turn of a run can go on with it. */
  isBound?: boolean;
}

export const TIME_LIMITS_MS = [300, 3_000, 15_000, 60_000];

/** What comes of a step whose input its code does not take, by the type of the failure. */
export const REFUSED = 'Refused';

/** Versions of the code that workers have. */
export const CODES = ['v1', 'v2'] as const;

/** Runs of a failing program, the first included. */
export const MAX_RUNS = 3;

export type Expected = { status: 'completed'; values: string[] } | { status: 'failed' };

/** What the program comes to. */
export function expectedOf(program: Program): Expected {
  if (program.failures >= MAX_RUNS) return { status: 'failed' };
  return { status: 'completed', values: program.actions.map((action) => partOf(action)) };
}

/**
 * What an action contributes to the result. `path` says where it stands in the program, and `others` what those have come to
 * that did not end by themselves, by their places.
 */
export function partOf(action: Action, path = '', others: ReadonlyMap<string, string> = new Map()): string {
  switch (action.do) {
    case 'all':
      return `[${action.parts.map((part, at) => partOf(part, `${path}.${at}`, others)).join()}]`;
    case 'child': {
      if (!action.isAwaited) return 'detached';
      const other = others.get(path);
      if (other !== undefined) return other;
      const expected = expectedOf(action.program);
      return expected.status === 'failed' ? 'child failed' : `child(${expected.values.join()})`;
    }
    case 'step':
      return others.get(path) ?? `step ${action.fails}`;
    default:
      return action.do;
  }
}

/** The action that stands there. */
export function actionAt({ actions }: Program, path: string): Action | undefined {
  const [first, ...rest] = path.split('.').map(Number);
  let action = actions[first!];
  for (const at of rest) action = action?.do === 'all' ? action.parts[at] : undefined;
  return action;
}

/** Gives the program, and those of its children, time limits and, where there are several versions of the code, likings. */
export function limited(program: Program, random: Random, hasVersions: boolean): Program {
  const part = (action: Action): Action => {
    switch (action.do) {
      case 'all':
        return { ...action, parts: action.parts.map(part) };
      case 'child':
        return { ...action, program: limited(action.program, random, hasVersions) };
      case 'step':
        return random.chance(0.3) && hasVersions ? { ...action, isPicky: true } : action;
      default:
        return action;
    }
  };
  return {
    ...program,
    actions: program.actions.map(part),
    ...(random.chance(0.12) && { timeLimitMs: random.pick(TIME_LIMITS_MS) }),
    ...(random.chance(0.3) && hasVersions && { isBound: true }),
  };
}

/** How many signals it waits for. */
export function signalsWanted({ actions }: Program): number {
  let wanted = 0;
  for (const action of actions) {
    const parts = action.do === 'all' ? action.parts : [action];
    for (const part of parts) if (part.do === 'signals') wanted = Math.max(wanted, part.count);
  }
  return wanted;
}

/** From so many children on. */
const FAMILY = 6;

/** Whether it has many children at a time. */
export const hasFamily = ({ actions }: Program): boolean =>
  actions.some(
    (action) => action.do === 'all' && action.parts.filter((part) => part.do === 'child').length >= FAMILY,
  );

/** One of many: most only wait, so that they are there when something happens to all. */
function memberOf(random: Random, others: number): Action {
  const policy = random.pick(['TERMINATE', 'REQUEST_CANCEL'] as const);
  const program = random.chance(0.8) ? waiting(random) : programOf(random, others, 1 + random.int(0, 1));
  return { do: 'child', program, policy, isAwaited: true };
}

const waiting = (random: Random): Program => ({
  actions: [{ do: 'sleep', ms: random.pick([20, 1_000, 5_000, 20_000]) }],
  failures: 0,
  onCancel: random.chance(0.8) ? 'cleanUp' : 'ignore',
});

export function programOf(random: Random, others: number, depth = 0): Program {
  // A run that is tried again gets no signals a second time, so it must not wait for any.
  const failures = random.choose([
    [8, 0],
    [1, 1],
    [1, random.int(2, MAX_RUNS)],
  ]);
  const actions = Array.from({ length: random.int(1, depth === 0 ? 5 : 3) }, () =>
    actionOf(random, { others, depth, isPart: false, hasSignals: failures === 0 && depth === 0 }),
  );
  return { actions, failures, onCancel: random.chance(0.8) ? 'cleanUp' : 'ignore' };
}

export const currencyOf = (random: Random): string => (random.chance(0.8) ? 'USD' : 'EUR');

function spendsOf(random: Random): Spend[] | undefined {
  if (random.chance(0.5)) return undefined;
  return Array.from({ length: random.int(1, 3) }, () => ({
    amount: random.pick(['1', '0.25', '0.1', '0.000000001', '3', '0']),
    currency: currencyOf(random),
  }));
}

interface Place {
  others: number;
  depth: number;
  isPart: boolean;
  hasSignals: boolean;
}

function actionOf(random: Random, place: Place): Action {
  const { others, depth, isPart, hasSignals } = place;
  const shortMs = () => random.pick([0, 1, 2, 5, 20, 100, 700]);
  const longMs = () => random.pick([1, 20, 500, 1_000, 5_000, 20_000, 60_000]);
  switch (
    random.choose([
      [10, 'step'],
      [2, 'doomed'],
      [5, 'sleep'],
      [3, 'race'],
      [isPart ? 0 : 4, 'all'],
      [depth < 2 ? 3 : 0, 'child'],
      [depth === 0 && !isPart ? 2 : 0, 'family'],
      [hasSignals ? 4 : 0, 'signals'],
      [others > 0 ? 2 : 0, 'tell'],
      [1, 'patch'],
      [isPart ? 0 : 2, 'continueAsNew'],
    ])
  ) {
    case 'step':
      return {
        do: 'step',
        ms: random.chance(0.1) ? 4_000 : shortMs(),
        fails: random.choose([
          [6, 0],
          [2, 1],
          [1, 3],
        ]),
        ...(random.chance(0.1) && { heartbeats: true }),
        ...(random.chance(0.4) && { hasLittleTime: true }),
        spends: spendsOf(random),
      };
    case 'doomed':
      return { do: 'doomed', ms: shortMs(), attempts: random.int(1, 3), spends: spendsOf(random) };
    case 'sleep':
      return { do: 'sleep', ms: longMs() };
    case 'race':
      return {
        do: 'race',
        stepMs: shortMs(),
        timerMs: random.pick([1, 5, 20, 700, 30_000]),
        spends: spendsOf(random),
      };
    case 'all': {
      const parts = Array.from({ length: random.int(2, 4) }, () =>
        actionOf(random, { ...place, isPart: true }),
      );
      return { do: 'all', parts };
    }
    case 'child': {
      const isAwaited = random.chance(0.7);
      const policy = isAwaited ? random.pick(['TERMINATE', 'REQUEST_CANCEL'] as const) : 'ABANDON';
      return { do: 'child', program: programOf(random, others, depth + 1), policy, isAwaited };
    }
    case 'family': {
      const parts = Array.from({ length: random.int(FAMILY, 3 * FAMILY) }, () => memberOf(random, others));
      return { do: 'all', parts };
    }
    case 'signals':
      return { do: 'signals', count: random.int(1, 3) };
    case 'tell':
      return { do: 'tell', to: random.int(0, others - 1) };
    case 'patch':
      return { do: 'patch' };
    default:
      return { do: 'continueAsNew' };
  }
}
