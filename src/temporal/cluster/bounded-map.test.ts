import { expect, test } from 'vitest';
import { BoundedMap } from './bounded-map.js';

test('forgets what was not used for longest', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect([map.peek('a'), map.peek('b'), map.peek('c')]).toEqual([1, undefined, 3]);
});

test('is bounded by what its entries weigh, where they say so', () => {
  const map = new BoundedMap<number, string>(1_000, (text) => text.length);
  for (let key = 0; key < 100; key++) map.set(key, 'x'.repeat(key));
  const kept = [...map.values()];
  expect(kept.join('').length).toBeLessThanOrEqual(1_000);
  expect(kept.at(-1)).toHaveLength(99);
  map.set(99, 'x');
  map.delete(98);
  for (let key = 200; key < 210; key++) map.set(key, 'x'.repeat(40));
  expect([...map.values()].join('').length).toBeLessThanOrEqual(1_000);
  expect(map.peek(99)).toBe('x');
  map.set(300, 'x'.repeat(2_000));
  expect(map.size).toBe(0);
});
