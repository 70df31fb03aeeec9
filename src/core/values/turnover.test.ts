import { expect, it } from 'vitest';
import { TurnoverMap, TurnoverSet } from './turnover.js';

it('holds what came and did not go, in the order in which it came', () => {
  const map = new TurnoverMap<number, string>();
  for (let key = 0; key < 1_000; key++) {
    map.set(key, `of ${key}`);
    if (key >= 3) expect(map.delete(key - 3)).toBe(true);
  }
  expect([...map]).toEqual([
    [997, 'of 997'],
    [998, 'of 998'],
    [999, 'of 999'],
  ]);
  expect([map.size, map.get(998), map.has(998), map.get(5), map.has(5), map.delete(5)]).toEqual([
    ...[3, 'of 998', true, undefined, false, false],
  ]);
  map.set(997, 'again');
  expect([...map.values()]).toEqual(['again', 'of 998', 'of 999']);
});

it('is gone through without what goes meanwhile', () => {
  const map = new TurnoverMap<number, number>();
  for (let key = 0; key < 500; key++) map.set(key, key);
  const seen: number[] = [];
  for (const [key] of map) {
    seen.push(key);
    map.delete(key);
    map.delete(key + 1);
  }
  expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => index * 2));
  expect(map.size).toBe(0);
});

it('gives each member once, and lets the one that is seen go', () => {
  const set = new TurnoverSet<object>();
  const members = Array.from({ length: 300 }, () => ({}));
  for (const member of members) {
    set.add(member);
    set.add(member);
  }
  expect(set.size).toBe(300);
  const seen: object[] = [];
  for (const member of set) {
    seen.push(member);
    expect(set.delete(member)).toBe(true);
  }
  expect(seen).toEqual(members);
  expect([...set]).toEqual([]);
});
