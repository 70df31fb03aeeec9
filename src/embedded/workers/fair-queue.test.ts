/** Lanes share, whatever their items need, and what cannot be met holds up nothing. */
import { expect, it } from 'vitest';
import { FairQueue, type Need } from './fair-queue.js';

const need = (key: string): Need => ({ key });
const [a, b] = [need('a'), need('b')];
const all = () => true;

function drain(queue: FairQueue<string, Need>, canBeMet: (need: Need) => boolean = all): string[] {
  const order: string[] = [];
  for (let next = queue.next(canBeMet); next; next = queue.next(canBeMet)) {
    queue.take(next);
    order.push(next.item);
  }
  return order;
}

it('serves lanes in turns, over all needs', () => {
  const queue = new FairQueue<string, Need>();
  for (const i of [1, 2, 3]) queue.push('large', a, `large a${i}`);
  for (const i of [1, 2, 3]) queue.push('large', b, `large b${i}`);
  queue.push('small', b, 'small 1');
  queue.push('small', b, 'small 2');
  expect(drain(queue)).toEqual([
    ...['large a1', 'small 1', 'large b1', 'small 2', 'large a2', 'large b2', 'large a3', 'large b3'],
  ]);
  expect(queue.length).toBe(0);
});

it('gives out a lane of thousands whole and in order', () => {
  const queue = new FairQueue<string, Need>();
  const items = Array.from({ length: 5_000 }, (_, index) => String(index));
  for (const item of items) queue.push('large', a, item);
  const order = items.map(() => {
    const next = queue.next(all)!;
    queue.take(next);
    return next.item;
  });
  expect(order).toEqual(items);
  expect(queue.next(all)).toBeUndefined();
});

it('passes over what cannot be met, and keeps its place for when it can', () => {
  const queue = new FairQueue<string, Need>();
  queue.push('one', a, 'a1');
  queue.push('two', b, 'b1');
  queue.push('one', b, 'b2');
  expect(drain(queue, ({ key }) => key === 'b')).toEqual(['b1', 'b2']);
  expect(queue.needs).toEqual([a]);
  expect(drain(queue)).toEqual(['a1']);
});

it('gives what is urgent before all else of its lane, whatever that needs, and not before other lanes', () => {
  const queue = new FairQueue<string, Need>();
  queue.push('other', a, 'other');
  queue.push('lane', a, 'usual');
  queue.push('lane', b, 'urgent', true);
  expect(drain(queue)).toEqual(['other', 'urgent', 'usual']);
});

it('gives back all that has one need', () => {
  const queue = new FairQueue<string, Need>();
  queue.push('one', a, 'a1');
  queue.push('two', a, 'a2', true);
  queue.push('two', b, 'b1');
  expect(queue.takeAll(a).sort()).toEqual(['a1', 'a2']);
  expect([...queue]).toEqual(['b1']);
  expect(queue.takeAll(a)).toEqual([]);
  expect(queue.length).toBe(1);
});

it('knows how many come before an item', () => {
  const queue = new FairQueue<string, Need>();
  const lanes = { large: ['l1', 'l2', 'l3', 'l4'], small: ['s1'], middle: ['m1', 'm2'] };
  for (const [lane, items] of Object.entries(lanes)) for (const item of items) queue.push(lane, a, item);
  // One that has been served goes to the end of the lanes.
  queue.take(queue.next(all)!);
  const places = Object.entries(lanes).flatMap(([lane, items]) =>
    items.map((item) => [item, queue.before(lane, a, (each) => each === item)]),
  );
  expect(Object.fromEntries(places)).toEqual({
    l1: undefined,
    ...Object.fromEntries(drain(queue).map((item, at) => [item, at])),
  });
  expect(queue.before('large', a, all)).toBeUndefined();
});
