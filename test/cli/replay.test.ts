/** `perdure replay` where it is used wrongly; what it finds in histories is in every-command.ts. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createTestEnvironment } from '../../src/testing/index.js';
import { type CallOptions, call } from './shell.js';

// Each calls the program several times, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

let place: string;
let history: string;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'perdure-replay-'));
  const env = await createTestEnvironment({ workflows: WORKFLOWS });
  const run = await env.start('adds', { a: 1, b: 2 });
  await run.result();
  history = JSON.stringify(await run.history());
  await env.close();
  const files = {
    'good.json': history,
    'half.json': history.slice(0, 100),
    'other.json': '{"name":"a package"}',
    'page.json': `{"events":${history},"nextPageToken":"more"}`,
    'gone.json': history.replace('"name":"adds"', '"name":"gone"'),
    'talks/hello/workflow.ts': `console.log('loaded'); import { workflow } from 'perdure'; export default workflow({ name: 'adds', fn: async () => 1 });`,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(place, name, '..'), { recursive: true });
    writeFileSync(join(place, name), text);
  }
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

const replay = (args: string[], options: CallOptions = {}) =>
  call(['replay', '--workflows', WORKFLOWS, ...args], { cwd: place, ...options });

it.each<[string, string[], RegExp]>([
  ['nothing to replay', [], /say what to replay: files of histories, or --open/],
  ['files and --open', ['good.json', '--open'], /and not both/],
  ['a filter of files', ['good.json', '--filter', 'status=running'], /it goes with --open/],
  ['open runs that are closed', ['--open', '--filter', 'status=failed'], /--open is status=running/],
  ['a file that is missing', ['none.json'], /none\.json cannot be read \(ENOENT\)/],
  ['a folder', ['talks'], /talks cannot be read \(it is a folder: name the files in it\)/],
  ['a file that is no JSON', ['half.json'], /half\.json is not JSON/],
  [
    'a file that is no history',
    ['other.json'],
    /other\.json cannot be replayed: this is no history.*perdure history ID --payloads --json/,
  ],
  ['one page of several', ['page.json'], /not the last one/],
  ['no workflows', ['good.json', '--workflows', 'nowhere'], /nowhere/],
])('%s is wrong use', async (_what, args, says) => {
  const { code, stdout, stderr } = await replay(args);
  expect(stderr).toMatch(says);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).not.toMatch(/^\s+at /m);
});

it('tells those that fit from those that do not, and takes standard input', async () => {
  const { code, stdout, stderr } = await replay(['good.json', 'gone.json', '-'], { input: history });
  expect(stdout).toMatch(/^✓ good\.json\n✗ gone\.json\n {4}.*has no workflow "gone".*\n✓ standard input\n$/);
  expect(stderr).toMatch(/1 of 3 histories does not fit/);
  expect(code).toBe(1);
});

it('ends with 5 where there is no server, before anything is loaded', async () => {
  const { code, stderr } = await replay([
    '--open',
    '--server',
    'http://127.0.0.1:1',
    '--workflows',
    'nowhere',
  ]);
  expect(stderr).toMatch(/no answer from http:\/\/127\.0\.0\.1:1/);
  expect(code).toBe(5);
});

it('gives JSON alone, whatever the modules of the author print', async () => {
  const { code, stdout } = await replay(['good.json', '--json', '--workflows', 'talks']);
  expect(JSON.parse(stdout)).toMatchObject({
    checked: 1,
    misfits: 1,
    results: [{ source: 'good.json', ok: false }],
  });
  expect(code).toBe(1);
});

it('code that loops without end does not fit, by name, and those after it are replayed', async () => {
  const workflow = (fn: string) =>
    `import { workflow } from 'perdure'; export default workflow({ name: 'adds', fn: async () => { ${fn} } });`;
  for (const [name, fn] of [
    ['loops', 'for (;;) {}'],
    ['promises', 'for (;;) await null;'],
  ] as const) {
    mkdirSync(join(place, name, 'adds'), { recursive: true });
    writeFileSync(join(place, name, 'adds/workflow.ts'), workflow(fn));
    const files = ['good.json', 'gone.json', '--workflows', name, '--within', '2s'];
    const { code, stdout, stderr } = await replay(files);
    expect(stdout).toMatch(
      /✗ good\.json\n.*workflow "adds" cannot be run: it did not come to rest within 2 s/,
    );
    expect(stdout).toContain('✗ gone.json');
    expect([code, stderr]).toEqual([1, expect.stringContaining('2 of 2 histories do not fit')]);
  }
});

it('modules that end their thread are code that does not load', async () => {
  mkdirSync(join(place, 'exits/adds'), { recursive: true });
  writeFileSync(join(place, 'exits/adds/workflow.ts'), 'process.exit(0); export {};');
  const { code, stderr } = await replay(['good.json', '--workflows', 'exits']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('exits')]);
});
