/** What a registration says after workers have come or gone. */
import { expect, it } from 'vitest';
import type { RegisteredWorkflow } from '../../core/catalog.js';
import type { Registration } from '../cluster/conventions.js';
import { isMember, joined, left, type Member } from './united.js';

const workflow = (name: string): RegisteredWorkflow => ({
  entry: {
    ...{ name, description: null, path: '', inputSchema: null, outputSchema: null },
    ...{ aliases: [], steps: [], signals: [], queries: [], updates: [] },
  },
  settings: {},
  declaresSignals: false,
});

const member = (pool: string, id: string, ...names: string[]): Member => ({
  pool,
  version: { id, name: null, resultFormat: id === 'v1' ? 'legacy' : 'current' },
  workflows: names.map(workflow),
});

const everybody = () => true;
const says = ({ workflows }: Registration) =>
  Object.fromEntries(workflows.map(({ entry, version }) => [entry.name, version?.id]));

const both = () => {
  const old = joined(undefined, member('a', 'v1', 'old', 'both'), everybody);
  return joined(old, member('b', 'v2', 'both', 'young'), everybody);
};

it('is what all members have, of the newest code', () => {
  expect(says(both())).toEqual({ old: 'v1', both: 'v2', young: 'v2' });
  expect(both().resultFormat).toBe('current');
});

it('is the same when a member joins again, and older code does not become newer by it', () => {
  const again = joined(both(), member('c', 'v1', 'old', 'both'), everybody);
  expect(says(again)).toEqual({ old: 'v1', both: 'v2', young: 'v2' });
  expect(joined(again, member('c', 'v1', 'old', 'both'), everybody)).toEqual(again);
});

it('shows what older code has once the newer has left, and of the last one what it had', () => {
  const old = left(both(), 'b');
  expect(says(old)).toEqual({ old: 'v1', both: 'v1' });
  expect(old.resultFormat).toBe('legacy');
  const nobody = left(old, 'a');
  expect(says(nobody)).toEqual({ old: 'v1', both: 'v1' });
  expect(isMember(nobody, 'a')).toBe(false);
  expect(says(joined(nobody, member('d', 'v3', 'fresh'), everybody))).toEqual({ fresh: 'v3' });
});

it('forgets members that were killed: nobody polls for their version any more', () => {
  const next = joined(both(), member('d', 'v3', 'fresh'), (id) => id === 'v1');
  expect(says(next)).toEqual({ old: 'v1', both: 'v1', fresh: 'v3' });
});

it('stays as it is when somebody leaves who is not there', () => {
  const before = both();
  expect(left(before, 'nobody')).toBe(before);
});
