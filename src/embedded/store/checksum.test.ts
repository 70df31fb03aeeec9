import { describe, expect, it } from 'vitest';
import { checksumOf, encodeWithChecksum } from './checksum.js';

/** One more than fits where small ones are encoded, whatever its characters take. */
const LARGE = 64 * 1024;

describe('a text and its checksum, encoded at once', () => {
  it.each([
    ['in one byte a character', '{"n":7}'],
    ['in several', 'ありがとう — 🙂'],
    ['with half a pair, which no encoding has', 'a\ud800b'],
    ['of nothing', ''],
    ['that is large', 'x'.repeat(LARGE)],
    ['that is large by its bytes alone', 'あ'.repeat(LARGE / 2)],
    ['that is large, in several bytes a character', 'あ'.repeat(LARGE)],
  ])('are what each would be by itself: %s', (_what, text) => {
    const { stored, checksum } = encodeWithChecksum('history', 12, 345, text);
    expect(stored.equals(Buffer.from(text))).toBe(true);
    expect(checksum).toBe(checksumOf('history', 12, 345, text));
  });

  it('differ by the place of the text', () => {
    const places = [
      ['history', 1, 23],
      ['history', 12, 3],
      ['history', 1, 24],
      ['inbox', 1, 23],
    ] as const;
    const sums = places.map(([table, run, at]) => encodeWithChecksum(table, run, at, 'x').checksum);
    expect(new Set(sums).size).toBe(places.length);
  });
});
