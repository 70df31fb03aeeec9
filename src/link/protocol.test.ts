import { describe, expect, test } from 'vitest';
import { packFrames, unpackFrame } from './protocol.js';

describe('frames', () => {
  test('carry what messages hold: any properties of failures, texts of any kind, missing values', () => {
    const messages = Array.from({ length: 200 }, (_, i) => ({
      kind: 'stepFailed',
      failure: {
        type: '✓ \0 😀',
        message: JSON.stringify('\ud800'),
        properties: { [`key ${i}`]: i, nested: { [`${i}`]: [null, 1.5, -1, 2 ** 53] } },
      },
      details: undefined,
    }));
    expect(packFrames(messages).flatMap(unpackFrame)).toEqual(messages);
  });

  test('are split where they would be too large, and a message that is too large by itself is refused', () => {
    const messages = Array.from({ length: 9 }, (_, i) => ({ kind: 'forget', runId: `${i}`.repeat(100) }));
    const frames = packFrames(messages, 400);
    expect(frames.length).toBeGreaterThan(1);
    for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(400);
    expect(frames.flatMap(unpackFrame)).toEqual(messages);
    expect(() => packFrames(messages, 50)).toThrow(/kind forget takes \d+ bytes; a frame may have 50/);
  });

  test('are split in one go, so that no message is made into text more than twice', () => {
    let made = 0;
    const messages = Array.from({ length: 16 }, () => ({
      toJSON() {
        made++;
        return { kind: 'forget', runId: 'x'.repeat(100) };
      },
    }));
    expect(packFrames(messages, 300)).toHaveLength(8);
    expect(made).toBe(2 * 16);
    expect(packFrames(messages)).toHaveLength(1);
    expect(made).toBe(3 * 16);
  });

  test('are measured in bytes', () => {
    const messages = Array.from({ length: 4 }, () => ({ kind: 'forget', runId: '東京'.repeat(20_000) }));
    const frames = packFrames(messages, 200_000);
    for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(200_000);
    expect(frames.flatMap(unpackFrame)).toEqual(messages);
  });

  test('keep a property named __proto__ from becoming a prototype', () => {
    const [message] = unpackFrame(
      packFrames([JSON.parse('{"kind":"x","properties":{"__proto__":{"polluted":1}}}')])[0]!,
    );
    expect((message as { properties: object & { polluted?: unknown } }).properties.polluted).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
