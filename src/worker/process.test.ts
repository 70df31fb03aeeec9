import { expect, test } from 'vitest';
import { logLine } from './process.js';

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
