import { expect, test } from 'vitest';
import { newWorkflowId } from './id.js';

test('workflow ids are a name and twelve characters, each its own; some in a row begin alike', () => {
  const ids = Array.from({ length: 20_000 }, () => newWorkflowId('order'));
  expect(ids.filter((id) => !/^order-[0-9a-z]{12}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  const changes = ids.filter((id, index) => index > 0 && id.slice(0, 9) !== ids[index - 1]!.slice(0, 9));
  expect(changes.length).toBeGreaterThan(ids.length / 64 - 5);
  expect(changes.length).toBeLessThanOrEqual(Math.ceil(ids.length / 64));
  // Where they begin is drawn as well: no two rows in a hundred begin at the same place.
  expect(new Set(changes.map((id) => id.slice(0, 9))).size).toBeGreaterThan(changes.length * 0.97);
});
