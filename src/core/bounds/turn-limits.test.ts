import { expect, test } from 'vitest';
import type { Command } from '../history/command.js';
import { DEFAULT_STEP_RETRY } from '../run/retry.js';
import { DEFAULT_LIMITS } from './limits.js';
import { brokenLimit } from './turn-limits.js';

const extent = { pending: 0, depth: 0 };
const signals = (count: number, input: string): Command[] =>
  Array.from({ length: count }, (_, i) => ({
    ...({ kind: 'signalExternal', signalSeq: `${i}`, workflowId: 'w', signalName: 's' } as const),
    input: [input],
  }));

test('a turn may ask for so many bytes in all, however few each of them has', () => {
  const limits = { ...DEFAULT_LIMITS, turnBytes: 100_000 };
  expect(brokenLimit(extent, signals(10, 'x'.repeat(1_000)), limits)).toBeUndefined();
  expect(brokenLimit(extent, signals(10, '東'.repeat(5_000)), limits)).toMatch(/over the limit of 100000/);
});

test('a failure counts with all that it says', () => {
  const failure = { kind: 'application' as const, type: 'Error', message: 'x'.repeat(2_000) };
  const limits = { ...DEFAULT_LIMITS, turnBytes: 1_000 };
  expect(brokenLimit(extent, [{ kind: 'failRun', failure }], limits)).toMatch(/over the limit/);
});

test('a payload is measured in bytes, also a small one', () => {
  const limits = { ...DEFAULT_LIMITS, payloadBytes: 1_000 };
  expect(brokenLimit(extent, signals(1, '東'.repeat(400)), limits)).toMatch(/a payload of 1200 bytes/);
});

const LIMITS = { payloadBytes: 100_000, turnBytes: 1_000_000, pendingPerRun: 50, childDepth: 2 };
const step = (input: string): Command => ({
  kind: 'scheduleStep',
  activityId: '1',
  stepName: 'any',
  input: [input],
  settings: { startToCloseTimeoutMs: 1, retry: DEFAULT_STEP_RETRY },
});
const steps = (count: number, input: string) => Array.from({ length: count }, () => step(input));

test('what one turn asks for in all is bounded', () => {
  expect(brokenLimit(extent, steps(9, 'x'.repeat(99_000)), LIMITS)).toBeUndefined();
  expect(brokenLimit(extent, steps(11, 'x'.repeat(99_000)), LIMITS)).toMatch(
    /asks for has \d+ bytes and is over the limit of 1000000 bytes/,
  );
});

test('sizes are those of UTF-8', () => {
  expect(brokenLimit(extent, [step('あ'.repeat(34_000))], LIMITS)).toMatch(/payload of 102000 bytes/);
  expect(brokenLimit(extent, steps(11, 'あ'.repeat(33_000)), LIMITS)).toMatch(/one turn asks for/);
  expect(brokenLimit(extent, steps(40, 'あ'.repeat(9_000)), LIMITS)).toMatch(/one turn asks for/);
  expect(brokenLimit(extent, steps(40, 'a'.repeat(9_000)), LIMITS)).toBeUndefined();
});

test('a command costs more than what it carries', () => {
  const limits = { ...LIMITS, pendingPerRun: 10_000 };
  expect(brokenLimit(extent, steps(1_000, '1'), limits)).toBeUndefined();
  expect(brokenLimit(extent, steps(2_500, '1'), limits)).toMatch(/one turn asks for/);
});
