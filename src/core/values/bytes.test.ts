import { expect, test } from 'vitest';
import { utf8Bytes } from './bytes.js';

test.each(['', 'plain', 'zwölf', '東京', '😀 and 😀', '\ud800', 'a\udc00b', '\ud83d', '߿ࠀ￿'])(
  'the size of %j is what it takes in UTF-8',
  (text) => expect(utf8Bytes(text)).toBe(Buffer.byteLength(text)),
);
