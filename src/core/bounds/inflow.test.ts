import { expect, it } from 'vitest';
import { Inflow } from './inflow.js';

const round = () => new Promise<void>((resolve) => setImmediate(resolve));

it('is a flood when round after round lets somebody in, until one does not', async () => {
  const inflow = new Inflow();
  for (let i = 0; i < 20; i++) {
    inflow.arrived();
    await round();
  }
  expect(inflow.isFlood).toBe(true);
  await round();
  await round();
  expect(inflow.isFlood).toBe(false);
});

it('is none when many come in one round, or some here and there', async () => {
  const inflow = new Inflow();
  for (let i = 0; i < 100; i++) inflow.arrived();
  await round();
  for (let i = 0; i < 20; i++) {
    inflow.arrived();
    await round();
    await round();
    await round();
    expect(inflow.isFlood).toBe(false);
  }
});

it('puts work off for a while only, however long it goes on', async () => {
  const inflow = new Inflow();
  const begunAt = performance.now();
  let wasPutOff = false;
  while (performance.now() - begunAt < 150) {
    inflow.arrived();
    await round();
    wasPutOff ||= inflow.mayWait(begunAt);
  }
  expect(wasPutOff).toBe(true);
  expect(inflow.mayWait(begunAt)).toBe(false);
  expect(inflow.mayWait(performance.now())).toBe(true);
});
