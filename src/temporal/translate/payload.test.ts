import { describe, expect, test } from 'vitest';
import { fromPayload, fromPayloads, fromSingle, toPayload, toPayloads } from './payload.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const payload = (encoding: string, data: string) => ({
  metadata: { encoding: bytes(encoding) },
  data: bytes(data),
});

describe('a payload', () => {
  test.each(['null', '0', '""', '{"a":[1e21, 5e-324 , "\\u0000"]}', '"naïve 😀"'])(
    '%s stays as it was written',
    (text) => {
      expect(fromPayload(toPayload(text))).toBe(text);
    },
  );

  test('no value is written as such', () => {
    expect(fromPayload(toPayload(undefined))).toBeUndefined();
    expect(fromPayload(undefined)).toBeUndefined();
    expect(fromSingle(toPayloads([undefined]))).toBeUndefined();
    expect(fromPayloads(toPayloads(['1', undefined]))).toEqual(['1']);
    expect(fromPayloads(null)).toEqual([]);
  });

  test('what is no JSON becomes JSON that says so, since it is passed on unread', () => {
    expect(fromPayload(payload('binary/plain', '\u0000'))).toBe('{"_raw":true,"encoding":"binary/plain"}');
    expect(fromPayload(payload('json/plain', '{"a":'))).toBe('{"_raw":true,"encoding":"json/plain"}');
    expect(fromPayload({})).toBe('{"_raw":true,"encoding":""}');
  });
});
