import { describe, expect, test } from 'vitest';
import { isWellFormed } from '../values/text.js';
import { type Failure, MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH, toFailure } from './failure.js';

const throwing = (): never => {
  throw new Error('a trap');
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const circular: Record<string, unknown> = { code: 7 };
circular.self = { again: circular };

const UNDESCRIBABLE: [string, unknown][] = [
  [
    'a proxy whose traps throw',
    new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
  ],
  ['a proxy of an error whose traps throw', new Proxy(new Error('x'), { get: throwing })],
  ['a proxy of a function whose traps throw', new Proxy(() => {}, { get: throwing })],
  ['a revoked proxy', revoked()],
  ['getters that throw', { get name() { return throwing(); }, get message() { return throwing(); } }], // biome-ignore format: one line each
  ['a stack that throws', Object.defineProperty(new Error('x'), 'stack', { get: throwing })],
  ['a cause that throws', Object.defineProperty(new Error('x'), 'cause', { get: throwing })],
  ['a constructor that throws', { get constructor() { return throwing(); } }], // biome-ignore format: one line each
  ['a constructor without a proper name', { constructor: { name: Symbol('x') } }],
  ['toString and toJSON that throw', { toString: throwing, toJSON: throwing }],
  ['a function whose text cannot be had', Object.assign(() => {}, { toString: throwing })],
  ['an object without a prototype', Object.create(null)],
  ['a symbol', Symbol('s')],
  ['null', null],
  ['undefined', undefined],
  ['a BigInt', 10n],
  ['an object with a BigInt', { n: 10n }],
  ['a circular object', circular],
  ['a deep object', JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)],
  ['a property called __proto__', JSON.parse('{"message":"m","__proto__":{"polluted":1}}')],
  ['a property whose toJSON throws', Object.assign(new Error('x'), { bad: { toJSON: throwing } })],
];

describe('toFailure', () => {
  test.each(UNDESCRIBABLE)('never throws: %s', (_, thrown) => {
    const failure = toFailure(thrown);
    expect(failure.kind).toBe('application');
    expect(failure.type).not.toBe('');
    expect(typeof failure.type).toBe('string');
    expect(failure.message).not.toBe('');
    // It must also be fit to travel.
    expect(JSON.parse(JSON.stringify(failure))).toEqual(failure);
  });

  test('tells of a circular object what JSON can tell', () => {
    expect(toFailure(circular).message).toBe('{"code":7,"self":{"again":"[circular]"}}');
    const error = Object.assign(new Error('x'), { circular });
    expect(toFailure(error).properties).toEqual({ circular: { code: 7, self: { again: '[circular]' } } });
  });

  test('an error whose cause is itself ends', () => {
    const error = new Error('loop');
    error.cause = error;
    let depth = 0;
    for (let at: Failure | undefined = toFailure(error); at; at = at.cause) depth++;
    expect(depth).toBeLessThan(20);
  });

  describe('has one rule for long texts', () => {
    const long = 'x'.repeat(MAX_MESSAGE_LENGTH * 3);

    test('messages are cut, with their length', () => {
      const { message } = toFailure(new Error(long));
      expect(message).toBe(`${'x'.repeat(MAX_MESSAGE_LENGTH)}… (${long.length} characters)`);
      expect(toFailure(long).message).toBe(message);
      expect(toFailure(new Error('outer', { cause: new Error(long) })).cause?.message).toBe(message);
    });

    test('a stack keeps its frames, however long its message is', () => {
      const { stackTrace } = toFailure(new Error(long));
      expect(stackTrace!.length).toBeLessThan(MAX_STACK_LENGTH + 100);
      expect(stackTrace).toContain('failure.test.ts');
    });

    test('properties that are too large are left out, the others stay', () => {
      const error = Object.assign(new Error('x'), { code: 'E', body: 'x'.repeat(1_000_000) });
      expect(toFailure(error).properties).toEqual({ code: 'E' });
    });
  });

  test('gives well-formed texts, also where an emoji is cut through', () => {
    const error = new Error('unknown user \ud800');
    error.name = 'Bad\udfff';
    const failure = toFailure(error);
    expect(failure).toMatchObject({ message: 'unknown user \ufffd', type: 'Bad\ufffd' });
    expect(isWellFormed(failure.stackTrace!)).toBe(true);
    const emoji = toFailure(new Error('😀'.repeat(MAX_MESSAGE_LENGTH)));
    expect(isWellFormed(emoji.message)).toBe(true);
    const odd = toFailure(new Error(`a${'😀'.repeat(MAX_MESSAGE_LENGTH)}`));
    expect(odd.message).not.toContain('\ufffd');
    expect(isWellFormed(odd.message)).toBe(true);
    expect(isWellFormed(odd.stackTrace!)).toBe(true);
  });
});
