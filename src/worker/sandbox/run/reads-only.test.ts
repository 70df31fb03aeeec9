import { describe, expect, test } from 'vitest';
import { readsOnly } from './reads-only.js';

const handlerOf = (text: string) =>
  new Function(`const stage = 1, order = {}, items = [], f = () => {}; return ${text}`)() as () => unknown;

describe('can only read', () => {
  test.each([
    '() => stage',
    '() => ({ stage, count: items.length, first: items[0]?.name, ...order })',
    '(id) => items.find((item) => item.id === id)',
    '() => items.filter((i) => i.ok && !i.done).map((i) => i.name).join(", ")',
    'function status() { return order.status; }',
    '({ status() { return order.status; } }).status',
    '() => { const open = items.filter((i) => i.open); if (open.length > 0) return open.length; return 0; }',
    '() => Object.keys(order).length + Math.max(1, 2) - Number("3")',
    '(amount) => { if (amount < 0) throw new RangeError("too little"); }',
    '() => { for (const item of items) if (item.bad) return false; return true; }',
    '() => [...items, stage ? 1 : 2]',
    '() => new Error("x").message',
  ])('%s', (text) => expect(readsOnly(handlerOf(text))).toBe(true));
});

describe('cannot be told to', () => {
  test.each([
    '() => stage++',
    '() => --order.n',
    '() => { order.seen = true; return 1; }',
    '() => (order.n += 1)',
    '() => (order.n ??= 1)',
    '() => ([order.a] = [1])',
    '({ n } = order) => n',
    '(n = f()) => n',
    '() => items.push(1)',
    '() => items.sort()',
    '() => items.map(f)',
    '() => items.map((f))',
    '() => items.forEach((i) => i)',
    '() => items["pu" + "sh"](1)',
    '() => order.cache.get("x")',
    '() => f()',
    '() => (f)()',
    '() => f?.()',
    '() => (() => f)()()',
    '() => delete order.x',
    '() => Object.assign(order, { a: 1 })',
    '() => Array.from(items.x, f)',
    '() => JSON.stringify(order, f)',
    '() => new Map()',
    '() => `$' + '{f()}`',
    '() => f`x`',
    'async () => stage',
    '() => { let n = 1; n = 2; order.n = n; }',
    '() => { let g = f; g(); }',
    '() => order.Math.max(1)',
    '() => /a/.test("a")',
    '() => 4 / 2',
    'f.bind()',
    'Math.max',
  ])('%s', (text) => expect(readsOnly(handlerOf(text))).toBe(false));
});
