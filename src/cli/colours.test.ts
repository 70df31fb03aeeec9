import { expect, it } from 'vitest';
import { canDraw, takesColours } from './colours.js';

const terminal = { isTTY: true };
const pipe = {};

it.each([
  ['a terminal', terminal, {}, true, true],
  ['a pipe', pipe, {}, false, false],
  ['a pipe in CI', pipe, { CI: 'true' }, false, false],
  ['a terminal that can do nothing', terminal, { TERM: 'dumb' }, false, false],
  ['NO_COLOR', terminal, { NO_COLOR: '1' }, false, true],
  ['an empty NO_COLOR', terminal, { NO_COLOR: '' }, true, true],
  ['FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true, false],
  ['FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false, true],
  ['both', pipe, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, false],
])('%s', (_what, output, env, colours, drawing) => {
  expect([takesColours(output, env), canDraw(output, env)]).toEqual([colours, drawing]);
});
