/**
 * Reads a regular expression of ECMAScript into a tree of what a linear-time matcher can express.
 *
 * 1. What one character may be is never interpreted here: the text of the atom (`\d`, `[^a-z]`, `.`) is given to the
 *    language's own RegExp, one character at a time. So classes mean exactly what they mean to the author's code.
 * 2. Whatever is not understood for certain is refused, never guessed: backreferences, looking behind, and looking
 *    ahead anywhere but at the start.
 */

export type Node =
  | { kind: 'character'; matches: (code: number) => boolean }
  | { kind: 'sequence'; items: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; item: Node; min: number; max: number }
  | { kind: 'assertion'; assertion: Assertion };

export type Assertion = 'start' | 'end' | 'wordBoundary' | 'noWordBoundary';

export interface PatternSyntax {
  /** Whether a character is a code point; otherwise it is half of a surrogate pair where there is one. */
  isUnicode: boolean;
  /** What must (or must not) match from the start on: `^(?=…)(?!…)`. */
  lookaheads: { isNegated: boolean; node: Node }[];
  node: Node;
}

/** The linear-time matcher cannot express the pattern, or it is none. */
export class UnsupportedPattern extends Error {
  override readonly name = 'UnsupportedPattern';
}

/** Longer ones are generated lists, which belong into an `enum`. */
const MAX_PATTERN_LENGTH = 4_000;
/** The reader calls itself once per level. */
const MAX_NESTING = 100;

export function readPattern(source: string): PatternSyntax {
  if (source.length > MAX_PATTERN_LENGTH) throw new UnsupportedPattern('it is too long');
  return new Reader(source, flagsFor(source)).read();
}

/** JSON Schema means the `u` flag; what only older syntax takes came from an expression without it. */
function flagsFor(source: string): 'u' | '' {
  for (const flags of ['u', ''] as const) {
    try {
      new RegExp(source, flags);
      return flags;
    } catch {}
  }
  throw new UnsupportedPattern('it is no regular expression');
}

const ASSERTIONS: Record<string, Assertion> = {
  '^': 'start',
  $: 'end',
  '\\b': 'wordBoundary',
  '\\B': 'noWordBoundary',
};

/** Backreferences are not among them. */
const UNICODE_ESCAPE =
  /\\(?:x[\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|c[a-zA-Z]|[pP]\{[^}]*\}|0(?!\d)|[^\dxucpPk])/uy;
const OLDER_ESCAPE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|c[a-zA-Z]|0(?!\d)|[^\dxucpPk])/y;

/** The syntax is known to be valid, so that what is looked for is there. */
class Reader {
  private at = 0;
  private depth = 0;

  constructor(
    private readonly source: string,
    private readonly flags: 'u' | '',
  ) {}

  read(): PatternSyntax {
    const lookaheads = this.readLookaheads();
    const node = this.readChoice();
    // Before a choice they belong to its first option alone.
    if (lookaheads.length > 0 && node.kind === 'choice') throw new UnsupportedPattern('it looks ahead');
    const anchored: Node = {
      kind: 'sequence',
      items: [{ kind: 'assertion', assertion: 'start' }, node],
    };
    return {
      isUnicode: this.flags === 'u',
      lookaheads,
      node: lookaheads.length > 0 ? anchored : node,
    };
  }

  private readLookaheads(): PatternSyntax['lookaheads'] {
    const lookaheads: PatternSyntax['lookaheads'] = [];
    if (!/^\^\(\?[=!]/.test(this.source)) return lookaheads;
    this.at = 1;
    while (this.skip('(?=') || this.skip('(?!')) {
      const isNegated = this.source[this.at - 1] === '!';
      const start: Node = { kind: 'assertion', assertion: 'start' };
      lookaheads.push({ isNegated, node: { kind: 'sequence', items: [start, this.readChoice()] } });
      this.at++;
      if (this.readQuantifier()) throw new UnsupportedPattern('it repeats looking ahead');
    }
    return lookaheads;
  }

  private readChoice(): Node {
    if (++this.depth > MAX_NESTING) throw new UnsupportedPattern('it is nested too deeply');
    const options = [this.readSequence()];
    while (this.skip('|')) options.push(this.readSequence());
    this.depth--;
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  private readSequence(): Node {
    const items: Node[] = [];
    while (this.at < this.source.length && this.source[this.at] !== '|' && this.source[this.at] !== ')') {
      const item = this.readAtom();
      const quantifier = this.readQuantifier();
      items.push(quantifier ? { kind: 'repeat', item, ...quantifier } : item);
    }
    return { kind: 'sequence', items };
  }

  private readAtom(): Node {
    if (this.source[this.at] === '(') return this.readGroup();
    const text = this.takeAtom();
    const assertion = ASSERTIONS[text];
    return assertion
      ? { kind: 'assertion', assertion }
      : { kind: 'character', matches: this.matcherOf(text) };
  }

  private readGroup(): Node {
    this.at++;
    if (this.skip('?')) {
      const name = this.take(/<[^=!>][^>]*>/y);
      if (name === '' && !this.skip(':')) throw new UnsupportedPattern('it looks ahead or behind');
    }
    const node = this.readChoice();
    this.at++;
    return node;
  }

  private readQuantifier(): { min: number; max: number } | undefined {
    const text = this.take(/[*+?]|\{\d+(?:,\d*)?\}/y);
    if (text === '') return undefined;
    this.skip('?');
    if (text === '*') return { min: 0, max: Number.POSITIVE_INFINITY };
    if (text === '+') return { min: 1, max: Number.POSITIVE_INFINITY };
    if (text === '?') return { min: 0, max: 1 };
    const [min, max] = text.slice(1, -1).split(',');
    return {
      min: Number(min),
      max: max === undefined ? Number(min) : max === '' ? Number.POSITIVE_INFINITY : Number(max),
    };
  }

  /** The text of what stands for one character, or of an assertion. */
  private takeAtom(): string {
    const first = this.source[this.at];
    if (first === '[') return this.take(/\[(?:[^\]\\]|\\[\s\S])*\]/y);
    if (first === '\\') return this.takeEscape();
    return this.take(this.flags === 'u' ? /[\s\S]/uy : /[\s\S]/y);
  }

  private takeEscape(): string {
    const text = this.take(this.flags === 'u' ? UNICODE_ESCAPE : OLDER_ESCAPE);
    if (text === '') throw new UnsupportedPattern(`\\${this.source[this.at + 1]} is not supported`);
    return text;
  }

  private matcherOf(text: string): (code: number) => boolean {
    const isPlain = text[0] !== '\\' && text[0] !== '[' && text !== '.';
    if (isPlain) {
      const expected = text.codePointAt(0)!;
      return (code) => code === expected;
    }
    const expression = new RegExp(`^(?:${text})$`, this.flags);
    const asks = (code: number) => expression.test(String.fromCodePoint(code));
    const ofAscii: (boolean | undefined)[] = Array(128).fill(undefined);
    return (code) => {
      if (code >= 128) return asks(code);
      ofAscii[code] ??= asks(code);
      return ofAscii[code]!;
    };
  }

  private skip(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** What the sticky expression matches here, or the empty text. */
  private take(expression: RegExp): string {
    expression.lastIndex = this.at;
    const text = expression.exec(this.source)?.[0] ?? '';
    this.at += text.length;
    return text;
  }
}
