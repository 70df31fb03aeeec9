import { expect, it } from 'vitest';
import { unserved } from './unserved.js';

const worker = (catalog: string, workflows: string[] | null) => ({
  ...{ id: 'w', catalog, host: null, pid: null, connectedAt: null, lastSeenAt: '', workflows },
  ...{ turns: null, steps: null, version: null, state: null },
});
const run = (catalog: string, workflowType: string) => ({ catalog, workflowType });

it('names catalogs that have open runs and no worker', () => {
  const runs = [run('a', 'x'), run('a', 'y'), run('b', 'x')];
  expect(unserved(runs, [worker('b', ['x'])])).toEqual([{ catalog: 'a', openRuns: 2, workflows: [] }]);
});

it('names workflows that none of the workers has', () => {
  const runs = [run('a', 'x'), run('a', 'old'), run('a', 'old')];
  expect(unserved(runs, [worker('a', ['x'])])).toEqual([{ catalog: 'a', openRuns: 2, workflows: ['old'] }]);
});

it('takes workers that do not tell for ones that have it', () => {
  expect(unserved([run('a', 'x')], [worker('a', null)])).toEqual([]);
  expect(unserved([], [])).toEqual([]);
});
