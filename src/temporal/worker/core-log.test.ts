import { expect, test } from 'vitest';
import type { Log } from '../../core/log.js';
import { libraryLines } from './core-log.js';

const MINUTE_MS = 60_000;
let lines: [level: string, message: string, run: unknown][];
const say = (level: string) => (fields: object, message: string) => {
  const { runId, run_id: coresRunId } = fields as Record<string, unknown>;
  lines.push([level, message, runId ?? coresRunId]);
};
const log = Object.fromEntries(
  ['debug', 'info', 'warn', 'error'].map((level) => [level, say(level)]),
) as unknown as Log;

test('a turn that fails again and again is told once for each run and reason, and again after a while', () => {
  lines = [];
  let now = 0;
  const write = libraryLines(log, () => now);
  const [thrown, other] = [new Error('does not fit'), new Error('something else')];
  const fail = (runId: string, error: Error) => {
    const message = 'Failed to process Workflow Activation';
    write({ level: 'ERROR', message, meta: { runId, error } });
    write({
      level: 'WARN',
      message: 'Failing workflow task',
      meta: { run_id: runId, failure: error.message },
    });
  };
  const told = () => lines.splice(0).filter(([level]) => level !== 'debug');
  const both = (runId: string) => [
    ['error', 'Temporal: Failed to process Workflow Activation', runId],
    ['warn', 'Temporal: Failing workflow task', runId],
  ];
  fail('a', thrown);
  expect(told()).toEqual(both('a'));
  for (let i = 0; i < 5; i++) {
    now += 10 * MINUTE_MS;
    fail('a', thrown);
  }
  expect(told()).toEqual([]);
  fail('b', thrown);
  expect(told()).toEqual(both('b'));
  fail('a', other);
  expect(told()).toEqual(both('a'));
  now += 60 * MINUTE_MS;
  fail('a', other);
  expect(told()).toEqual(both('a'));
});

test('all else that the library says is told each time, but what histories have', () => {
  lines = [];
  const write = libraryLines(log);
  for (let i = 0; i < 2; i++) {
    write({ level: 'WARN', message: 'Task not found when completing', meta: { run_id: 'a' } });
    write({ level: 'WARN', message: 'Activity failed', meta: {} });
  }
  expect(lines.map(([level]) => level)).toEqual(['warn', 'debug', 'warn', 'debug']);
});
