/** What of a folder becomes code for the sandbox, and as what. */
import { describe, expect, test } from 'vitest';
import { bundleOf, loadFiles } from './loaded-folder.fixture.js';

describe('a folder that loads', () => {
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
});
