import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { add, compare, decimalText, parseDecimal, subtract, ZERO } from './decimal.js';

const text = (value: unknown) => {
  const decimal = parseDecimal(value);
  return decimal && decimalText(decimal);
};

describe('an exact decimal', () => {
  it.each([
    ['0', '0'],
    ['0.00125', '0.00125'],
    ['0010.500', '10.5'],
    [0.1, '0.1'],
    [1e-7, '0.0000001'],
    [1.5e-9, '0.0000000015'],
    [1e21, '1000000000000000000000'],
    [123456789.123456, '123456789.123456'],
    ['12e3', '12000'],
    ['12.5e-3', '0.0125'],
    ['-2.50', '-2.5'],
    [-0, '0'],
    ['000', '0'],
  ])('reads %j as %s', (given, expected) => expect(text(given)).toBe(expected));

  it.each([
    '',
    ' 1',
    '1 ',
    '1,5',
    '.5',
    '5.',
    'NaN',
    'Infinity',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '0x10',
    '1e99999',
    '1'.repeat(500),
    null,
    undefined,
    true,
    Symbol('1'),
    {},
    ['1'],
  ])('does not read %s', (given) => expect(parseDecimal(given)).toBeUndefined());

  const cents = fc.tuple(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.integer({ min: 0, max: 20 }));
  const decimal = cents.map(([units, scale]) => parseDecimal(decimalText({ units, scale }))!);

  it('comes back from its text', () => {
    fc.assert(
      fc.property(decimal, (each) => {
        expect(parseDecimal(decimalText(each))).toEqual(each);
      }),
    );
  });

  it('adds up in any order to the same text, and back again', () => {
    fc.assert(
      fc.property(fc.array(decimal, { maxLength: 30 }), fc.infiniteStream(fc.nat()), (all, order) => {
        const sum = (list: typeof all) => list.reduce(add, ZERO);
        const shuffled = all
          .map((each) => ({ each, key: order.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ each }) => each);
        expect(decimalText(sum(shuffled))).toBe(decimalText(sum(all)));
        expect(all.reduce(subtract, sum(all))).toEqual(ZERO);
      }),
    );
  });

  it('has the order of what it stands for', () => {
    fc.assert(
      fc.property(cents, cents, ([a, x], [b, y]) => {
        const scaled = (units: bigint, scale: number) => units * 10n ** BigInt(20 - scale);
        const [left, right] = [scaled(a, x), scaled(b, y)];
        const expected = left === right ? 0 : left < right ? -1 : 1;
        expect(compare({ units: a, scale: x }, { units: b, scale: y })).toBe(expected);
      }),
    );
  });

  it('takes a number by what its author sees, whatever its binary form is', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (number) => {
        expect(Number(text(number))).toBe(number);
      }),
    );
  });
});
