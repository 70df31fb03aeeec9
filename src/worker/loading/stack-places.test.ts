import { describe, expect, it } from 'vitest';
import { placeIn } from './stack-places.js';

describe('the place in a line of a stack trace', () => {
  it.each([
    ['    at f (/a/steps.js:1:2)', '/a/steps.js'],
    ['    at /a/steps.js:1:2', '/a/steps.js'],
    ['    at async /a/steps.js:1:2', '/a/steps.js'],
    ['    at async Promise.all (index 0)', undefined],
    ['    at new Order [as make] (/my files (new)/steps.js:1:2)', '/my files (new)/steps.js'],
    ['    at async /my files (new)/steps.js:1:2', '/my files (new)/steps.js'],
    ['    at eval (eval at f (/a/steps.js:1:2), <anonymous>:1:2)', '<anonymous>'],
    ['see my files at home (/a/steps.js:1:2)', '/a/steps.js'],
    ['/my files/steps.js:1:2: ERROR: no', undefined],
  ])('%s', (line, file) => {
    const place = placeIn(line);
    expect(place?.file).toBe(file);
    if (place) expect(line.slice(place.start, place.end)).toBe(`${file}:1:2`);
  });
});
