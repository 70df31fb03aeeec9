/** What the flags of the benchmark choose. */
import { describe, expect, it } from 'vitest';
import { plan, SCENARIOS, SYSTEMS } from './modules.js';

const read = (...args: string[]) => plan.readPlan(args, SCENARIOS, SYSTEMS);
const names = (of: { name: string }[]) => of.map(({ name }) => name);

describe('the plan', () => {
  it('is everything, unless it is told', () => {
    expect(names(read().scenarios)).toEqual(names(SCENARIOS));
    expect(names(read().systems)).toEqual(names(SYSTEMS));
    expect([read().rounds, read().seconds, read().sized(100_000)]).toEqual([3, 4, 100_000]);
  });

  it('takes names of scenarios and of systems in one list', () => {
    const { scenarios, systems } = read('--only', 'sync,start,perdure,restate');
    expect(names(scenarios)).toEqual(['sync', 'start']);
    expect(names(systems)).toEqual(['perdure', 'restate']);
  });

  it('with a system alone takes the scenarios that have it', () => {
    expect(names(read('--only', 'openworkflow').scenarios)).toEqual(['sync', 'start', 'fan-out']);
  });

  it('may show some of the scenarios', () => {
    expect(names(read('--only', 'sync,replay', '--write-docs').scenarios)).toEqual(['sync', 'replay']);
  });

  it('does little of each when it is quick, but never so little that it means nothing', () => {
    const quick = read('--quick');
    expect([quick.rounds, quick.seconds, quick.sized(100_000), quick.sized(100, 20)]).toEqual([
      1, 1, 1_000, 20,
    ]);
    expect(read('--quick', '--size', '0.5').sized(100)).toBe(50);
  });

  it.each([
    [['--only', 'sink'], /--only sink: choose from sync, /],
    [['--seconds', '0'], /--seconds 0: a positive number/],
    [['--sekonds', '1'], /--sekonds/],
    [['--quick', '--write-docs'], /not for showing/],
    [['--size', '2', '--write-docs'], /not for showing/],
    [['--only', 'sync,perdure', '--write-docs'], /not for showing/],
    [['--from', 'x.json'], /--write-docs/],
  ])('refuses %j', (args, message) => {
    expect(() => read(...args)).toThrow(message);
  });
});
