/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment, type TestEnvironment } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { book, release } from './steps.js';
import trip from './workflow.js';

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'examples' });
});
afterEach(() => env.close());

test('books all parts', async () => {
  env.mock(book, async ({ part }) => ({ part, reference: `${part}-1` }));
  expect(await env.run(trip, { traveller: 'ada' })).toEqual({ references: ['flight-1', 'hotel-1', 'car-1'] });
});

test('gives back what is booked, last first, when a part is sold out', async () => {
  const run = await env.start(trip, { traveller: 'ada', soldOut: 'car' });
  await expect(run.result()).rejects.toMatchObject({ cause: { message: 'There is no car left' } });
  const released = run.calls(release).map(({ input }) => (input as { part: string }).part);
  expect(released).toEqual(['hotel', 'flight']);
});

test('gives back what is booked when it is stopped', async () => {
  let isHotelAsked!: () => void;
  const asked = new Promise<void>((resolve) => {
    isHotelAsked = resolve;
  });
  env.mock(book, async ({ part }) => {
    if (part === 'hotel') {
      isHotelAsked();
      return new Promise<never>(() => {});
    }
    return { part, reference: `${part}-1` };
  });
  const run = await env.start(trip, { traveller: 'ada' });
  await asked;
  await run.stop();
  expect(await run.status()).toMatchObject({ status: 'cancelled' });
  expect(run.calls(release)).toEqual([{ input: { part: 'flight', reference: 'flight-1' }, attempt: 1 }]);
});

test('nothing stays booked whatever goes wrong', async () => {
  await crashEverywhere(env, async (each) => {
    const booked = new Set<string>();
    each.mock(book, async ({ part, soldOut }) => {
      if (soldOut) throw new Error('sold out');
      booked.add(part);
      return { part, reference: part };
    });
    each.mock(release, async ({ reference }) => {
      booked.delete(reference);
    });
    const failed = await each.run(trip, { traveller: 'ada', soldOut: 'car' }).catch((error: Error) => error);
    expect(failed).toBeInstanceOf(Error);
    return [...booked];
  });
});
