/**
 * Regular expressions that take time in proportion to the text, whatever the pattern: all ways to match are followed
 * side by side, one character at a time, instead of one after the other. Each step is paid for, so that also a large
 * pattern on a long text ends.
 */
import type { Budget } from './budget.js';
import { type Assertion, type Node, readPattern, UnsupportedPattern } from './pattern-syntax.js';

export { UnsupportedPattern } from './pattern-syntax.js';

type Instruction =
  | { kind: 'character'; matches: (code: number) => boolean }
  | { kind: 'assertion'; assertion: Assertion }
  /** Goes on in two places. */
  | { kind: 'split'; first: number; second: number }
  | { kind: 'jump'; to: number }
  | { kind: 'match' };

/** Repetitions are written out, so `(a{100}){100}` is a large pattern; one that a person wrote is far below this. */
const MAX_INSTRUCTIONS = 10_000;

/** Of asking at all, in steps. */
const TEST_COST = 10;

export class Pattern {
  private readonly conditions: { isNegated: boolean; program: Program }[];
  /** What it takes in memory, in instructions. */
  readonly size: number;

  /** @throws UnsupportedPattern when only a matcher that may take for ever could do it */
  constructor(readonly source: string) {
    const { isUnicode, lookaheads, node } = readPattern(source);
    this.conditions = [...lookaheads, { isNegated: false, node }].map(({ isNegated, node }) => ({
      isNegated,
      program: new Program(node, isUnicode),
    }));
    this.size = this.conditions.reduce((sum, { program }) => sum + program.size, 0);
  }

  /** Whether it matches somewhere in the text. @throws TooMuchWork */
  test(text: string, budget: Budget): boolean {
    return this.conditions.every(({ isNegated, program }) => program.test(text, budget) !== isNegated);
  }
}

class Program {
  private readonly instructions: Instruction[] = [];
  private readonly isAnchored: boolean;
  private visited = 0;
  /** The step at which each instruction was last reached, so that none is followed twice in one. */
  private readonly reachedAt: Float64Array;
  private step = 0;
  /** Where to look next; kept, since it is needed for every character. */
  private readonly waiting: number[] = [];

  constructor(
    node: Node,
    private readonly isUnicode: boolean,
  ) {
    this.emit(node);
    this.instructions.push({ kind: 'match' });
    this.reachedAt = new Float64Array(this.instructions.length);
    this.isAnchored = startsAnchored(node);
  }

  get size(): number {
    return this.instructions.length;
  }

  test(text: string, budget: Budget): boolean {
    budget.spend(TEST_COST);
    let current: number[] = [];
    let next: number[] = [];
    this.step++;
    if (this.follow(0, text, 0, current, budget)) return true;
    for (let at = 0; at < text.length; ) {
      if (current.length === 0 && this.isAnchored) return false;
      const code = this.isUnicode ? text.codePointAt(at)! : text.charCodeAt(at);
      at += code > 0xffff ? 2 : 1;
      budget.spend(1 + current.length);
      this.step++;
      for (const pc of current) {
        const instruction = this.instructions[pc] as Extract<Instruction, { kind: 'character' }>;
        if (instruction.matches(code) && this.follow(pc + 1, text, at, next, budget)) return true;
      }
      if (!this.isAnchored && this.follow(0, text, at, next, budget)) return true;
      [current, next] = [next, current];
      next.length = 0;
    }
    return false;
  }

  /** Adds the characters that may come next from `start` on to `characters`; true when nothing more needs to come. */
  private follow(start: number, text: string, at: number, characters: number[], budget: Budget): boolean {
    const { waiting } = this;
    waiting.length = 0;
    waiting.push(start);
    for (let pc = waiting.pop(); pc !== undefined; pc = waiting.pop()) {
      if (this.reachedAt[pc] === this.step) continue;
      this.reachedAt[pc] = this.step;
      budget.spend(1);
      const instruction = this.instructions[pc]!;
      switch (instruction.kind) {
        case 'match':
          return true;
        case 'character':
          characters.push(pc);
          break;
        case 'assertion':
          if (holds(instruction.assertion, text, at)) waiting.push(pc + 1);
          break;
        case 'jump':
          waiting.push(instruction.to);
          break;
        case 'split':
          waiting.push(instruction.second, instruction.first);
          break;
      }
    }
    return false;
  }

  private emit(node: Node): void {
    // Repetitions of nothing are no instructions, but work all the same.
    if (++this.visited > MAX_INSTRUCTIONS || this.instructions.length > MAX_INSTRUCTIONS) {
      throw new UnsupportedPattern('it is too large');
    }
    switch (node.kind) {
      case 'character':
      case 'assertion':
        this.instructions.push(node);
        break;
      case 'sequence':
        for (const item of node.items) this.emit(item);
        break;
      case 'choice':
        this.emitChoice(node.options);
        break;
      case 'repeat':
        this.emitRepeat(node);
        break;
    }
  }

  private emitChoice(options: Node[]): void {
    const ends: { kind: 'jump'; to: number }[] = [];
    for (const [i, option] of options.entries()) {
      const isLast = i === options.length - 1;
      const split = { kind: 'split' as const, first: this.instructions.length + 1, second: -1 };
      if (!isLast) this.instructions.push(split);
      this.emit(option);
      if (isLast) break;
      const end = { kind: 'jump' as const, to: -1 };
      this.instructions.push(end);
      ends.push(end);
      split.second = this.instructions.length;
    }
    for (const end of ends) end.to = this.instructions.length;
  }

  private emitRepeat({ item, min, max }: Extract<Node, { kind: 'repeat' }>): void {
    for (let i = 0; i < min; i++) this.emit(item);
    const optional = () => {
      const split = { kind: 'split' as const, first: this.instructions.length + 1, second: -1 };
      this.instructions.push(split);
      return split;
    };
    if (max === Number.POSITIVE_INFINITY) {
      const split = optional();
      this.emit(item);
      this.instructions.push({ kind: 'split', first: split.first, second: this.instructions.length + 1 });
      split.second = this.instructions.length;
      return;
    }
    const splits: { second: number }[] = [];
    for (let i = min; i < max; i++) {
      splits.push(optional());
      this.emit(item);
    }
    for (const split of splits) split.second = this.instructions.length;
  }
}

function startsAnchored(node: Node): boolean {
  if (node.kind === 'assertion') return node.assertion === 'start';
  return node.kind === 'sequence' && node.items.length > 0 && startsAnchored(node.items[0]!);
}

function holds(assertion: Assertion, text: string, at: number): boolean {
  switch (assertion) {
    case 'start':
      return at === 0;
    case 'end':
      return at === text.length;
    case 'wordBoundary':
      return isWord(text, at - 1) !== isWord(text, at);
    case 'noWordBoundary':
      return isWord(text, at - 1) === isWord(text, at);
  }
}

function isWord(text: string, at: number): boolean {
  return at >= 0 && at < text.length && /\w/.test(text[at]!);
}
