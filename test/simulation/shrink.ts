/**
 * Makes a failing plan smaller for as long as it fails by the same rule: whole lists of calls and faults first, then
 * halves, then single ones, then the actions of the programs.
 */
import type { Plan } from './plan.js';
import type { Program } from './program.js';

/** The rule that a violation is about, which stays the same while all else about it changes. */
export const ruleOf = (violation: string): string => violation.slice(0, violation.indexOf(':'));

/** Programs, calls and faults: what a reader has to understand. */
export const sizeOf = ({ starts, calls, faults }: Plan): number =>
  starts.length +
  calls.length +
  faults.length +
  starts.reduce((sum, { program }) => sum + program.actions.length, 0);

export interface Failure {
  plan: Plan;
  violation: string;
}

/** `tryOut` answers with what the plan violates. */
export async function shrink(
  failure: Failure,
  forMs: number,
  tryOut: (plan: Plan) => Promise<string | undefined>,
): Promise<Failure> {
  const until = performance.now() + forMs;
  const rule = ruleOf(failure.violation);
  let best = failure;
  for (let hasShrunk = true; hasShrunk; ) {
    hasShrunk = false;
    for (const plan of smallerThan(best.plan)) {
      if (performance.now() > until) return best;
      const violation = await tryOut(plan);
      if (violation === undefined || ruleOf(violation) !== rule) continue;
      best = { plan, violation };
      hasShrunk = true;
      break;
    }
  }
  return best;
}

function* smallerThan(plan: Plan): Generator<Plan> {
  for (const starts of partsOf(plan.starts)) {
    yield withStarts(plan, (index) => starts.includes(plan.starts[index]!));
  }
  for (const calls of partsOf(plan.calls)) yield { ...plan, calls };
  for (const faults of partsOf(plan.faults)) yield { ...plan, faults };
  for (const [index, start] of plan.starts.entries()) {
    for (const program of smallerPrograms(start.program)) {
      yield { ...plan, starts: plan.starts.map((each, at) => (at === index ? { ...each, program } : each)) };
    }
  }
}

/** Without the programs that are not kept: their calls go too, and the others keep their numbers' meaning. */
function withStarts(plan: Plan, isKept: (index: number) => boolean): Plan {
  const numbers = new Map<number, number>();
  const starts = plan.starts.filter((_, index) => {
    if (isKept(index)) numbers.set(index, numbers.size);
    return isKept(index);
  });
  const calls = plan.calls.flatMap((call) => {
    const target = numbers.get(call.target);
    return target === undefined ? [] : [{ ...call, target }];
  });
  return { ...plan, starts, calls };
}

/** The list without one half, then without a quarter, and so on down to single entries; at first without any. */
function* partsOf<T>(list: readonly T[]): Generator<T[]> {
  if (list.length > 1) yield [];
  for (let size = Math.ceil(list.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < list.length; from += size)
      yield [...list.slice(0, from), ...list.slice(from + size)];
  }
}

function* smallerPrograms(program: Program): Generator<Program> {
  if (program.failures > 0) yield { ...program, failures: 0 };
  if (program.timeLimitMs !== undefined) yield { ...program, timeLimitMs: undefined };
  if (program.isBound) yield { ...program, isBound: undefined };
  for (const actions of partsOf(program.actions)) if (actions.length > 0) yield { ...program, actions };
  for (const [index, action] of program.actions.entries()) {
    const replaced = (by: typeof action): Program => ({
      ...program,
      actions: program.actions.map((each, at) => (at === index ? by : each)),
    });
    if (action.do === 'all') for (const part of action.parts) yield replaced(part);
    if (action.do === 'child') {
      for (const smaller of smallerPrograms(action.program)) yield replaced({ ...action, program: smaller });
    }
  }
}
