import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeFolder } from './make-folder.js';

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'perdure-folder-'));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

it('makes a folder with those above it, and leaves one that is there', () => {
  const folder = join(place, 'a/b/c');
  makeFolder(folder, 0o700);
  makeFolder(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

it('says that a file is in its place, or above it', () => {
  writeFileSync(join(place, 'file'), '');
  expect(() => makeFolder(join(place, 'file'))).toThrow(/EEXIST/);
  expect(() => makeFolder(join(place, 'file/a/b'))).toThrow(/ENOTDIR/);
});

it.runIf(existsSync('/proc/self'))('says so where nothing can be made, and returns', () => {
  // In a process of its own, since what never returns would take this one with it.
  const module = new URL('./make-folder.ts', import.meta.url).href;
  for (const path of ['/proc/nowhere', '/proc/nowhere/deep']) {
    const script = `import('${module}').then(({ makeFolder }) => makeFolder('${path}')).catch(({ code }) => console.log(code))`;
    const args = ['--import', 'tsx', '-e', script];
    const said = execFileSync(process.execPath, args, { timeout: 60_000, killSignal: 'SIGKILL' });
    expect(String(said)).toBe('ENOENT\n');
  }
});
