import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import type { WorkflowBundle } from './bundle.js';
import type { LoadProblem } from './load-error.js';
import type { LoadedWorkflows } from './loader.js';

/**
 * Loading changes how a process imports modules, so it happens in a process of its own, from the built code, as a
 * worker does it. One process loads all the folders, one after the other.
 */
const LOADER = fileURLToPath(new URL('../../../dist/worker/loading/loader.js', import.meta.url));
const SCRIPT = `
  import { createInterface } from 'node:readline';
  import { loadWorkflows } from ${JSON.stringify(LOADER)};
  for await (const line of createInterface({ input: process.stdin })) {
    const [folder, find] = JSON.parse(line);
    try {
      const { steps, ...loaded } = await loadWorkflows(folder);
      const found = find.map(([workflow, step]) => steps.find(workflow, step) !== undefined);
      console.log(JSON.stringify({ ...loaded, found }));
    } catch (error) {
      console.log(JSON.stringify({ problems: error.problems, message: error.stack }));
    }
  }
`;
const child = spawn(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', SCRIPT], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
let last: Promise<unknown> = Promise.resolve();

const root = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-loader-')));
afterAll(async () => {
  child.stdin.end();
  await once(child, 'close');
  rmSync(root, { recursive: true, force: true });
});
let folders = 0;

function folder(files: Record<string, string>): string {
  const path = join(root, `folder-${folders++}`, 'workflows');
  mkdirSync(path, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

type Outcome = LoadedWorkflows & { found: boolean[]; problems?: LoadProblem[]; message?: string };

function load(path: string, find: [string, string][] = []): Promise<Outcome> {
  const answer = last.then(async () => {
    child.stdin.write(`${JSON.stringify([path, find])}\n`);
    return JSON.parse((await answers.next()).value as string) as Outcome;
  });
  last = answer;
  return answer;
}

const loadFiles = (files: Record<string, string>, find?: [string, string][]) => load(folder(files), find);

const workflow = (name: string, more = '') =>
  `import { workflow, step, z } from 'perdure';\nexport default workflow({ name: '${name}', fn: async () => 1, ${more} });\n`;

const bundleOf = (outcome: Outcome, type: string): WorkflowBundle => {
  const bundle = outcome.bundles.find(({ workflowType }) => workflowType === type);
  if (!bundle) throw new Error(`no bundle for ${type}: ${outcome.message}`);
  return bundle;
};

describe('a folder that loads', () => {
  test('TypeScript and JavaScript, default and named exports, whatever package.json says', async () => {
    const outcome = await loadFiles({
      'a/workflow.ts': workflow('a'),
      'b/workflow.js': `import { workflow } from 'perdure';\nexport const one = workflow({ name: 'b1', fn: async () => 1 });\nexport const two = workflow({ name: 'b2', fn: async () => 1 });`,
      'c/deeper/workflow.mts': workflow('c'),
      'd/workflow.mjs': workflow('d'),
      'node_modules/x/workflow.js': 'nonsense(',
      '.hidden/workflow.ts': 'nonsense(',
    });
    expect(outcome.problems).toBeUndefined();
    expect(outcome.registered.map(({ entry }) => [entry.name, entry.path])).toEqual([
      ['a', 'a/workflow.ts'],
      ['b1', 'b/workflow.js'],
      ['b2', 'b/workflow.js'],
      ['c', 'c/deeper/workflow.mts'],
      ['d', 'd/workflow.mjs'],
    ]);
    expect(bundleOf(outcome, 'b2').exportName).toBe('two');
  });

  test('steps: of a steps file, below a steps folder, re-exported, and in the workflow file itself', async () => {
    const step = (name: string) => `export const ${name} = step({ name: '${name}', fn: async () => 1 });`;
    const outcome = await loadFiles(
      {
        'order/workflow.ts': `import { workflow, step } from 'perdure';
import * as own from './steps.js';
import { mail } from '../shared/steps/mail';
import { inlined } from './inlined.js';
const hidden = step({ name: 'hidden', fn: async () => 1 });
export default workflow({ name: 'order', fn: async () => [await own.charge(), await mail(), await hidden(), await inlined()] });`,
        'order/steps.ts': `import { step } from 'perdure';\nexport { aside } from './implementation.js';\n${step('charge')}`,
        'order/implementation.ts': `import { readFileSync } from 'node:fs';\nimport { step } from 'perdure';\nreadFileSync;\n${step('aside')}`,
        'order/inlined.ts': `import { step } from 'perdure';\n${step('inlined')}`,
        'shared/steps/mail.ts': `import { step } from 'perdure';\nimport 'node:fs';\n${step('mail')}`,
        'other/workflow.ts': `import { workflow } from 'perdure';\nimport order from '../order/workflow.js';\nexport default workflow({ name: 'other', fn: async () => order() });`,
      },
      [
        ['order', 'charge'],
        ['order', 'hidden'],
        ['order', 'inlined'],
        ['order', 'aside'],
        ['order', 'mail'],
        ['order', 'nonsense'],
      ],
    );
    expect(outcome.problems).toBeUndefined();
    const [order, other] = outcome.registered;
    expect(order!.entry.steps.map(({ name }) => name).sort()).toEqual([
      'aside',
      'charge',
      'hidden',
      'inlined',
      'mail',
    ]);
    expect(other!.entry.steps).toEqual([]);
    expect(outcome.found).toEqual([true, true, true, true, true, false]);
    const { code } = bundleOf(outcome, 'order');
    expect(code).not.toContain('readFileSync');
    expect(code).toContain('stepReference)({ "name": "charge"');
  });

  test('steps of packages, of files outside the folder, and by a step() that a package hands on or wraps', async () => {
    const path = folder({
      'one/workflow.ts': `import { workflow } from 'perdure';
import { charge } from 'billing';
import { step as handedOn, makeStep } from 'our-sdk';
import { outside } from '../../lib/outside.js';
import { odd } from './odd-name.js';
const own = handedOn({ name: 'own', fn: async () => 1 });
const made = makeStep('made');
export default workflow({ name: 'one', fn: async () => [await charge(), await own(), await made(), await outside(), await odd()] });`,
      'one/odd-name.ts': `import { step } from 'perdure';\nexport const odd = step({ name: 'odd', fn: async () => 1 });`,
      'two/workflow.ts': `import { workflow } from 'perdure';
import { step, makeStep } from 'our-sdk';
const own = step({ name: 'own', fn: async () => 2 });
const made = makeStep('made');
export default workflow({ name: 'two', fn: async () => [await own(), await made()] });`,
      'node_modules/our-sdk/package.json': '{ "name": "our-sdk", "type": "module", "main": "index.js" }',
      'node_modules/our-sdk/index.js': `export * from 'perdure';
import { step } from 'perdure';
export const makeStep = (name) => step({ name, fn: async () => name });`,
      'node_modules/billing/package.json': '{ "name": "billing", "type": "module", "main": "lib/index.js" }',
      'node_modules/billing/lib/index.js': `export { charge } from './charge.js';`,
      'node_modules/billing/lib/charge.js': `import { step } from 'our-sdk';\nexport const charge = step({ name: 'charge', fn: async () => 1 });`,
    });
    mkdirSync(join(path, '../lib'));
    writeFileSync(
      join(path, '../lib/outside.ts'),
      `import { step } from 'perdure';\nexport const outside = step({ name: 'outside', fn: async () => 1 });`,
    );
    const outcome = await load(path, [
      ['one', 'charge'],
      ['one', 'own'],
      ['one', 'made'],
      ['one', 'outside'],
      ['one', 'odd'],
      ['two', 'own'],
      ['two', 'made'],
      ['two', 'charge'],
    ]);
    expect(outcome.message).toBeUndefined();
    expect(outcome.registered.map(({ entry }) => entry.steps.map(({ name }) => name).sort())).toEqual([
      ['charge', 'made', 'odd', 'outside', 'own'],
      ['made', 'own'],
    ]);
    expect(outcome.found).toEqual([true, true, true, true, true, true, true, false]);
  });

  test('CommonJS, as Node takes it: workflows, steps, and packages that have steps or make them', async () => {
    const path = folder({
      '../package.json': '{ "name": "project" }',
      'required/workflow.js': `const { workflow } = require('perdure');
const { pay } = require('./steps.js');
exports.required = workflow({ name: 'required', fn: async () => pay() });`,
      'required/steps.js': `const { step } = require('perdure');
const { add } = require('sums');
module.exports = { pay: step({ name: 'pay', fn: async () => add(1, 2) }) };`,
      'imported/workflow.ts': `import { workflow } from 'perdure';
import { charge, makeStep } from 'billing';
import { add } from 'sums';
import { mail } from './steps.cjs';
const made = makeStep('made');
export default workflow({ name: 'imported', fn: async () => [await charge(), add(1, 2), await made(), await mail()] });`,
      'imported/steps.cjs': `const { step } = require('perdure');
const { hostname } = require('node:os');
exports.mail = step({ name: 'mail', fn: async () => hostname() });`,
      'other/workflow.ts': `import { workflow } from 'perdure';
import { makeStep } from 'billing';
const made = makeStep('made');
export default workflow({ name: 'other', fn: async () => made() });`,
      // A folder that is called like the package is none of its instances, and names may have spaces in them.
      'perdure/src/own (new)/workflow.ts': `import { workflow } from 'perdure';
import { post } from './steps.cjs';
export default workflow({ name: 'own', fn: async () => post() });`,
      'perdure/src/own (new)/steps.cjs': `exports.post = require('perdure').step({ name: 'post', fn: async () => 1 });`,
      'node_modules/sums/package.json': '{ "name": "sums", "main": "index.js" }',
      'node_modules/sums/index.js': 'const add = (a, b) => a + b;\nmodule.exports = { add };',
      'node_modules/billing/package.json': '{ "name": "billing", "main": "index.js" }',
      'node_modules/billing/index.js': `const { step } = require('perdure');
exports.charge = step({ name: 'charge', fn: async () => 1 });
exports.makeStep = (name) => step({ name, fn: async () => name });`,
    });
    symlinkSync(fileURLToPath(new URL('../../../', import.meta.url)), join(path, 'node_modules/perdure'));
    const outcome = await load(path, [
      ['required', 'pay'],
      ['imported', 'charge'],
      ['imported', 'made'],
      ['imported', 'mail'],
      ['other', 'made'],
      ['own', 'post'],
    ]);
    expect(outcome.message).toBeUndefined();
    expect(outcome.found).toEqual([true, true, true, true, true, true]);
    expect(bundleOf(outcome, 'imported').code).not.toContain('hostname');
  });

  test('the options of a step reach its reference', async () => {
    const outcome = await loadFiles({
      'workflow.ts': `import { workflow } from 'perdure';\nimport { charge } from './steps';\nexport default workflow({ name: 'a', fn: async () => charge() });`,
      'steps.ts': `import { step } from 'perdure';\nexport const charge = step({ name: 'charge', options: { startToCloseTimeout: '30s', heartbeatTimeout: '5s', cancellationType: 'ABANDON', retry: { maximumAttempts: 5, initialInterval: '2s' } }, fn: async () => 1 });`,
    });
    const { code } = bundleOf(outcome, 'a');
    const reference = /stepReference\)\((.*)\);/.exec(code)![1]!;
    expect(JSON.parse(JSON.stringify(new Function(`return ${reference}`)()))).toEqual({
      name: 'charge',
      options: {
        startToCloseTimeout: 30_000,
        heartbeatTimeout: 5_000,
        cancellationType: 'ABANDON',
        retry: { maximumAttempts: 5, initialInterval: 2_000 },
      },
    });
  });

  test('schemas, declarations and settings become a catalog', async () => {
    const outcome = await loadFiles({
      'workflow.ts': workflow(
        'a',
        `description: 'does a', aliases: ['b'], inputSchema: z.object({ x: z.number().default(1) }), outputSchema: z.string(),
         signals: { go: { description: 'goes', inputSchema: z.string() } }, updates: { change: {} },
         options: { executionTimeout: '1 hour', retry: { maximumAttempts: 2 }, disableTrace: true }`,
      ),
    });
    const [registered] = outcome.registered;
    expect(registered).toMatchObject({
      declaresSignals: true,
      settings: { executionTimeoutMs: 3_600_000, retry: { maximumAttempts: 2 }, disableTrace: true },
      entry: {
        description: 'does a',
        aliases: ['b'],
        inputSchema: { type: 'object', properties: { x: { type: 'number', default: 1 } } },
        outputSchema: { type: 'string' },
        signals: [{ name: 'go', description: 'goes', inputSchema: { type: 'string' } }],
        queries: [],
        updates: [{ name: 'change' }],
      },
    });
  });

  test('packages become the library, types and JSON are allowed', async () => {
    const files = {
      'workflow.ts': `import { workflow } from 'perdure';
import def, { named } from 'esm-package';
import common from 'cjs-package';
import type { Stats } from 'node:fs';
import { type Buffer } from 'node:buffer';
import data from './data.json';
export default workflow({ name: 'a', fn: async () => [def, named, common.value, data.x, {} as Stats] });`,
      'data.json': '{ "x": 17 }',
      'node_modules/esm-package/package.json':
        '{ "name": "esm-package", "type": "module", "main": "index.js" }',
      'node_modules/esm-package/index.js': `export default 'the default'; export const named = 'the name';`,
      'node_modules/cjs-package/package.json': '{ "name": "cjs-package" }',
      'node_modules/cjs-package/index.js': `module.exports = { value: 'common' };`,
    };
    for (const type of ['module', 'commonjs']) {
      const outcome = await loadFiles({ ...files, 'package.json': `{ "type": "${type}" }` });
      expect(outcome.problems).toBeUndefined();
      const evaluate = (code: string, require: (name: string) => unknown) => {
        const module = { exports: {} as Record<string, unknown> };
        new Function('exports', 'module', 'require', code)(module.exports, module, require);
        return module.exports;
      };
      const packages = evaluate(outcome.library!.code, () => undefined);
      expect(Object.keys(packages).sort()).toEqual(['cjs-package', 'esm-package']);
      const own = evaluate(bundleOf(outcome, 'a').code, (name) =>
        name === 'perdure'
          ? { workflow: (definition: unknown) => definition }
          : (packages[name] as () => unknown)(),
      );
      const definition = own.default as { fn(): Promise<unknown> };
      expect(await definition.fn()).toEqual(['the default', 'the name', 'common', 17, {}]);
    }
  });

  test('classes keep the names that their authors gave them', async () => {
    const order = (more: string) =>
      `export class Order extends Error { copy() { return new Order(); } ${more} }`;
    const outcome = await loadFiles({
      'workflow.ts': `import { workflow } from 'perdure';
import { Order as Other } from './other.js';
import { Order as Bought } from 'shop';
${order('')}
export default workflow({ name: 'w', fn: async () => { throw [new Order(), new Other(), new Bought()]; } });`,
      'other.ts': order('other() {}'),
      'node_modules/shop/package.json': '{ "name": "shop", "type": "module", "main": "index.js" }',
      'node_modules/shop/index.js': order(''),
    });
    expect(outcome.message).toBeUndefined();
    const named = /static \{\s*__name\(this, "Order"\);/g;
    expect(bundleOf(outcome, 'w').code.match(named)).toHaveLength(2);
    expect(outcome.library!.code.match(named)).toHaveLength(1);
  });

  test('tsconfig paths mean the same on both sides', async () => {
    const outcome = await loadFiles({
      'tsconfig.json': '{ "compilerOptions": { "paths": { "@lib/*": ["./lib/*"] } } }',
      'lib/names.ts': `export const NAME: string = 'from the lib';`,
      'a/workflow.ts': `import { workflow } from 'perdure';\nimport { NAME } from '@lib/names';\nexport default workflow({ name: 'a', description: NAME, fn: async () => NAME });`,
    });
    expect(outcome.registered[0]!.entry.description).toBe('from the lib');
    expect(bundleOf(outcome, 'a').code).toContain('from the lib');
  });

  test("zod is the sandbox's own, unless the project has another major version", async () => {
    const source = `import { workflow } from 'perdure';\nimport { z } from 'zod';\nexport default workflow({ name: 'a', fn: async () => z });`;
    const own = await loadFiles({ 'workflow.ts': source });
    expect(own.library).toBeUndefined();
    expect(bundleOf(own, 'a').code).toContain('require("zod")');
    const older = await loadFiles({
      'workflow.ts': source,
      'node_modules/zod/package.json': '{ "name": "zod", "version": "3.25.0" }',
      'node_modules/zod/index.js': 'exports.z = { old: true };',
    });
    expect(older.library!.code).toContain('old: true');
    expect([own, older].map((outcome) => bundleOf(outcome, 'a').stateless)).toEqual([true, false]);
  });

  test('the id of the code changes with steps that are CommonJS', async () => {
    const idWith = async (steps: string) => {
      const path = folder({
        'workflow.ts': `import { workflow } from 'perdure';\nimport { a } from './steps.cjs';\nexport default workflow({ name: 'w', fn: async () => a() });`,
        'steps.cjs': steps,
      });
      mkdirSync(join(path, 'node_modules'));
      symlinkSync(fileURLToPath(new URL('../../../', import.meta.url)), join(path, 'node_modules/perdure'));
      return (await load(path)).codeId;
    };
    const steps = `exports.a = require('perdure').step({ name: 'a', fn: async () => 1 });`;
    const first = await idWith(steps);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(await idWith(steps)).toBe(first);
    expect(await idWith(steps.replace('=> 1', '=> 2'))).not.toBe(first);
  });

  test('the id of the code changes with the code of workflows', async () => {
    const ids = await Promise.all([
      loadFiles({ 'workflow.ts': workflow('a') }),
      loadFiles({ 'workflow.ts': workflow('a') }),
      loadFiles({ 'workflow.ts': workflow('a', 'description: "changed"') }),
    ]);
    expect(ids[0]!.codeId).toBe(ids[1]!.codeId);
    expect(ids[0]!.codeId).not.toBe(ids[2]!.codeId);
  });
});

describe('a folder that does not load is told why', () => {
  test('a named export of CommonJS that Node does not see', async () => {
    const { problems } = await loadFiles({
      'workflow.ts': `import { workflow } from 'perdure';\nimport { add } from './steps.js';\nexport default workflow({ name: 'w', fn: async () => add() });`,
      'steps.ts': `import { step } from 'perdure';\nimport { sum } from 'sums';\nexport const add = step({ name: 'add', fn: async () => sum(1, 2) });`,
      'node_modules/sums/package.json': '{ "name": "sums", "main": "index.js" }',
      'node_modules/sums/index.js': 'module.exports = { sum: (a, b) => a + b };',
    });
    expect(problems).toMatchObject([
      {
        file: 'steps.ts',
        line: 2,
        message: expect.stringContaining("import whole from 'sums'; const { sum } = whole"),
      },
    ]);
  });

  test('no folder, a file, no workflow', async () => {
    const empty = folder({ 'readme.md': '' });
    expect((await load(join(empty, 'nowhere'))).message).toMatch(/nowhere.*does not exist/s);
    expect((await load(join(empty, 'readme.md'))).message).toMatch(/this is a file/);
    expect((await load(empty)).message).toMatch(/no workflow in it.*workflow\.ts/s);
  });

  const cases: Record<
    string,
    [files: Record<string, string>, file: string, line: number | undefined, message: RegExp]
  > = {
    'a file without a workflow': [
      { 'workflow.ts': 'export const x = 1;' },
      'workflow.ts',
      undefined,
      /exports no workflow.*export default workflow/,
    ],
    'two workflows of one name': [
      { 'a/workflow.ts': workflow('same'), 'b/workflow.ts': workflow('same') },
      'b/workflow.ts',
      undefined,
      /"same" is also defined in a\/workflow\.ts/,
    ],
    'an alias that is a name': [
      { 'a/workflow.ts': workflow('a'), 'b/workflow.ts': workflow('b', `aliases: ['a']`) },
      'b/workflow.ts',
      undefined,
      /alias "a" of workflow "b" is the name of workflow "a" in a\/workflow\.ts/,
    ],
    'an alias of two': [
      { 'a/workflow.ts': workflow('a', `aliases: ['x']`), 'b/workflow.ts': workflow('b', `aliases: ['x']`) },
      'b/workflow.ts',
      undefined,
      /alias "x" of workflow "b" is an alias of workflow "a"/,
    ],
    'two steps of one name': [
      {
        'workflow.ts': `import { workflow } from 'perdure';\nimport { one, two } from './steps';\nexport default workflow({ name: 'a', fn: async () => [one, two] });`,
        'steps.ts': `import { step } from 'perdure';\nexport const one = step({ name: 'same', fn: async () => 1 });\nexport const two = step({ name: 'same', fn: async () => 2 });`,
      },
      'steps.ts',
      undefined,
      /two steps named "same".*twice in this file/,
    ],
    'two steps of one name in two files': [
      {
        'workflow.ts': `import { workflow } from 'perdure';\nimport { one } from './steps/one';\nimport { two } from './steps/two';\nexport default workflow({ name: 'a', fn: async () => [one, two] });`,
        'steps/one.ts': `import { step } from 'perdure';\nexport const one = step({ name: 'same', fn: async () => 1 });`,
        'steps/two.ts': `import { step } from 'perdure';\nexport const two = step({ name: 'same', fn: async () => 2 });`,
      },
      'steps/two.ts',
      undefined,
      /two steps named "same".*in steps\/one\.ts as well/,
    ],
    'a step of a package that has the name of another one': [
      {
        'workflow.ts': `import { workflow, step } from 'perdure';\nimport { charge } from 'billing';\nconst own = step({ name: 'charge', fn: async () => 1 });\nexport default workflow({ name: 'a', fn: async () => [await charge(), await own()] });`,
        'node_modules/billing/package.json': '{ "name": "billing", "type": "module", "main": "index.js" }',
        'node_modules/billing/index.js': `import { step } from 'perdure';\nexport const charge = step({ name: 'charge', fn: async () => 2 });`,
      },
      'workflow.ts',
      undefined,
      /two steps named "charge": it is defined in node_modules\/billing\/index\.js as well/,
    ],
    'a schema that is too large': [
      {
        'workflow.ts': workflow(
          'a',
          `inputSchema: z.union([z.enum(Array.from({ length: 60_000 }, (_, i) => 'the choice ' + i)), z.number()])`,
        ),
      },
      'workflow.ts',
      undefined,
      /workflow "a": the input schema takes \d+ bytes of JSON.*limit.*meta/,
    ],
    'an invalid duration': [
      { 'workflow.ts': workflow('a', `options: { executionTimeout: '3 fortnights' }`) },
      'workflow.ts',
      2,
      /executionTimeout of workflow "a" "3 fortnights" is not a duration/,
    ],
    'an invalid name': [
      { 'workflow.ts': workflow('not a name') },
      'workflow.ts',
      2,
      /"not a name" is not a name for a workflow/,
    ],
    'an invalid name of a step': [
      {
        'workflow.ts': `import { workflow } from 'perdure';\nimport { one } from './steps';\nexport default workflow({ name: 'a', fn: async () => one() });`,
        'steps.ts': `import { step } from 'perdure';\n\nexport const one = step({ name: '1', fn: async () => 1 });`,
      },
      'steps.ts',
      3,
      /"1" is not a name for a step/,
    ],
    'a syntax error': [
      { 'workflow.ts': 'export const x = 1;\nexport default workflow({{' },
      'workflow.ts',
      2,
      /Expected/,
    ],
    'a missing file': [
      { 'workflow.ts': `import './nowhere.js';\n${workflow('a')}` },
      'workflow.ts',
      1,
      /Could not resolve "\.\/nowhere\.js"/,
    ],
    'a missing package': [
      { 'workflow.ts': `\nimport 'no-such-package';\n${workflow('a')}` },
      'workflow.ts',
      2,
      /Could not resolve "no-such-package"/,
    ],
    'a module that throws': [
      { 'workflow.ts': `${workflow('a')}\n\nthrow new RangeError('too far');` },
      'workflow.ts',
      5,
      /loading this file failed: RangeError: too far/,
    ],
    'a step that is called at the top of a workflow file': [
      {
        'workflow.ts': `import { workflow } from 'perdure';\nimport { one } from './steps';\nexport default workflow({ name: 'a', fn: async () => one() });\nvoid one();`,
        'steps.ts': `import { step } from 'perdure';\nexport const one = step({ name: 'one', fn: async () => { throw new Error('must not run'); } });`,
      },
      'steps.ts',
      undefined,
      /step "one" was called while files were being loaded/,
    ],
    'await at the top of a workflow file': [
      { 'workflow.ts': `${workflow('a')}\nawait Promise.resolve();` },
      'workflow.ts',
      4,
      /cannot await while it is loaded/,
    ],
    'a node module': [
      { 'workflow.ts': `\n  import { readFileSync } from 'node:fs';\n${workflow('a')}\nreadFileSync;` },
      'workflow.ts',
      2,
      /"node:fs" cannot be imported by a workflow.*step/,
    ],
    'a node module without prefix': [
      { 'workflow.ts': `import fs from 'fs';\n${workflow('a')}\nfs;` },
      'workflow.ts',
      1,
      /"fs" cannot be imported by a workflow/,
    ],
    'a node module further down': [
      {
        'workflow.ts': `import { read } from './read.js';\n${workflow('a')}\nread;`,
        'read.ts': `\n\nimport fs from 'node:fs';\nexport const read = fs.readFileSync;`,
      },
      'read.ts',
      3,
      /"node:fs" cannot be imported by a workflow.*workflow\.ts imports it/,
    ],
    'a node module in a package': [
      {
        'workflow.ts': `\nimport { x } from 'leaky';\n${workflow('a')}\nx;`,
        'node_modules/leaky/package.json': '{ "name": "leaky" }',
        'node_modules/leaky/index.js': `const net = require('net');\nexports.x = net;`,
      },
      'workflow.ts',
      2,
      /package "leaky" cannot be imported by a workflow: node_modules\/leaky\/index\.js:1 uses "net"/,
    ],
    'what belongs to another system': [
      { 'workflow.ts': `import { sleep } from '@outputai/core';\n${workflow('a')}\nsleep;` },
      'workflow.ts',
      1,
      /"@outputai\/core" belongs to another system; import from "perdure\/output"/,
    ],
    'another part of this package': [
      { 'workflow.ts': `import * as x from 'perdure/server';\n${workflow('a')}\nx;` },
      'workflow.ts',
      1,
      /"perdure\/server" cannot be imported by a workflow/,
    ],
    'something of a steps file that is no step': [
      {
        'workflow.ts': `import { workflow } from 'perdure';\nimport { one,\n  helper } from './steps';\nexport default workflow({ name: 'a', fn: async () => [one, helper] });`,
        'steps.ts': `import { step } from 'perdure';\nexport const helper = () => 1;\nexport const one = step({ name: 'one', fn: async () => 1 });`,
      },
      'workflow.ts',
      3,
      /"helper" of steps\.ts is not a step.*file of its own/,
    ],
    'the same over a namespace': [
      {
        'workflow.ts': `import { workflow } from 'perdure';\nimport * as steps from './steps';\nexport default workflow({ name: 'a', fn: async () =>\n  steps.helper() });`,
        'steps.ts': `import { step } from 'perdure';\nexport const helper = () => 1;\nexport const one = step({ name: 'one', fn: async () => 1 });`,
      },
      'workflow.ts',
      4,
      /"helper" of steps\.ts is not a step/,
    ],
    'a promise that nobody handles': [
      { 'workflow.ts': `${workflow('a')}\nvoid Promise.reject(new Error('lost'));` },
      'workflow.ts',
      4,
      /lost/,
    ],
  };

  test.each(Object.entries(cases))('%s', async (_name, [files, file, line, message]) => {
    const { problems } = await loadFiles(files);
    expect(problems).toHaveLength(1);
    expect(problems![0]!.message).toMatch(message);
    expect(problems![0]!.file).toBe(file);
    expect(problems![0]!.line).toBe(line);
  });

  test('several problems at once', async () => {
    const { problems, message } = await loadFiles({
      'a/workflow.ts': workflow('not a name'),
      'b/workflow.ts': `import 'node:fs';\n${workflow('b')}`,
      'c/workflow.ts': 'export {};',
      'd/workflow.ts': workflow('d', 'inputSchema: 1'),
    });
    expect(problems!.map(({ file }) => file).sort()).toEqual([
      'a/workflow.ts',
      'b/workflow.ts',
      'c/workflow.ts',
      'd/workflow.ts',
    ]);
    expect(message).toContain('4 problems');
  });
});
