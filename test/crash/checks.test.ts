/** The oracle itself: it sees what is lost, and takes nothing for lost that is not. */
import { expect, test } from 'vitest';
import type { RunRow } from '../../src/embedded/store/tables/run-row.js';
import { checkDisk } from './checks.js';
import type { Disk, StoredRun } from './disk.js';
import { Operations } from './operations.js';

function stored(runId: string, closedAt: number | null): StoredRun {
  const row = { run_id: runId, workflow_id: 'w', first_run_id: 'first', closed_at: closedAt } as RunRow;
  return { row, events: [], inbox: [], openCosts: [] };
}

function lostOf(runs: StoredRun[], stopped: string): string[] {
  const operations = new Operations();
  const operation = operations.begin({ id: 'end it', kind: 'stop', workflowId: 'w', sender: 'someone' });
  Object.assign(operation, { outcome: 'acknowledged', answer: { workflowId: 'w', runId: stopped } });
  const disk: Disk = { runs, runOfKey: () => undefined, purses: [], problems: [] };
  return checkDisk(disk, operations).lost;
}

test('a stop that was acknowledged for an open run and is not there is lost', () => {
  expect(lostOf([stored('first', 1), stored('second', null)], 'second')).toEqual(['stop end it of w']);
  expect(lostOf([], 'first')).toEqual(['stop end it of w']);
});

test('a stop of a run that was over changes nothing, also when another has gone on from it', () => {
  expect(lostOf([stored('first', 1), stored('second', null)], 'first')).toEqual([]);
});
