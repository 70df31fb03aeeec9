/** What a run of `chores` does, and what must come out of it: known without running it. */
import type { Random } from './random.js';

export type Chore =
  | { kind: 'act'; value: string; forMs?: number }
  | { kind: 'stumble'; value: string }
  | { kind: 'all'; values: string[] }
  | { kind: 'sleep'; forMs: number }
  | { kind: 'child'; plan: Chore[] }
  | { kind: 'abandon'; values: string[] }
  | { kind: 'tell'; workflowId: string; value: string }
  | { kind: 'stopOther'; workflowId: string }
  | { kind: 'again' };

/** A plan of a few chores; `others` are runs that it may tell something. */
export function somePlan(random: Random, name: string, others: readonly string[], depth = 0): Chore[] {
  const length = 2 + random.below(4);
  return Array.from({ length }, (_, index): Chore => {
    const value = `${name}.${index}`;
    const kind = random.pick(['act', 'act', 'all', 'sleep', 'stumble', 'tell', 'child', 'again'] as const);
    switch (kind) {
      case 'all':
        return { kind, values: [`${value}a`, `${value}b`, `${value}c`] };
      case 'sleep':
        return { kind, forMs: 5 + random.below(200) };
      case 'stumble':
        return { kind, value };
      case 'child':
        if (depth < 2) return { kind, plan: somePlan(random, value, others, depth + 1) };
        break;
      case 'tell':
        if (others.length > 0) return { kind, workflowId: random.pick(others), value };
        break;
      case 'again':
        return { kind };
    }
    return { kind: 'act', value, forMs: random.below(4) === 0 ? random.below(150) : undefined };
  });
}

/** What the run returns; where it told others, either of two words, since they may have closed. */
export function fits(plan: readonly Chore[], output: unknown): boolean {
  if (!Array.isArray(output)) return false;
  const expected = plan.filter(({ kind }) => !['sleep', 'again', 'abandon', 'stopOther'].includes(kind));
  if (expected.length !== output.length) return false;
  return expected.every((chore, index) => {
    const value: unknown = output[index];
    switch (chore.kind) {
      case 'act':
      case 'stumble':
        return value === chore.value;
      case 'all':
        return JSON.stringify(value) === JSON.stringify(chore.values);
      case 'tell':
        return value === 'told' || value === 'not told';
      case 'child':
        return fits(chore.plan, value);
      default:
        return false;
    }
  });
}
