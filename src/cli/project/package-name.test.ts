import { expect, it } from 'vitest';
import { packageName } from './package-name.js';

it.each([
  ['demo', 'demo'],
  ['My Workflows', 'my-workflows'],
  ['Ünïcode & Co.', 'unicode-co'],
  ['.hidden', 'hidden'],
  ['_private', 'private'],
  ['漢字', 'workflows'],
  ['---', 'workflows'],
  ['node_modules', 'node_modules-workflows'],
  ['http', 'http-workflows'],
  ['perdure', 'perdure-workflows'],
  ['Perdure', 'perdure-workflows'],
  ["it's (mine)!", 'it-s-mine'],
  ['a'.repeat(300), 'a'.repeat(204)],
])('of %j is %j', (folder, name) => {
  expect(packageName(folder, ['perdure', 'vitest'])).toBe(name);
  expect(name.length).toBeLessThanOrEqual(214);
});
