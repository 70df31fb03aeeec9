import { expect, test } from 'vitest';
import { wellFormed } from './well-formed.js';

test.each([
  ['\ud83d', '\ufffd'],
  ['a\udc00\ud83d\ude00\ud83d', 'a\ufffd\ud83d\ude00\ufffd'],
])('half a character is replaced: %j', (text, mended) => {
  expect(wellFormed(text)).toBe(mended);
});

test('at any depth, in names as well, and nothing else changes', () => {
  const data = new Uint8Array([0xed, 0xa0, 0x80]);
  const message = {
    list: [{ text: 'x\ud800' }, 1, null, undefined],
    fields: { '\ud800k': { data } },
    kept: { a: 1 },
  };
  const mended = wellFormed(message);
  expect(mended).toEqual({
    list: [{ text: 'x\ufffd' }, 1, null, undefined],
    fields: { '\ufffdk': { data } },
    kept: { a: 1 },
  });
  expect(mended.kept).toBe(message.kept);
  expect(message.list[0]).toEqual({ text: 'x\ud800' });
});

test('what is well-formed is passed on as it is', () => {
  const message = { text: '\ud83d\ude00', list: ['ä'] };
  expect(wellFormed(message)).toBe(message);
});

test('a long text costs what its length does', () => {
  expect(wellFormed('\ud83d'.repeat(2_000_000))).toHaveLength(2_000_000);
});
