import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { collector, IdleMemory } from './idle-memory.js';

/** Memory that is told how it grows, and what each collection leaves. */
function memory({ utilization = 0.01, leaves = [] as number[] } = {}) {
  const told = {
    utilization,
    heap: 40,
    now: 0,
    collections: 0,
  };
  const idle = new IdleMemory({
    utilization: () => told.utilization,
    heapMegabytes: () => told.heap,
    collect() {
      told.heap = leaves[told.collections] ?? told.heap;
      told.collections++;
    },
    now: () => told.now,
  });
  const look = (times = 1) => {
    for (let i = 0; i < times; i++) {
      told.now += 3_000;
      idle.look();
    }
    return told.collections;
  };
  const rest = () => look(10);
  return { told, look, rest };
}

it('collects what a load has left once it has rested, and again until that is given back', () => {
  const { told, look, rest } = memory({ leaves: [60, 45, 44] });
  told.heap = 150;
  expect(rest()).toBe(0);
  expect([look(), look(), look(), look(), look(), look()]).toEqual([1, 2, 3, 4, 4, 4]);
});

it('waits until the load is over, and its pauses are no rest', () => {
  const { told, look, rest } = memory({ leaves: [41] });
  told.heap = 150;
  for (let pauses = 0; pauses < 3; pauses++) {
    told.utilization = 0.3;
    look();
    told.utilization = 0.01;
    expect(rest()).toBe(0);
  }
  expect(look()).toBe(1);
});

it('leaves a server alone that has not grown', () => {
  const { told, look } = memory();
  told.heap = 55;
  expect(look(30)).toBe(0);
});

it('takes what is alive for what it needs', () => {
  const { told, look } = memory({ leaves: [149] });
  told.heap = 150;
  expect(look(30)).toBe(4);
  told.now += 120_000;
  expect(look(30)).toBe(4);
});

it('does not stop again and again for calls that trickle in', () => {
  const { told, look, rest } = memory({ leaves: [40, 40, 40, 40] });
  told.heap = 80;
  rest();
  expect(look(4)).toBe(4);
  told.heap = 80;
  expect(look(10)).toBe(4);
  told.now += 60_000;
  expect(look()).toBe(5);
});

it('leaves off when a load comes in between', () => {
  const { told, look, rest } = memory({ leaves: [60, 45] });
  told.heap = 150;
  rest();
  expect(look()).toBe(1);
  told.utilization = 1;
  expect(look()).toBe(1);
  told.utilization = 0.01;
  expect(look(30)).toBe(1);
});

it('has a collector that collects, and shows it to nobody else', async () => {
  const garbage = new WeakRef(new Array(1_000));
  // A reference lives until the end of the job that made it.
  await new Promise((resolve) => setImmediate(resolve));
  collector()!();
  expect(garbage.deref()).toBeUndefined();
  expect(runInNewContext('typeof gc')).toBe('undefined');
});
