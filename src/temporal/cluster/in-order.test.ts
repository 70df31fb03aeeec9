import { expect, test } from 'vitest';
import { InOrder } from './in-order.js';

const WAIT_MS = 100;
const never = () => new Promise<never>(() => {});

test('one after the other, as they came', async () => {
  const inOrder = new InOrder(WAIT_MS);
  const done: number[] = [];
  const send = (number: number) => () => Promise.resolve().then(() => void done.push(number));
  await Promise.all([1, 2, 3].map((number) => inOrder.with('w', 'other', send(number))));
  expect(done).toEqual([1, 2, 3]);
});

test('however many are before one that is not taken, nobody waits longer, and nothing of those is sent', async () => {
  const inOrder = new InOrder(WAIT_MS);
  void inOrder.with('w', 'other', never);
  let sent = 0;
  const began = performance.now();
  const answers = await Promise.allSettled(
    Array.from({ length: 200 }, () => inOrder.with('w', 'other', async () => ++sent)),
  );
  expect(performance.now() - began).toBeLessThan(100 * WAIT_MS);
  for (const answer of answers)
    expect(answer).toMatchObject({ reason: { name: 'EngineUnavailableError' }, status: 'rejected' });
  expect(sent).toBe(0);
  expect(await inOrder.with('another', 'other', async () => 'sent')).toBe('sent');
});

test('those who gave up hold up nobody, and let nobody before them be overtaken', async () => {
  const inOrder = new InOrder(WAIT_MS);
  let take!: () => void;
  const first = inOrder.with('w', 'other', () => new Promise<void>((resolve) => (take = resolve)));
  await expect(inOrder.with('w', 'other', async () => 'second')).rejects.toThrow('was not sent');
  let isTaken = false;
  const third = inOrder.with('w', 'other', async () => isTaken);
  isTaken = true;
  take();
  expect(await third).toBe(true);
  await first;
});
