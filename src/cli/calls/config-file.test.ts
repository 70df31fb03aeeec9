import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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

it('is for nobody else to read while it is loaded, and what a kill has left of it is taken away', async () => {
  const left = `.perdure.config.ts.${spawnSync('true').pid}-${randomUUID()}.mjs`;
  writeFileSync(join(folder, left), '');
  const modes = `import { readdirSync, statSync } from 'node:fs';
const built = readdirSync('${folder}').filter((name) => name.endsWith('.mjs'));
export default { catalog: built.map((name) => (statSync('${folder}/' + name).mode & 0o777).toString(8)).join() };`;
  writeFileSync(join(folder, 'perdure.config.ts'), modes);
  const found = await findConfig(folder);
  expect(found?.values).toEqual({ catalog: '600' });
  expect(readdirSync(folder)).toEqual(['perdure.config.ts']);
});

it.runIf(process.getuid?.() === 0)('is passed over where anybody may have put it', async () => {
  const below = join(folder, 'below');
  mkdirSync(below);
  await config('server: "http://own"');
  chmodSync(folder, 0o1777);
  expect((await findConfig(below))?.values).toEqual({ server: 'http://own' });
  chownSync(join(folder, 'perdure.config.ts'), 65_534, 65_534);
  expect((await findConfig(below))?.values).toBeUndefined();
  // Such as a file that root has given away, where nobody but root could have put another one.
  chmodSync(folder, 0o755);
  expect((await findConfig(below))?.values).toEqual({ server: 'http://own' });
  // Anybody may make a folder in /tmp, and then whatever is below it.
  chownSync(folder, 65_534, 65_534);
  expect((await findConfig(below))?.values).toBeUndefined();
  chownSync(folder, 0, 0);
  rmSync(join(folder, 'perdure.config.ts'));
  writeFileSync(join(below, 'mine.json'), '{ "server": "http://mine" }');
  symlinkSync('below/mine.json', join(folder, 'perdure.config.json'));
  lchownSync(join(folder, 'perdure.config.json'), 65_534, 65_534);
  chmodSync(folder, 0o1777);
  expect((await findConfig(folder))?.values).toBeUndefined();
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
