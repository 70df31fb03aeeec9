import { expect, it } from 'vitest';
import { PlainAbort } from '../../core/abort.js';
import { AT_ONCE, TimeSlices } from '../../core/bounds/time-slices.js';
import { systemScheduler } from '../../core/clock.js';
import { Waiters } from './waiting.js';

const CROWD = 60;
const nextRound = () => new Promise((resolve) => setImmediate(resolve));
const waiters = () => new Waiters<string>(systemScheduler, new TimeSlices(systemScheduler));
const times = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

it('answers a few at once', async () => {
  const all = waiters();
  let answered = 0;
  for (let i = 0; i < AT_ONCE; i++) void all.wait('r', 60_000).then(() => answered++);
  all.wake('r', 'closed');
  await Promise.resolve();
  expect([answered, all.has('r')]).toEqual([AT_ONCE, false]);
});

it('lets others be heard while a crowd is answered', async () => {
  const all = waiters();
  let answered = 0;
  const crowd = times(CROWD, () =>
    all.wait('r', 60_000).then((value) => {
      for (const end = performance.now() + 1; performance.now() < end; );
      answered++;
      return value;
    }),
  );
  all.wake('r', 'closed');
  expect(all.has('r')).toBe(false);
  let most = 0;
  while (answered < CROWD) {
    const before = answered;
    await nextRound();
    most = Math.max(most, answered - before);
  }
  expect(most).toBeLessThan(30);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set(['closed']));
});

it('answers those of a crowd at once who can wait no longer', async () => {
  const all = waiters();
  const server = new PlainAbort();
  let answered = 0;
  const crowd = times(CROWD, () => all.wait('r', 60_000, server));
  for (const each of crowd) void each.then(() => answered++);
  all.wake('r', 'closed');
  server.abort();
  await Promise.resolve();
  expect(answered).toBe(CROWD);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set(['closed']));
});
