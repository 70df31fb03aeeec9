import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findConfig } from './config-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-config-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = (text: string) => {
  writeFileSync(join(folder, 'perdure.config.ts'), `export default { ${text} };`);
  return findConfig(folder);
};

it.each([
  ['server: 5', /^server in .*perdure\.config\.ts is a number: give a URL such as/],
  ['server: ["http://a"]', /is a list: give a URL/],
  ['token: { secret: "hush" }', /^token in .* is an object: give the secret as a text$/],
  ['token: async () => "hush"', /is a function: give the secret/],
  ['tokenFile: ""', /is empty: give the path of a file/],
  ['catalog: null', /is null: give the name of a catalog/],
])('says what %s is, and what it should be', async (text, says) => {
  await expect(config(text)).rejects.toThrow(says);
});

it('leaves out what is undefined, such as a variable that is not set', async () => {
  const found = await config('server: "http://a", token: process.env.PERDURE_NO_SUCH_VARIABLE');
  expect(found?.values).toEqual({ server: 'http://a' });
});

it.runIf(process.platform === 'linux')('is read where nothing can be written beside it', async () => {
  // Root may write into any folder, but nobody a file whose path is longer than this.
  const longest = 4_095 - '/perdure.config.ts'.length;
  let deep = folder;
  while (deep.length < longest) {
    const room = longest - deep.length - 1;
    deep = join(deep, 'x'.repeat(room > 250 ? 120 : room));
  }
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'perdure.config.ts'), 'export default { server: "http://a" as string };');
  expect((await findConfig(deep))?.values).toEqual({ server: 'http://a' });
});
