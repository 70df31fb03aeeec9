import { describe, expect, it } from 'vitest';
import { encodeArguments, PayloadError } from './json.js';

describe('arguments', () => {
  it.each([
    [[], []],
    [[undefined, undefined], []],
    [[1, undefined, undefined], ['1']],
    [
      [null, 'x'],
      ['null', '"x"'],
    ],
  ])('%j are %j: the last may be left out', (args, expected) => {
    expect(encodeArguments(args, 'argument')).toEqual(expected);
  });

  it('keep their places: none before the last is left out', () => {
    expect(() => encodeArguments(['x', undefined, 7], 'argument of signal "place"')).toThrow(
      new PayloadError('argument of signal "place"', 'undefined as number 2 of 3'),
    );
  });
});
