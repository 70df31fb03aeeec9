/** What is found in a folder: workflows, their steps wherever they are defined, and what they declare. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { bundleOf, folder, load, loadFiles, workflow } from './loaded-folder.fixture.js';

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

  test('files and folders behind links, wherever they are, each once, with their steps', async () => {
    const steps = `import { step } from 'perdure';\nexport const greet = step({ name: 'greet', fn: async () => 1 });`;
    const flow = (name: string) =>
      `import { workflow } from 'perdure';\nimport { greet } from './steps.js';\nexport default workflow({ name: '${name}', fn: async () => greet() });`;
    const path = folder({
      // As a cluster mounts them: links into a folder that is replaced as a whole.
      '..2026/workflow.ts': flow('mounted'),
      '..2026/steps.ts': steps,
      '..2026/sub/workflow.ts': flow('mounted_below'),
      '..2026/sub/steps.ts': steps,
      '../elsewhere/flow.ts': flow('outside'),
      '../elsewhere/steps.ts': steps,
      'node_modules/pack/workflow.js': 'nonsense(',
      'plain/workflow.ts': workflow('plain'),
    });
    mkdirSync(join(path, 'linked'));
    for (const [target, link] of [
      ['..2026', '..data'],
      ['..data/workflow.ts', 'workflow.ts'],
      ['..data/steps.ts', 'steps.ts'],
      ['..data/sub', 'sub'],
      ['../../elsewhere/flow.ts', 'linked/workflow.ts'],
      ['..', 'linked/circle'],
      ['../plain', 'linked/again'],
      ['node_modules/pack', 'pack'],
      ['nowhere', 'broken'],
    ])
      symlinkSync(target!, join(path, link!));
    const names = ['mounted', 'mounted_below', 'outside'];
    const outcome = await load(
      path,
      names.map((name) => [name, 'greet']),
    );
    expect(outcome.problems).toBeUndefined();
    expect(outcome.registered.map(({ entry }) => [entry.name, entry.path])).toEqual([
      ['outside', '../elsewhere/flow.ts'],
      ['mounted_below', '..2026/sub/workflow.ts'],
      ['mounted', '..2026/workflow.ts'],
      ['plain', 'plain/workflow.ts'],
    ]);
    for (const name of names) expect(bundleOf(outcome, name).code).toContain('"name": "greet"');
    expect(outcome.found).toEqual([true, true, true]);
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
});
