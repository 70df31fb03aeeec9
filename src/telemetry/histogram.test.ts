import { Histogram as OwnOfPrometheus, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Histogram } from './histogram.js';

const BOUNDS = [0.1, 0.5, 2];

/** What is collected after the same observations, from ours and from prom-client's. */
async function collected(labelNames: string[], observations: [labels: string[], value: number][]) {
  const [ours, theirs] = [new Registry(), new Registry()];
  const options = { name: 'a_seconds', help: 'How long\nit takes' };
  const mine = new Histogram(ours, { ...options, bounds: BOUNDS, labelNames });
  const other = new OwnOfPrometheus({ ...options, buckets: BOUNDS, labelNames, registers: [theirs] });
  for (const [labels, value] of observations) {
    mine.observe(labels, value);
    other.observe(Object.fromEntries(labelNames.map((name, i) => [name, labels[i]!])), value);
  }
  return { ours: await ours.metrics(), theirs: await theirs.metrics() };
}

it('is collected as the one of prom-client is', async () => {
  const { ours, theirs } = await collected(
    ['step', 'outcome'],
    [
      [['a#b', 'completed'], 0.05],
      [['a#b', 'failed'], 0.1],
      [['a#b', 'completed'], 0.5],
      [['"quoted"\\\n', 'completed'], 7],
      [['a#b', 'completed'], 2.25],
      [['a#b', 'completed'], 0],
    ],
  );
  expect(ours).toBe(theirs);
  expect(ours).toContain('a_seconds_count{step="a#b",outcome="completed"} 4');
});

it('has something to collect before anything was observed, without labels', async () => {
  const { ours, theirs } = await collected([], []);
  expect(ours).toBe(theirs);
  expect(ours).toContain('a_seconds_bucket{le="+Inf"} 0');
  const after = await collected([], [[[], 1]]);
  expect(after.ours).toBe(after.theirs);
});

it('has nothing to collect before anything was observed, with labels', async () => {
  const { ours, theirs } = await collected(['step'], []);
  expect(ours).toBe(theirs);
});
