/** The set of bugs stays whole: a patch that a change of the code has made unfit is mended with that change. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AREAS, CHECKOUT, readMutants, whyNotApplicable } from './patches.js';

const mutants = readMutants();

describe('the mutants', () => {
  it('all apply to the checkout', () => {
    const unfit = mutants.flatMap((mutant) => {
      const why = whyNotApplicable(mutant, CHECKOUT);
      return why === undefined ? [] : [`${mutant.area}/${mutant.name}: ${why}`];
    });
    expect(unfit).toEqual([]);
  });

  it('name tests that are there, and change the program and nothing else', () => {
    for (const { name, foundBy, changes } of mutants) {
      const missing = foundBy.filter((file) => !existsSync(join(CHECKOUT, file)));
      expect(missing, `tests of ${name}`).toEqual([]);
      expect(changes.length, `changes of ${name}`).toBeGreaterThan(0);
      for (const file of changes) expect(file, name).toMatch(/^src\/.*(?<!\.(test|fixture))\.ts$/);
    }
  });

  it('are of every area, most of them of the embedded engine, and hardly any is beyond the tests', () => {
    const areas = mutants.map(({ area }) => area);
    expect(new Set(areas)).toEqual(new Set(AREAS));
    expect(mutants.length).toBeGreaterThanOrEqual(80);
    expect(areas.filter((area) => area === 'embedded').length).toBeGreaterThanOrEqual(40);
    const beyond = mutants.filter(({ survives }) => survives !== undefined);
    expect(beyond.length / mutants.length).toBeLessThanOrEqual(0.05);
  });
});
