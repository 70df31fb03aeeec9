/** `perdure init`: what it makes, and where it makes nothing. What becomes of it is in test/journey. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { call, MAIN } from './shell.js';

// Each calls the program several times, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'perdure-init-'));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

const init = (...args: string[]) => call(['init', ...args], { cwd: place });
const read = (path: string) => readFileSync(join(place, path), 'utf8');

it('makes a project, named after its folder, with nothing left to fill in', async () => {
  const { code, stdout, stderr } = await init('deep/My Shop');
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(/cd 'deep\/My Shop'\n {2}npm install\n {2}npm test\n {2}npm run dev\n/);
  const files = readdirSync(join(place, 'deep/My Shop'), { recursive: true, encoding: 'utf8' });
  expect(files).toEqual(
    expect.arrayContaining(['.gitignore', 'README.md', 'tsconfig.json', 'test/workflows.test.ts']),
  );
  expect(files.filter((file) => file.endsWith('workflow.ts'))).toHaveLength(2);
  const manifest = JSON.parse(read('deep/My Shop/package.json'));
  const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(manifest).toMatchObject({
    name: 'my-shop',
    dependencies: { perdure: own.version },
    devDependencies: { vitest: own.devDependencies.vitest, typescript: own.devDependencies.typescript },
    scripts: { dev: expect.any(String), start: expect.any(String), test: expect.any(String) },
  });
  expect(read('deep/My Shop/README.md')).toMatch(/^# my-shop\n/);
  // One screen.
  expect(read('deep/My Shop/README.md').split('\n').length).toBeLessThan(45);
  for (const file of files.filter((name) => name.includes('.'))) {
    if (/\.\w+$/.test(file)) expect(read(join('deep/My Shop', file))).not.toContain('{{');
  }
});

it('takes a folder that has nothing but a repository', async () => {
  mkdirSync(join(place, 'fresh/.git'), { recursive: true });
  expect((await call(['init'], { cwd: join(place, 'fresh') })).code).toBe(0);
  expect(existsSync(join(place, 'fresh/package.json'))).toBe(true);
});

it('refuses what cannot be the name of a folder', async () => {
  const unmakeable = existsSync('/proc/self') ? ['/proc/nowhere'] : [];
  for (const name of ['', 'x'.repeat(300), ...unmakeable]) {
    const { code, stderr } = await init(name);
    expect(stderr).toMatch(/^perdure: .*: give (one|another folder)\n$/);
    expect(code).toBe(2);
  }
});

it('leaves nothing behind that would be in the way of the next try', async () => {
  // As on a disk that fills up: the larger ones of its files cannot be written.
  const limited = spawnSync(
    'sh',
    ['-c', 'ulimit -f 1; exec "$0" "$@"', process.execPath, MAIN, 'init', 'full'],
    {
      ...{ cwd: place, encoding: 'utf8' },
    },
  );
  expect(limited.stderr).toBe('perdure: full cannot be written (EFBIG): give another folder\n');
  expect(limited.status).toBe(2);
  expect(readdirSync(join(place, 'full'))).toEqual([]);
  expect((await init('full')).code).toBe(0);
});

it('makes it where one was killed that had made nothing yet, and not where one is under way', async () => {
  mkdirSync(join(place, `killed/.perdure-init-${spawnSync('true').pid}-${randomUUID()}`), {
    recursive: true,
  });
  expect((await init('killed')).code).toBe(0);
  expect(readdirSync(join(place, 'killed')).filter((name) => name.startsWith('.perdure'))).toEqual([]);
  mkdirSync(join(place, `busy/.perdure-init-${process.pid}-${randomUUID()}`), { recursive: true });
  expect((await init('busy')).code).toBe(2);
});

it('refuses a folder that has files, and a file', async () => {
  mkdirSync(join(place, 'mine'));
  writeFileSync(join(place, 'mine/notes.txt'), 'mine');
  const refused = await init('mine');
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toMatch(
    /^perdure: mine has files \(notes\.txt\), and nothing is overwritten: give a new folder/,
  );
  expect(readdirSync(join(place, 'mine'))).toEqual(['notes.txt']);
  const here = await call(['init'], { cwd: join(place, 'mine') });
  expect(here.stderr).toMatch(/this folder has files/);
  const file = await init('mine/notes.txt');
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining('is a file')]);
  const below = await init('mine/notes.txt/project');
  expect([below.code, below.stderr]).toEqual([2, expect.stringMatching(/cannot be written \(ENOTDIR\)/)]);
});
