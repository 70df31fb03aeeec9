/**
 * A share of what `npm run simulate` does: that the same seed gives the same world, that a number of worlds violate
 * nothing, and that bugs which were put in on purpose are found.
 */
import { describe, expect, it } from 'vitest';
import { share, takeOneIn } from '../share.js';
import { bugs, findBug, titleOf } from './bugs.js';
import { campaign, packed, reportOf, unpacked } from './campaign.js';
import { planOf, quietPlan } from './plan.js';
import { shrink, sizeOf } from './shrink.js';
import { World } from './world.js';

/** Ten times what it takes on a quiet machine. */
const PATIENCE_MS = 300_000;
const PROGRAMS_FOR_BUGS = 2_000;
const WORLDS = share(12, 60);

describe('a world', () => {
  it('is the same whenever it is made from the same seed, with kills and all', async () => {
    const traces = async (seed: string) => {
      const lines: string[] = [];
      const plan = planOf(seed, 12);
      plan.faults.push({ kind: 'kill', at: 6_000 }, { kind: 'killAfterCommit', at: 9_000 });
      const result = await new World(plan, (line) => lines.push(line)).run();
      return { lines, result };
    };
    const [one, again, other] = [await traces('same'), await traces('same'), await traces('other')];
    expect(again.lines).toEqual(one.lines);
    expect(again.result).toEqual(one.result);
    expect(one.result.kills).toBeGreaterThanOrEqual(2);
    expect(one.lines.length).toBeGreaterThan(100);
    expect(other.result.traceHash).not.toBe(one.result.traceHash);
  }, 120_000);

  it('can be given on a command line', () => {
    const plan = planOf('a', 3);
    expect(unpacked(packed(plan))).toEqual(plan);
  });
});

it(
  'violates no invariant, whatever fails',
  async () => {
    const worlds = Array.from({ length: WORLDS }, (_, world) => world);
    const { tally, failing } = await campaign({ seed: 'share', worlds, maxFailing: 1 });
    if (failing[0]) expect.fail(await reportOf(failing[0], 30_000));
    expect(tally).toMatchObject({ worlds: WORLDS, programs: 20 * WORLDS });
    // What is to be survived has happened.
    expect(tally.kills).toBeGreaterThan(WORLDS / 2);
    expect(tally.commits).toBeGreaterThan((10_000 / 60) * WORLDS);
    expect(tally.answered).toBeGreaterThan(50 * WORLDS);
    expect(tally.costs).toBeGreaterThan((2_000 / 60) * WORLDS);
    expect(tally.budgetPauses).toBeGreaterThan((100 / 60) * WORLDS);
    expect(tally.timeouts).toBeGreaterThan(0);
    expect(tally.misfits).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

it('spends what its programs say, to the last decimal, where nothing fails', async () => {
  let costs = 0;
  for (const seed of ['quiet', 'quieter', 'silent']) {
    const result = await new World(quietPlan(planOf(seed, 20))).run();
    expect(result.violation).toBeUndefined();
    costs += result.costs;
  }
  expect(costs).toBeGreaterThan(100);
}, 120_000);

describe('a bug that was put in', () => {
  takeOneIn(3);

  it('is one of six', () => expect(bugs()).toHaveLength(6));

  it.each(bugs().map((bug) => [titleOf(bug), bug]))(
    'is found: %s',
    (_title, bug) => {
      const { violation } = findBug(bug, PROGRAMS_FOR_BUGS);
      expect(violation, `nothing was found in ${PROGRAMS_FOR_BUGS} programs`).toBeDefined();
    },
    PATIENCE_MS,
  );
});

it('is shrunk to what it needs to fail', async () => {
  const plan = planOf('shrinks', 20);
  const [call, fault] = [plan.calls.at(-1)!, plan.faults.at(-1)!];
  // As if that call to that program, together with that fault, were all that it takes.
  const programOf = (each: typeof plan) =>
    each.starts[each.calls.find(({ at }) => at === call.at)?.target ?? -1];
  const tryOut = async (tried: typeof plan) =>
    programOf(tried)?.workflowId === plan.starts[call.target]!.workflowId &&
    tried.faults.some(({ at }) => at === fault.at)
      ? `I1: with ${tried.starts.length} programs`
      : undefined;
  const shrunk = await shrink({ plan, violation: 'I1: at first' }, 30_000, tryOut);
  expect(shrunk.plan).toMatchObject({ starts: [{}], calls: [{ at: call.at, target: 0 }], faults: [fault] });
  expect(sizeOf(shrunk.plan)).toBeLessThanOrEqual(4);
  expect(shrunk.violation).toBe('I1: with 1 programs');
});
