import { expect, it } from 'vitest';
import { systemScheduler } from '../clock.js';
import { AT_ONCE, TimeSlices } from './time-slices.js';

const nextRound = () => new Promise((resolve) => setImmediate(resolve));

function busyFor(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

it('lets a few go on at once, and again in the next round', async () => {
  const slices = new TimeSlices(systemScheduler);
  for (let round = 0; round < 3; round++) {
    let served = 0;
    for (let i = 0; i < AT_ONCE; i++) void slices.take().then(() => served++);
    await Promise.resolve();
    expect(served).toBe(AT_ONCE);
    await nextRound();
  }
});

it('serves a crowd in its order, with others in between', async () => {
  const slices = new TimeSlices(systemScheduler);
  const served: number[] = [];
  const all = Array.from({ length: 60 }, (_, i) =>
    slices.take().then(() => {
      busyFor(1);
      served.push(i);
    }),
  );
  let most = 0;
  while (served.length < all.length) {
    const before = served.length;
    await nextRound();
    most = Math.max(most, served.length - before);
  }
  expect(served).toEqual(all.map((_, i) => i));
  expect(most).toBeLessThan(30);
});

it('counts what is written at the end of a slice as of the slice', async () => {
  const slices = new TimeSlices(systemScheduler);
  let written = 0;
  const write = () => {
    busyFor(2);
    written++;
  };
  // As a response does it, which is corked until the next tick.
  for (let i = 0; i < 60; i++) void slices.take().then(() => process.nextTick(write));
  let most = 0;
  while (written < 60) {
    const before = written;
    await nextRound();
    most = Math.max(most, written - before);
  }
  expect(most).toBeLessThan(15);
});

it('gives those who have had a slice their next one after others who came meanwhile', async () => {
  const slices = new TimeSlices(systemScheduler);
  const served: string[] = [];
  const serve = (name: string) => slices.wait().then(() => void served.push(name));
  await Promise.all([
    serve('a').then(() => serve('a again')),
    serve('b'),
    nextRound().then(() => serve('c')),
  ]);
  expect(served).toEqual(['a', 'b', 'a again', 'c']);
});

it('lets one who wants what has just come wait for none of those who make up for much', async () => {
  const slices = new TimeSlices(systemScheduler);
  const served: string[] = [];
  const behind = Array.from({ length: 60 }, () => slices.wait().then(() => void served.push('behind')));
  for (let i = 0; i < AT_ONCE; i++) await slices.take();
  await Promise.all([...behind, slices.take().then(() => void served.push('latest'))]);
  expect(served.indexOf('latest')).toBeLessThan(2);
});
