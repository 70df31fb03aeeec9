import { expect, it } from 'vitest';
import { parseJson } from './json-text.js';

it.each([
  ['{\n  "server": x\n}', "Unexpected token 'x' at line 2, column 13"],
  ['{\n  "a": 1,\n}', 'Expected double-quoted property name at line 3, column 1'],
  ['{"a":1}}', 'Unexpected non-whitespace character after JSON at line 1, column 8'],
  ['{\n', "Expected property name or '}' at line 2, column 1"],
  ['', 'Unexpected end of JSON input at line 1, column 1'],
  [`${'[1],\n'.repeat(3)}`, 'Unexpected non-whitespace character after JSON at line 1, column 4'],
  [`{"long": "${'x'.repeat(500)}",\n"b": <html>}`, "Unexpected token '<' at line 2, column 6"],
])('%j', (text, message) => expect(() => parseJson(text)).toThrow(new SyntaxError(message)));

it('takes the mark that some editors put in front', () => {
  expect(parseJson('\ufeff{"a":1}')).toEqual({ a: 1 });
});
