import { expect, it } from 'vitest';
import { PURSE, type Purse } from '../cluster/conventions.js';
import { tell, woken } from './purse.js';

const one = (id: string) => ({ id, costs: [{ currency: 'USD', amount: '1' }] });

it('counts what it is told twice once, also when it has gone on as another run between the two', () => {
  const purse: Purse = { amount: '5', currency: 'USD', spent: '0', root: 'w', waiting: [] };
  tell(purse, PURSE.spent, one('run/1/1/1'));
  tell(purse, PURSE.spent, one('run/1/1/1'));
  const next = JSON.parse(JSON.stringify(purse)) as Purse;
  tell(next, PURSE.spent, one('run/1/1/1'));
  expect(next.spent).toBe('1');
  tell(next, PURSE.spent, one('run/1/2/1'));
  expect(next.spent).toBe('2');
});

it('remembers a bounded number of what it was told', () => {
  const purse: Purse = { amount: '5', currency: 'USD', spent: '0', root: 'w', waiting: [] };
  for (let at = 0; at < 5_000; at++) tell(purse, PURSE.spent, one(`run/${at}/1/1`));
  expect(purse.spent).toBe('5000');
  expect(purse.heard!.length).toBeLessThanOrEqual(1_000);
  tell(purse, PURSE.spent, one('run/4999/1/1'));
  expect(purse.spent).toBe('5000');
});

it('keeps a run that waits again before it is told that the run was let go on', () => {
  const purse: Purse = { amount: '5', currency: 'USD', spent: '5', root: 'w', waiting: [] };
  const waits = (id: string) => tell(purse, PURSE.waits, { workflowId: 'w', runId: 'r', id });
  waits('r/1/1');
  const first = [...purse.waiting];
  waits('r/2/1');
  waits('r/2/1');
  tell(purse, PURSE.woken, woken(first));
  expect(purse.waiting).toEqual([{ workflowId: 'w', runId: 'r', id: 'r/2/1' }]);
  tell(purse, PURSE.woken, woken(purse.waiting));
  expect(purse.waiting).toEqual([]);
});
