import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { folder, load, loadFiles, workflow } from './loaded-folder.fixture.js';

describe('a folder that loads', () => {
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
