import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Patience } from './patience.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const away = new Error('away');

it('is over after its time', async () => {
  const patience = new Patience(60_000, undefined);
  const begun = performance.now();
  const waiting = (async () => {
    for (;;) await patience.wait(away);
  })();
  waiting.catch(() => {});
  await vi.advanceTimersByTimeAsync(60_000);
  await expect(waiting).rejects.toBe(away);
  expect(performance.now() - begun).toBe(60_000);
});

it('is not used up by a machine or a tab that slept meanwhile', async () => {
  const patience = new Patience(60_000, undefined);
  const hour = 3_600_000;
  const now = performance.now.bind(performance);
  const first = patience.wait(away);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + hour);
  await vi.advanceTimersByTimeAsync(1_000);
  await first;
  // The network is back some seconds after the machine is.
  const second = patience.wait(away);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(second).resolves.toBeUndefined();
});
