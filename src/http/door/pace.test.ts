import { expect, it } from 'vitest';
import { Inflow } from '../../core/bounds/inflow.js';
import { Pace } from './pace.js';

const round = () => new Promise<void>((resolve) => setImmediate(resolve));

async function untilHandled(handled: unknown[], count: number): Promise<void> {
  for (let rounds = 0; handled.length < count && rounds < 10_000; rounds++) await round();
  expect(handled).toHaveLength(count);
}

it('handles a call at once while few call', () => {
  const pace = new Pace(new Inflow());
  let isHandled = false;
  pace.enter(() => {
    isHandled = true;
  });
  expect(isHandled).toBe(true);
});

it('keeps the order of many calls, and lets the loop go round between them', async () => {
  const pace = new Pace(new Inflow());
  const handled: number[] = [];
  const calls = Array.from({ length: 1_000 }, (_, i) => i);
  for (const i of calls) pace.enter(() => handled.push(i));
  expect(handled.length).toBeLessThan(200);
  await untilHandled(handled, calls.length);
  expect(handled).toEqual(calls);
  expect(pace.waiting).toBe(0);
});

it('handles fewer of them in a round when each costs much', async () => {
  let computedMs = 0;
  const pace = new Pace(new Inflow(), undefined, () => computedMs);
  const handled: number[] = [];
  let inThisRound = 0;
  const perRound: number[] = [];
  const compute = () => {
    computedMs += 1;
    inThisRound++;
    handled.push(1);
  };
  for (let i = 0; i < 600; i++) pace.enter(compute);
  while (handled.length < 600 && perRound.length < 1_000) {
    await round();
    perRound.push(inThisRound);
    inThisRound = 0;
  }
  // The last one has what is left. A round of as many as it may be at most would take six times what it should.
  expect(perRound.at(-2)).toBeLessThanOrEqual(20);
  expect(perRound.at(-2)).toBeGreaterThan(5);
});

it('handles no more in a round that has taken its time', async () => {
  let now = 0;
  const pace = new Pace(new Inflow(), () => now);
  const handled: number[] = [];
  for (let i = 0; i < 10; i++)
    pace.enter(() => {
      now += 15;
      handled.push(i);
    });
  expect(handled).toEqual([0, 1]);
  await round();
  expect(handled.length).toBeLessThanOrEqual(4);
  await untilHandled(handled, 10);
  expect(handled).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it('counts what calls compute behind an await, as most of them do, and what they write at the next tick', async () => {
  let now = 0;
  const pace = new Pace(new Inflow(), () => now);
  const handled: number[] = [];
  for (let i = 0; i < 128; i++) pace.enter(() => {});
  for (let i = 0; i < 40; i++)
    pace.enter(async () => {
      for (let hop = 0; hop < 10; hop++) await undefined;
      process.nextTick(() => {
        now += 15;
        handled.push(i);
      });
    });
  let most = 0;
  for (let before = 0; handled.length < 40; before = handled.length) {
    await round();
    most = Math.max(most, handled.length - before);
  }
  expect(most).toBe(2);
  expect(handled).toEqual(Array.from({ length: 40 }, (_, i) => i));
});

it('does not call again what failed, nor forget those behind it', async () => {
  const pace = new Pace(new Inflow());
  const handled: string[] = [];
  for (let i = 0; i < 128; i++) pace.enter(() => {});
  const failed = new Promise((resolve) => process.once('uncaughtException', resolve));
  pace.enter(() => {
    handled.push('fails');
    throw new Error('on purpose');
  });
  pace.enter(() => handled.push('behind'));
  expect(await failed).toMatchObject({ message: 'on purpose' });
  await untilHandled(handled, 2);
  expect(handled).toEqual(['fails', 'behind']);
});

it('handles more of them again when they cost little', async () => {
  let computedMs = 0;
  let costMs = 10;
  const pace = new Pace(new Inflow(), undefined, () => computedMs);
  let inThisRound = 0;
  const call = () => {
    computedMs += costMs;
    inThisRound++;
  };
  const rounds = async (count: number): Promise<number> => {
    for (let each = 0; each < count; each++) {
      inThisRound = 0;
      await round();
    }
    return inThisRound;
  };
  for (let i = 0; i < 2_000; i++) pace.enter(call);
  expect(await rounds(10)).toBeLessThanOrEqual(2);
  costMs = 0;
  expect(await rounds(10)).toBeGreaterThan(100);
});

it('lets nobody overtake those who wait when the flood is over', async () => {
  const flood = { isFlood: true, mayWait: () => flood.isFlood };
  const pace = new Pace(flood as unknown as Inflow);
  const handled: string[] = [];
  pace.enter(() => handled.push('first'));
  await round();
  flood.isFlood = false;
  pace.enter(() => handled.push('second'));
  await untilHandled(handled, 2);
  expect(handled).toEqual(['first', 'second']);
});

it('lets everybody in first when they flood in, and nobody waits for ever', async () => {
  let now = 0;
  const inflow = new Inflow(() => now);
  const pace = new Pace(inflow, () => now);
  const handled: number[] = [];
  for (let rounds = 0; !inflow.isFlood && rounds < 100; rounds++) {
    inflow.arrived();
    await round();
  }
  for (let i = 0; i < 20; i++) {
    inflow.arrived();
    pace.enter(() => handled.push(i));
    now += 4;
    await round();
  }
  expect(handled).toEqual([]);
  now += 100;
  inflow.arrived();
  await round();
  expect(handled).toHaveLength(20);
});

it('comes back to its pace in a flood after a round that was held up', async () => {
  let now = 0;
  const inflow = { isFlood: true, mayWait: () => now % 100 !== 0 } as unknown as Inflow;
  const pace = new Pace(
    inflow,
    () => now,
    () => 0,
  );
  let handled = 0;
  for (let i = 0; i < 1_000; i++)
    pace.enter(() => {
      // As the disk or the system does it now and then.
      if (handled === 0) now += 100;
      handled++;
    });
  for (let rounds = 0; rounds < 40; rounds++) {
    now += 25;
    await round();
  }
  expect(handled).toBeGreaterThan(900);
});
