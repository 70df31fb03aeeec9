/** Compiled patterns, as many as fit: authors may write any number of them. */
import type { Budget } from './budget.js';
import { Pattern, UnsupportedPattern } from './pattern.js';

/** A few megabytes. */
const MAX_INSTRUCTIONS = 100_000;

/** Of one instruction, in steps. */
const COMPILE_COST = 20;

export class PatternCache {
  /** The one used last stands last. Those that are not supported are remembered with why. */
  private readonly patterns = new Map<string, Pattern | UnsupportedPattern>();
  private size = 0;

  /** @throws TooMuchWork */
  get(source: string, budget: Budget): Pattern | UnsupportedPattern {
    let pattern = this.patterns.get(source);
    if (pattern) this.patterns.delete(source);
    else {
      pattern = compile(source);
      this.size += sizeOf(pattern);
      budget.spend(COMPILE_COST * sizeOf(pattern));
    }
    this.patterns.set(source, pattern);
    for (const [oldest, { size }] of this.oldest()) {
      this.patterns.delete(oldest);
      this.size -= size;
    }
    return pattern;
  }

  /** Those that have to go. */
  private *oldest(): Generator<[string, { size: number }]> {
    for (const [source, pattern] of this.patterns) {
      if (this.size <= MAX_INSTRUCTIONS || this.patterns.size === 1) return;
      yield [source, { size: sizeOf(pattern) }];
    }
  }
}

function compile(source: string): Pattern | UnsupportedPattern {
  try {
    return new Pattern(source);
  } catch (error) {
    if (error instanceof UnsupportedPattern) return error;
    throw error;
  }
}

/** A pattern that is not supported takes little, but there may be many. */
const sizeOf = (pattern: Pattern | UnsupportedPattern): number =>
  pattern instanceof Pattern ? 20 + pattern.size : 20;
