import { expect, it } from 'vitest';
import { Arrivals } from './arrivals.js';

const gate = () => {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

it('hands over in the order of arrival, whichever is prepared first', async () => {
  const arrivals = new Arrivals();
  const handed: number[] = [];
  const gates = Array.from({ length: 5 }, gate);
  const calls = gates.map(({ opened }, index) =>
    arrivals.inOrder(
      'one',
      () => opened,
      async () => handed.push(index),
    ),
  );
  for (const { open } of gates.reverse()) open();
  await Promise.all(calls);
  expect(handed).toEqual([0, 1, 2, 3, 4]);
});

it('does not wait for answers, nor for what could not be prepared, nor for other workflows', async () => {
  const arrivals = new Arrivals();
  const { open, opened } = gate();
  const never = arrivals.inOrder(
    'other',
    () => opened,
    async () => 'late',
  );
  const unanswered = arrivals.inOrder(
    'one',
    async () => undefined,
    () => opened.then(() => 'answered'),
  );
  const refused = arrivals.inOrder(
    'one',
    () => Promise.reject(new Error('refused')),
    async () => 'never',
  );
  const next = arrivals.inOrder(
    'one',
    async () => 'next',
    async (text) => text,
  );
  await expect(refused).rejects.toThrow('refused');
  expect(await next).toBe('next');
  open();
  expect(await Promise.all([never, unanswered])).toEqual(['late', 'answered']);
});

it('lets nobody overtake those before one that could not be prepared', async () => {
  const arrivals = new Arrivals();
  const handed: string[] = [];
  const { open, opened } = gate();
  const first = arrivals.inOrder(
    'one',
    () => opened,
    async () => handed.push('first'),
  );
  const refused = arrivals.inOrder(
    'one',
    () => Promise.reject(new Error('refused')),
    async () => handed.push('refused'),
  );
  const last = arrivals.inOrder(
    'one',
    async () => undefined,
    async () => handed.push('last'),
  );
  await expect(refused).rejects.toThrow('refused');
  await new Promise(setImmediate);
  expect(handed).toEqual([]);
  open();
  await Promise.all([first, last]);
  expect(handed).toEqual(['first', 'last']);
});
