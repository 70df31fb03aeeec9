import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Budget, TooMuchWork } from './budget.js';
import { Pattern, UnsupportedPattern } from './pattern.js';

const plenty = () => new Budget(10_000_000);

/** Patterns whose parts are all of what is supported. */
const part: fc.Arbitrary<string> = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('a', 'b', 'é', '😀', '.', '\\d', '\\w', '\\W', '\\s', '\\S', '\\.', '\\x61', '\\u0062'),
    fc.constantFrom(
      '[ab]',
      '[^a]',
      '[a-c\\d]',
      '[\\]x]',
      '[😀a]',
      '[^\\s]',
      '\\n',
      '\\t',
      '\\/',
      '-',
      '\\b',
      '\\B',
    ),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('node'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,2}', '{1,}', '*?', '+?'))
      .map(([a, q]) => `(${a})${q}`),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(?<x${Math.abs(hash(a + b))}>${a}|)${b}`),
  ),
})).node;

const whole = fc
  .tuple(
    fc.constantFrom('', '^', '^(?=a)', '^(?!b)(?=.*a)', '^(?!.*b$)'),
    part,
    fc.constantFrom('', '$', '|b'),
  )
  .map((parts) => parts.join(''));

function hash(text: string): number {
  let sum = 0;
  for (const character of text) sum = (Math.imul(sum, 31) + character.codePointAt(0)!) | 0;
  return sum;
}

const texts = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', 'é', '😀', ' ', '\n', '1', '.', '-', '/', '\u2028', '\ud83d'),
  maxLength: 8,
});

describe('a pattern', () => {
  it.each(['u', ''])('means what it means to JavaScript (flags "%s")', (flags) => {
    let compared = 0;
    fc.assert(
      fc.property(whole, fc.array(texts, { minLength: 1, maxLength: 5 }), (drawn, candidates) => {
        // Outside of Unicode mode `\-` stands for itself; in it, it is an error.
        const source = flags === 'u' ? drawn : `${drawn}\\-?`;
        let expected: RegExp;
        let pattern: Pattern;
        try {
          expected = new RegExp(source, flags);
          pattern = new Pattern(source);
        } catch {
          return;
        }
        for (const text of candidates) {
          compared++;
          expect([source, text, pattern.test(text, plenty())]).toEqual([source, text, expected.test(text)]);
        }
      }),
      { numRuns: 3_000, seed: 7 },
    );
    expect(compared).toBeGreaterThan(3_000);
  });

  it.each([
    [
      'of an address of e-mail',
      "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
      'ada@example.com',
      'ada..l@example.com',
    ],
    ['of a password', '^(?=.*[A-Z])(?=.*\\d).{8,}$', 'Geheim123', 'geheim123'],
    [
      'of a UUID',
      '^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
      '0190c42e-1111-7000-8000-000000000000',
      '0190c42e',
    ],
    ['with a class of Unicode', '^\\p{Lu}\\p{L}*$', 'Ärger', 'ärger'],
  ])('%s is checked', (_what, source, good, bad) => {
    const pattern = new Pattern(source);
    expect([good, bad].map((text) => pattern.test(text, plenty()))).toEqual([true, false]);
  });

  it.each([
    ['a backreference', '^(a+)\\1$'],
    ['a named backreference', '^(?<x>a)\\k<x>$'],
    ['looking ahead inside', '^a(?=b)'],
    ['looking ahead in one option', '^(?=a)a|b'],
    ['looking behind', '(?<=a)b'],
    ['a repetition that is too large', '^(a{1000}){1000}$'],
    ['repetitions of nothing', '((((){1000}){1000}){1000}){1000}'],
    ['nesting', `${'('.repeat(1_000)}a${')'.repeat(1_000)}`],
    ['length', 'a'.repeat(5_000)],
    ['what is none', '('],
  ])('with %s is left to others', (_what, source) => {
    expect(() => new Pattern(source)).toThrow(UnsupportedPattern);
  });

  it('takes time in proportion to the text, or says that it is too much', () => {
    const text = `${'a'.repeat(5_000)}!`;
    for (const source of ['^(a+)+$', '^(a|aa)+$', '^(a*)*$', '(a|a)*b', '^(?=(a+)+$)a']) {
      expect(new Pattern(source).test(text, new Budget(40 * text.length))).toBe(false);
    }
    expect(() => new Pattern('(a{90}){90}b').test('a'.repeat(100_000), new Budget(1_000_000))).toThrow(
      TooMuchWork,
    );
  });
});
