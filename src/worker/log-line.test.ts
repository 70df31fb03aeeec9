import { expect, test } from 'vitest';
import { logLine } from './log-line.js';
import { MAX_LINE_LENGTH } from './supervision/child-protocol.js';

test('what a library logs becomes a line, whatever its fields are', () => {
  const ring: Record<string, unknown> = { shard: 7n };
  ring.itself = ring;
  for (const fields of [{ shard: 7n }, ring])
    expect(JSON.parse(logLine('warn', fields, 'lost'))).toEqual([
      'warn',
      { fields: expect.stringContaining('shard: 7n') },
      'lost',
    ]);
});

test('a line that is too long keeps its level, its ids and the names of its fields', () => {
  const token = 'secret '.repeat(2_000);
  const context = { token, list: [1, 2, 3] };
  const line = logLine('error', { token, context, few: { a: 1 }, runId: 'r-1', none: undefined }, 'lost');
  expect(line.length).toBeLessThan(MAX_LINE_LENGTH);
  expect(JSON.parse(line)).toEqual([
    'error',
    {
      token: expect.stringMatching(/^secret .*characters/),
      context: '(too long for a line of the log)',
      few: { a: 1 },
      runId: 'r-1',
      none: '(too long for a line of the log)',
    },
    'lost',
  ]);
});

test.each([
  ['letters', 'x'.repeat(10_000)],
  ['characters that take six in JSON', '\u0000'.repeat(10_000)],
  ['pairs', '🦊'.repeat(5_000)],
])('a message of %s without end is cut', (_what, message) => {
  const fields = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`field ${i}`, message]));
  const line = logLine('warn', { ...fields, ring: 7n }, message);
  expect(line.length).toBeLessThan(MAX_LINE_LENGTH);
  expect(JSON.parse(line)).toEqual(['warn', expect.anything(), expect.stringContaining('characters)')]);
});
