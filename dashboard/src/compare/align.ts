/**
 * Two runs side by side: their steps aligned by name and occurrence, in an order that keeps each run's own, and what
 * differs in each pair.
 */
import { isSame } from '../forms/value.js';

/** What is compared of a step, child workflow or timer, whichever view it was read for. */
export interface ComparedStep {
  /** Of the event that it began with. */
  id: string;
  kind: 'step' | 'child' | 'timer';
  name: string;
  state: string;
  input: unknown;
  output: unknown;
  error: { name: string; message: string } | null;
  attempts: number;
  /** Null while it has not ended. */
  durationMs: number | null;
}

export const ASPECTS = ['state', 'input', 'output', 'error', 'attempts', 'duration'] as const;
export type Aspect = (typeof ASPECTS)[number];

export interface Pair {
  kind: ComparedStep['kind'];
  name: string;
  /** Which execution of that name, from 1. */
  occurrence: number;
  left: ComparedStep | null;
  right: ComparedStep | null;
  /** Empty where both are there and alike. */
  differs: Aspect[];
}

export function align(left: readonly ComparedStep[], right: readonly ComparedStep[]): Pair[] {
  const keyed = [left, right].map((steps) => numbered(steps)) as [Keyed[], Keyed[]];
  const rightByKey = new Map(keyed[1].map((one) => [one.key, one]));
  const leftKeys = new Set(keyed[0].map(({ key }) => key));
  const pairs: Pair[] = [];
  // Steps that only the right run has stand before the next one that both have, as they did there.
  let next = 0;
  const onlyRightBefore = (end: number) => {
    for (; next < end; next++) {
      const one = keyed[1][next]!;
      if (!leftKeys.has(one.key)) pairs.push(pairOf(null, one));
    }
  };
  for (const one of keyed[0]) {
    const partner = rightByKey.get(one.key);
    if (partner && partner.index >= next) onlyRightBefore(partner.index);
    pairs.push(pairOf(one, partner ?? null));
  }
  onlyRightBefore(keyed[1].length);
  return pairs;
}

interface Keyed {
  key: string;
  index: number;
  occurrence: number;
  step: ComparedStep;
}

function numbered(steps: readonly ComparedStep[]): Keyed[] {
  const seen = new Map<string, number>();
  return steps.map((step, index) => {
    const name = `${step.kind}/${step.name}`;
    const occurrence = (seen.get(name) ?? 0) + 1;
    seen.set(name, occurrence);
    return { key: `${name}/${occurrence}`, index, occurrence, step };
  });
}

function pairOf(left: Keyed | null, right: Keyed | null): Pair {
  const { step, occurrence } = (left ?? right)!;
  return {
    kind: step.kind,
    name: step.name,
    occurrence,
    left: left?.step ?? null,
    right: right?.step ?? null,
    differs: left && right ? differing(left.step, right.step) : [],
  };
}

function differing(left: ComparedStep, right: ComparedStep): Aspect[] {
  const isDifferent: Record<Aspect, boolean> = {
    state: left.state !== right.state,
    input: !isSame(left.input, right.input),
    output: !isSame(left.output, right.output),
    error: !isSame(left.error, right.error),
    attempts: left.attempts !== right.attempts,
    duration: isNoticeable(left.durationMs, right.durationMs),
  };
  return ASPECTS.filter((aspect) => isDifferent[aspect]);
}

/** Two executions never take the same time; what somebody would ask about is twice as long, and long enough to notice. */
const NOTICEABLE_MS = 100;
const NOTICEABLE_FACTOR = 2;

function isNoticeable(left: number | null, right: number | null): boolean {
  if (left === null || right === null) return left !== right;
  const [short, long] = left < right ? [left, right] : [right, left];
  return long - short >= NOTICEABLE_MS && long >= NOTICEABLE_FACTOR * short;
}
