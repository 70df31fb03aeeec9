/** `perdure/testing` as users have it: installed, in other test runners, and word for word from the documentation. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Project } from './project.fixture.js';

const PAGE = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');

let project: Project;
beforeAll(() => {
  project = new Project();
});
afterAll(() => project.remove());

const vitest = (...args: string[]) =>
  project.node('node_modules/vitest/vitest.mjs', 'run', '--testTimeout=60000', ...args);

test('the code of the documentation runs, compiles in strict mode, and leaves nothing behind', async () => {
  const blocks = [...PAGE.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)];
  expect(blocks.length).toBe(PAGE.split('```ts').length - 1);
  for (const [, file, text] of blocks) project.write(file!, text!);
  const before = project.files();
  const { code, output } = await vitest('test');
  expect(output).toMatch(/Test Files\s+\D*5 passed/);
  expect(code, output).toBe(0);
  expect(project.files()).toEqual(before);
  project.write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: { strict: true, module: 'NodeNext', target: 'ES2022', noEmit: true, types: ['node'] },
      include: ['workflows', 'test'],
    }),
  );
  expect(await project.node('node_modules/typescript/bin/tsc', '-p', '.')).toEqual({ code: 0, output: '' });
}, 400_000);

test('node:test, in JavaScript and without a word at its end: the process ends by itself', async () => {
  project.write(
    'plain/workflows/hello/steps.js',
    `import { step } from 'perdure';
    export const greeted = [];
    export const greet = step({ name: 'greet', fn: async (name) => { greeted.push(name); return 'hello ' + name; } });`,
  );
  project.write(
    'plain/workflows/hello/workflow.js',
    `import { sleep, step, workflow } from 'perdure';
    import { greet } from './steps.js';
    const inner = step({ name: 'inner', fn: async (text) => text + '!' });
    export default workflow({ name: 'hello', fn: async (name) => { await sleep('30 days'); return inner(await greet(name)); } });`,
  );
  project.write(
    'plain/hello.test.mjs',
    `import assert from 'node:assert/strict';
    import { test } from 'node:test';
    import { createTestEnvironment, crashEverywhere } from 'perdure/testing';
    import { greeted } from './workflows/hello/steps.js';
    import hello from './workflows/hello/workflow.js';
    test('hello', async () => {
      const env = await createTestEnvironment({ workflows: 'plain/workflows' });
      assert.equal(await env.run(hello, 'ada'), 'hello ada!');
      assert.deepEqual(greeted, ['ada']);
      await crashEverywhere(env, (each) => each.run(hello, 'ada'));
      const open = process.getActiveResourcesInfo().filter((each) => /TCP|Pipe|Process|Timeout/.test(each));
      assert.deepEqual(open.filter((each) => each !== 'PipeWrap'), []);
    });`,
  );
  const { code, output } = await project.node('--test', 'plain/hello.test.mjs');
  expect(output).toContain('# pass 1');
  expect(code, output).toBe(0);
}, 120_000);

test('TypeScript by another loader: the steps that the test has imported are the ones that run', async () => {
  project.write(
    'node/order.test.ts',
    `import assert from 'node:assert/strict';
    import { test } from 'node:test';
    import { createTestEnvironment } from 'perdure/testing';
    import { charge } from '../workflows/order/steps.js';
    import order from '../workflows/order/workflow.js';
    test('order', async () => {
      const env = await createTestEnvironment({ workflows: 'workflows' });
      env.mock(charge, async ({ cents }) => ({ receipt: String(cents) }));
      const run = await env.start(order, { orderId: 'A-1', cents: 1999 });
      await run.signal('approve', { by: 'ada' });
      assert.deepEqual(await run.result(), { tracking: 'parcel-A-1' });
      await env.close();
    });`,
  );
  const { code, output } = await project.node('--import', 'tsx', '--test', 'node/order.test.ts');
  expect(output).toContain('# pass 1');
  expect(code, output).toBe(0);
}, 120_000);

test("a runner's mocked modules are those of the steps, also where nothing else may evaluate them", async () => {
  project.write(
    'mocked/workflows/save/database.ts',
    `export const save = (x: string): string => { throw new Error('for real'); };`,
  );
  project.write(
    'mocked/workflows/save/steps.ts',
    `import { step } from 'perdure';
    import { save } from './database.js';
    export const store = step({ name: 'store', options: { retry: { maximumAttempts: 1 } }, fn: async (x: string) => save(x) });`,
  );
  project.write(
    'mocked/workflows/save/workflow.ts',
    `import { workflow } from 'perdure';
    import { store } from './steps.js';
    export default workflow({ name: 'save', fn: async (x: string) => store(x) });`,
  );
  const testOf = (folder: string, options: string) => `
    import { createTestEnvironment } from 'perdure/testing';
    import { expect, test, vi } from 'vitest';
    import save from './${folder}/save/workflow.js';
    vi.mock('./${folder}/save/database.js', () => ({ save: (x: string) => 'mocked ' + x }));
    test('save', async () => {
      const env = await createTestEnvironment({ workflows: 'mocked/${folder}' ${options} });
      expect(await env.run(save, 'x')).toBe('mocked x');
      await env.close();
    });`;
  project.write('mocked/first.test.ts', testOf('workflows', ''));
  for (const file of ['steps.ts', 'workflow.ts']) {
    project.write(
      `mocked/strict/save/${file}`,
      readFileSync(`${project.path}/mocked/workflows/save/${file}`, 'utf8'),
    );
  }
  project.write(
    'mocked/strict/save/database.ts',
    `throw new Error('connects when it is loaded'); export const save = 1;`,
  );
  project.write('mocked/second.test.ts', testOf('strict', ', import: (path) => import(path)'));
  const { code, output } = await vitest('mocked');
  expect(output).toMatch(/Tests\s+\D*2 passed/);
  expect(code, output).toBe(0);
}, 120_000);
