import { expect, test } from 'vitest';
import { SparseMap, SparseSet } from './sparse.js';

test('a sparse set is as a set, empty or not, and none knows of another', () => {
  const set = new SparseSet<string>();
  const other = new SparseSet<string>();
  expect([set.size, set.has('a'), set.delete('a'), [...set]]).toEqual([0, false, false, []]);
  set.add('b');
  set.add('a');
  set.add('b');
  expect([set.size, set.has('a'), [...set]]).toEqual([2, true, ['b', 'a']]);
  expect([set.delete('b'), set.delete('b'), [...set]]).toEqual([true, false, ['a']]);
  set.clear();
  expect([set.size, set.has('a'), [...set], [...other]]).toEqual([0, false, [], []]);
});

test('a sparse map is as a map, empty or not, and none knows of another', () => {
  const map = new SparseMap<string, number>();
  const other = new SparseMap<string, number>();
  expect([map.size, map.has('a'), map.get('a'), map.delete('a'), [...map]]).toEqual([
    ...[0, false, undefined, false],
    [],
  ]);
  map.set('b', 1);
  map.set('a', 2);
  map.set('b', 3);
  expect([map.size, map.get('b'), [...map.keys()], [...map.values()]]).toEqual([2, 3, ['b', 'a'], [3, 2]]);
  expect([...map]).toEqual([
    ['b', 3],
    ['a', 2],
  ]);
  expect([map.delete('b'), map.delete('b'), map.has('b'), map.has('a')]).toEqual([true, false, false, true]);
  map.clear();
  expect([map.size, map.get('a'), [...map.keys()], [...map.values()], [...other]]).toEqual([
    ...[0, undefined],
    ...[[], [], []],
  ]);
});
