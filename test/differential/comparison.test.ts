/** The comparison sees what an engine does wrong, and lets pass what is a matter of time. */
import { describe, expect, test } from 'vitest';
import type { EventTypeName } from '../../src/core/history/event.js';
import { differences } from './comparison.js';
import { Numbering } from './numbering.js';
import type { Observation, ObservedEvent } from './observation.js';
import type { Statement } from './program.js';

const sleep: Statement = { op: 'sleep', long: false };
const hold: Statement = { op: 'hold', cancellation: 'try' };

/** Sites: 1 and 2 follow each other, 4 and 5 stand in branches of 3, 7 decides over 8 in 6. */
const numbering = new Numbering({
  workflow: 'program',
  body: [
    sleep,
    sleep,
    { op: 'gather', how: 'settled', concurrency: 2, branches: [[sleep], [sleep]] },
    { op: 'decide', how: 'race', led: false, decider: [sleep], others: [[hold]] },
  ],
  script: [],
});

const event = (
  type: EventTypeName,
  site?: number,
  meaning: Record<string, unknown> = {},
  number?: string,
): ObservedEvent => ({
  type,
  site,
  meaning,
  number,
});

const begin = event('WORKFLOW_EXECUTION_STARTED');
const end = event('WORKFLOW_EXECUTION_COMPLETED', undefined, { result: 1 });
const started = (site: number) => event('TIMER_STARTED', site, {}, String(site));
const fired = (site: number) => event('TIMER_FIRED', site, {}, String(site));

function observed(events: ObservedEvent[], rest: Partial<Observation['runs'][number]> = {}): Observation {
  const run = { who: 'main, run 1', status: 'completed', result: { output: 1 }, brokenRules: [], ...rest };
  const firstTurns = [{ incoming: [begin], commands: [] }];
  return {
    ...{ runs: [{ phases: [events], firstTurns, ...run }], answers: [], disturbances: [] },
    ...{ isDetermined: true, met: [], budget: null, begun: [], brokenPromises: [] },
  };
}

const compare = (one: Observation, other: Observation) => differences(one, other, numbering);

describe('what is a difference', () => {
  const right = [begin, started(1), fired(1), started(2), fired(2), end];
  const attempt = (number: number) =>
    observed([begin, event('ACTIVITY_TASK_STARTED', 1, { attempt: number }), end]);

  test.each<[string, Observation, Observation]>([
    ['an event that is missing', observed(right), observed(right.filter((each) => each !== right[4]))],
    ['an event too many', observed(right), observed([...right.slice(0, 5), fired(2), end])],
    ['another attempt', attempt(1), attempt(2)],
    [
      'another order of what follows each other',
      observed(right),
      observed([begin, started(1), started(2), fired(1), fired(2), end]),
    ],
    [
      'something after the end',
      observed(right),
      observed([begin, started(1), fired(1), started(2), end, fired(2)]),
    ],
    ['another status', observed(right), observed(right, { status: 'failed' })],
    ['another result', observed(right), observed(right, { result: { output: 2 } })],
    ['a broken rule', observed(right), observed(right, { brokenRules: ['event 3 stands at place 4'] })],
    ['a run that is missing', observed(right), { ...observed(right), runs: [] }],
    [
      'another answer',
      observed(right),
      { ...observed(right), answers: [{ action: 'query at 0', answer: { value: 1 } }] },
    ],
    [
      'another number of a timer',
      observed(right),
      observed(right.map((each) => (each.site === 2 ? { ...each, number: '3' } : each))),
    ],
    [
      'another order of what the first turn asks for',
      observed([begin, started(4), started(5), end], {
        firstTurns: [{ incoming: [begin], commands: [started(4), started(5)] }],
      }),
      observed([begin, started(5), started(4), end], {
        firstTurns: [{ incoming: [begin], commands: [started(5), started(4)] }],
      }),
    ],
    [
      'the same events in another phase',
      observed(right),
      observed(right, { phases: [right.slice(0, 3), right.slice(3)] }),
    ],
  ])('%s', (_, one, other) => {
    expect(compare(one, one)).toEqual([]);
    expect(compare(one, other)).not.toEqual([]);
  });
});

describe('what is a matter of time', () => {
  test('the order of branches that run side by side', () => {
    const one = [begin, started(4), started(5), fired(4), fired(5), end];
    const other = [begin, started(4), started(5), fired(5), fired(4), end];
    expect(compare(observed(one), observed(other))).toEqual([]);
  });

  test('whether the end of what nobody waits for comes before the end of the run', () => {
    const scheduled = event('ACTIVITY_TASK_SCHEDULED', 8);
    const cancelled = event('ACTIVITY_TASK_CANCELED', 8);
    const one = [begin, scheduled, started(7), fired(7), end];
    const other = [begin, scheduled, started(7), cancelled, fired(7), end];
    expect(compare(observed(one), observed(other))).toEqual([]);
    // Before anything is closed, it has to come.
    expect(compare(observed(one.slice(0, -1)), observed(other.slice(0, -1)))).not.toEqual([]);
  });
});
