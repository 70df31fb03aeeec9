import { describe, expect, it } from 'vitest';
import { legible, shorten } from './legible.js';

describe('texts of others', () => {
  it('show what turns them around or cannot be seen, as JSON writes it', () => {
    expect(legible('report-\u202Efdp.exe')).toBe('report-\\u202efdp.exe');
    expect(legible('a\u0000b\u200Bc\u2066d\u2028e\uFEFF')).toBe('a\\u0000b\\u200bc\\u2066d\\u2028e\\ufeff');
    expect(legible('half \ud83d of one')).toBe('half \\ud83d of one');
    expect(legible('a tag \u{E0041}')).toBe('a tag \\udb40\\udc41');
    expect(JSON.parse(`"${legible('\u202E')}"`)).toBe('\u202E');
  });

  it('are left as people write them otherwise', () => {
    for (const text of ['two\nlines\tand a tab', 'שלום', 'نامه‌ها', '👩‍👩‍👧‍👦🇩🇪', 'naïve <b>', '']) {
      expect(legible(text)).toBe(text);
    }
  });

  it('are cut between characters', () => {
    expect(shorten('A-1023')).toBe('A-1023');
    expect(shorten('abcdefghij', 5)).toBe('ab…ij');
    expect(shorten('🚚'.repeat(10), 5)).toBe('🚚🚚…🚚🚚');
    expect(shorten(`\u202E${'x'.repeat(30)}`, 10)).toBe('\\u202…xxxx');
  });
});
