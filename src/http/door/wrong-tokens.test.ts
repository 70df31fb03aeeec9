import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { networkOf, WrongTokens } from './wrong-tokens.js';

const from = (remoteAddress: string) => ({ socket: { remoteAddress } }) as IncomingMessage;

describe('wrong tokens', () => {
  it('are counted per address and forgiven after a while', () => {
    let now = 0;
    const wrong = new WrongTokens(2, () => now);
    expect([1, 2, 3].map(() => wrong.count(from('10.0.0.1')))).toEqual([undefined, undefined, 60]);
    expect(wrong.count(from('10.0.0.2'))).toBeUndefined();
    now = 30_500;
    expect(wrong.count(from('10.0.0.1'))).toBe(30);
    now = 60_000;
    expect(wrong.count(from('10.0.0.1'))).toBeUndefined();
  });

  it('take no more memory however many addresses there are', () => {
    const wrong = new WrongTokens(1);
    for (let i = 0; i < 30_000; i++) wrong.count(from(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`));
    expect(wrong.size).toBe(10_000);
  });

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
  ])('of %s are those of %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
