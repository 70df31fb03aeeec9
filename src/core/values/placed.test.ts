import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Placed } from './placed.js';

it('has what came and has not gone', () => {
  const places = fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 60 });
  fc.assert(
    fc.property(places, (changes) => {
      const members = Array.from({ length: 10 }, (_, name) => ({ name, place: 0 }));
      const placed = new Placed<(typeof members)[number]>();
      const there = new Set<object>();
      for (const [comes, at] of changes) {
        const member = members[at]!;
        if (!comes) {
          placed.delete(member);
          there.delete(member);
        } else if (!there.has(member)) {
          placed.add(member);
          there.add(member);
        }
      }
      expect(new Set(placed.all())).toEqual(there);
      expect(placed.all()).toHaveLength(placed.size);
      expect(placed.size).toBe(there.size);
    }),
  );
});
