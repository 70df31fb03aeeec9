import { expect, test } from 'vitest';
import { CHANGED_BY_ANY_RESTART, Restarts } from './attempts.js';

const cutOff = (workflowId: string, tree = workflowId) => ({
  name: `${workflowId} attempt 1`,
  workflowId,
  tree,
});
const [NAMED] = Object.keys(CHANGED_BY_ANY_RESTART);

test('an attempt that was cut off excuses the case whose run it is of, also through a child', async () => {
  const restarts = new Restarts();
  const own = restarts.begun();
  const parent = restarts.begun();
  const other = restarts.begun();
  await restarts.during(own, async () => {
    await Promise.resolve();
    restarts.started('own');
  });
  restarts.during(parent, () => restarts.started('parent'));
  restarts.during(other, () => restarts.started('other'));
  expect(restarts.excuse('a case', own)).toBeUndefined();
  restarts.restarted([cutOff('own'), cutOff('child', 'parent')]);
  expect(restarts.excuse('a case', own)).toBe('own attempt 1 of own was cut off');
  expect(restarts.excuse('a case', parent)).toBe('child attempt 1 of child was cut off');
  expect(restarts.excuse('a case', other)).toBeUndefined();
});

test('what was cut off before a try excuses nothing in it', () => {
  const restarts = new Restarts();
  restarts.restarted([cutOff('own')]);
  const later = restarts.begun();
  restarts.during(later, () => restarts.started('own'));
  expect(restarts.excuse('a case', later)).toBeUndefined();
  expect(restarts.excuse(NAMED!, later)).toBeUndefined();
});

test('a restart that has cut off nothing excuses the cases with a name only', () => {
  const restarts = new Restarts();
  const one = restarts.begun();
  expect(restarts.isAnySince(one)).toBe(false);
  restarts.restarted([]);
  expect(restarts.isAnySince(one)).toBe(true);
  expect(restarts.excuse('a case', one)).toBeUndefined();
  expect(restarts.excuse(NAMED!, one)).toBe(CHANGED_BY_ANY_RESTART[NAMED!]);
});
