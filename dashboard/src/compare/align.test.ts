import { describe, expect, it } from 'vitest';
import { align, type ComparedStep } from './align.js';
import { differences } from './differences.js';

let ids = 0;
const step = (name: string, more: Partial<ComparedStep> = {}): ComparedStep => ({
  ...{ id: String(++ids), kind: 'step', name, state: 'completed', input: null, output: null },
  ...{ error: null, attempts: 1, durationMs: 10 },
  ...more,
});
const names = (left: string[], right: string[]) =>
  align(
    left.map((name) => step(name)),
    right.map((name) => step(name)),
  ).map(
    ({ name, occurrence, left: l, right: r }) =>
      `${l ? name + occurrence : '-'} ${r ? name + occurrence : '-'}`,
  );

describe('steps are aligned', () => {
  it.each<[string, string, string[]]>([
    ['a b c', 'a b c', ['a1 a1', 'b1 b1', 'c1 c1']],
    ['a a', 'a a a', ['a1 a1', 'a2 a2', '- a3']],
    ['a b c', 'a c', ['a1 a1', 'b1 -', 'c1 c1']],
    ['a c', 'a b c d', ['a1 a1', '- b1', 'c1 c1', '- d1']],
    ['a b', 'b a', ['a1 a1', 'b1 b1']],
    ['', 'a', ['- a1']],
    ['', '', []],
    ['a b', 'x y', ['a1 -', 'b1 -', '- x1', '- y1']],
    ['b a', 'a x b y', ['- x1', 'b1 b1', 'a1 a1', '- y1']],
  ])('%j with %j', (left, right, expected) => {
    const words = (text: string) => text.split(' ').filter(Boolean);
    expect(names(words(left), words(right))).toEqual(expected);
  });

  it('by kind as well: a step and a child workflow of one name are two things', () => {
    const pairs = align([step('pay')], [step('pay', { kind: 'child' })]);
    expect(pairs.map(({ left, right }) => [left?.kind, right?.kind])).toEqual([
      ['step', undefined],
      [undefined, 'child'],
    ]);
  });

  it('each exactly once, whatever the two lists are', () => {
    for (let seed = 1; seed < 200; seed++) {
      const list = (salt: number) =>
        Array.from({ length: (seed * salt) % 7 }, (_, index) =>
          step('abc'[(seed * salt + index * index) % 3]!),
        );
      const [left, right] = [list(3), list(5)];
      const pairs = align(left, right);
      expect(pairs.map((pair) => pair.left).filter(Boolean)).toEqual(left);
      expect(new Set(pairs.map((pair) => pair.right).filter(Boolean))).toEqual(new Set(right));
      expect(pairs.filter((pair) => pair.right).length).toBe(right.length);
    }
  });
});

describe('what differs', () => {
  it.each<[Partial<ComparedStep>, Partial<ComparedStep>, string[]]>([
    [{}, {}, []],
    [{ input: { a: 1, b: [2] } }, { input: { b: [2], a: 1 } }, []],
    [{ input: { a: 1 } }, { input: { a: 2 } }, ['input']],
    [{ output: 0 }, { output: null }, ['output']],
    [{ state: 'failed', error: { name: 'E', message: 'x' } }, {}, ['state', 'error']],
    [{ attempts: 2 }, { attempts: 3 }, ['attempts']],
    [{ durationMs: 10 }, { durationMs: 15 }, []],
    [{ durationMs: 10 }, { durationMs: 60 }, []],
    [{ durationMs: 1000 }, { durationMs: 1900 }, []],
    [{ durationMs: 1000 }, { durationMs: 2100 }, ['duration']],
    [{ durationMs: null }, { durationMs: 5 }, ['duration']],
  ])('between %j and %j', (left, right, expected) =>
    expect(align([step('a', left)], [step('a', right)])[0]!.differs).toEqual(expected),
  );

  it('in a value is told place by place', () => {
    const { found, isCut } = differences(
      { same: [1, { x: 1 }], list: [1, 2], gone: null, deep: { a: { b: 1 } } },
      { same: [1, { x: 1 }], list: [1, 3, 4], deep: { a: { b: '1' } }, new: false },
    );
    expect(found).toEqual([
      { path: ['list', 1], left: 2, right: 3 },
      { path: ['list', 2], left: undefined, right: 4 },
      { path: ['gone'], left: null, right: undefined },
      { path: ['deep', 'a', 'b'], left: 1, right: '1' },
      { path: ['new'], left: undefined, right: false },
    ]);
    expect(isCut).toBe(false);
    expect(differences([], {}).found).toEqual([{ path: [], left: [], right: {} }]);
  });

  it('is cut where nobody would read all of it', () => {
    const list = (by: number) => Array.from({ length: 10_000 }, (_, index) => index + by);
    const { found, isCut } = differences(list(0), list(1));
    expect([found.length, isCut]).toEqual([200, true]);
  });
});
