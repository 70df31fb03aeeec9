import { describe, expect, it } from 'vitest';
import { cut, plain, table, widthOf } from './screen.js';

describe('the width of a text', () => {
  it.each([
    ['order-1', 7],
    ['\u001b[31mred\u001b[39m', 3],
    ['注文', 4],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['cafe\u0301', 4],
    ['a\u200bb', 2],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['✓', 1],
    ['…', 1],
    ['हिन्दी', 5],
  ])('%j is %i', (text, width) => expect(widthOf(text)).toBe(width));
});

describe('cut', () => {
  it.each([
    ['注文注文', 5, '注文…'],
    // Half of a character cannot be shown.
    ['注文注文', 4, '注…'],
    ['cafe\u0301s', 5, 'cafe\u0301s'],
    ['👩‍👩‍👧👩‍👩‍👧', 3, '👩‍👩‍👧…'],
    ['a\u001b[31mbcd\u001b[39m', 3, 'a\u001b[31mb\u001b[39m…'],
  ])('%j to %i', (text, width, shown) => {
    expect(cut(text, width)).toBe(shown);
    expect(widthOf(shown)).toBeLessThanOrEqual(width);
  });
});

describe('a table', () => {
  const rows = [
    ['注文-1', 'order', 'running'],
    ['b', '👩‍👩‍👧', 'failed'],
  ];
  it('has its columns below each other whatever is in them', () => {
    const lines = table(['ID', 'WORKFLOW', 'STATUS'], rows, undefined).split('\n');
    const before = lines.map((line) => widthOf(line.slice(0, line.search(/STATUS|running|failed/))));
    expect(before).toEqual([18, 18, 18]);
  });

  it('has as many lines as there are runs', () => {
    const many = Array.from({ length: 200_000 }, (_, at) => [`run-${at}`]);
    expect(table(['ID'], many, undefined).split('\n')).toHaveLength(200_001);
  });

  it('is no wider than the terminal', () => {
    for (let columns = 4; columns < 30; columns++) {
      for (const line of table(['ID', 'WORKFLOW', 'STATUS'], rows, columns).split('\n'))
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
    }
  });
});

describe('plain', () => {
  it.each([
    ['a\u001b[2Jb', 'a\\u001b[2Jb'],
    ['a\u009b2Jb', 'a\\u009b2Jb'],
    ['two\r\nlines\tand', 'two lines and'],
    ['a\u202etxt.exe', 'a\\u202etxt.exe'],
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['注文 é', '注文 é'],
  ])('%j', (text, shown) => expect(plain(text)).toBe(shown));
});
