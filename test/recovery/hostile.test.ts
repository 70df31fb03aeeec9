/**
 * One run cannot stop the others: a share of the hostile programs (`npm run hostile` has them all, with the bound that
 * counts). The bound here is a generous one, for machines that are busy with other tests.
 */
import { expect, test } from 'vitest';
import { asTable, measure } from '../hostile/measure.js';
import { HOSTILE_PROGRAMS } from '../hostile/programs.js';
import { share, takeOneIn } from '../share.js';

takeOneIn(2);

const HOSTILE_MS = share(3_000, 6_000);
const ALLOWED_MS = 20_000;

test.each(['endless turn', 'endless step', 'endless query', 'step that is killed', 'frozen process'])(
  'others are hardly held up by: %s',
  async (name) => {
    const program = HOSTILE_PROGRAMS.find((each) => each.name === name)!;
    const measurement = await measure(program, { workers: 1, calmMs: 1_000, hostileMs: HOSTILE_MS });
    console.log(asTable([measurement], ALLOWED_MS).split('\n').at(-1));
    expect(measurement.failures).toEqual([]);
    expect(measurement.hostileMs - measurement.calmMs).toBeLessThan(ALLOWED_MS);
  },
  90_000,
);
