import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findWorkflowFiles } from './discover.js';
import { folder, load, loadFiles, workflow } from './loaded-folder.fixture.js';

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

  test('a link that leads nowhere, also one to itself', async () => {
    for (const target of ['nowhere.ts', 'workflow.ts']) {
      const path = folder({ 'a/workflow.ts': workflow('a') });
      symlinkSync(target, join(path, 'workflow.ts'));
      expect((await load(path)).problems).toEqual([
        { file: 'workflow.ts', message: 'this link leads nowhere' },
      ]);
    }
  });

  test('a link that leads to more folders than anybody has for workflows', async () => {
    const path = folder({ 'a/workflow.ts': workflow('a'), '../many/none.txt': '' });
    for (let count = 0; count <= 10_000; count++) mkdirSync(join(path, '../many', String(count)));
    symlinkSync('../many', join(path, 'many'));
    expect((await load(path)).message).toMatch(/more than 10000 folders.*links/);
  });

  test.runIf(process.getuid?.() === 0)('but not a folder behind a link that cannot be read', async () => {
    const path = folder({ 'a/workflow.ts': workflow('a'), '../disk/b/workflow.ts': workflow('b') });
    const found = join(path, '../disk/lost+found');
    mkdirSync(found, { mode: 0o700 });
    symlinkSync('../disk', join(path, 'disk'));
    for (let at = path; at !== tmpdir(); at = dirname(at)) chmodSync(at, 0o755);
    process.seteuid!(65_534);
    try {
      expect(() => readdirSync(found)).toThrow(/EACCES/);
      expect(await findWorkflowFiles(path)).toEqual(['../disk/b/workflow.ts', 'a/workflow.ts']);
    } finally {
      process.seteuid!(0);
    }
  });

  test('what is no file is none of its files', async () => {
    const path = folder({ 'a/workflow.ts': workflow('a') });
    execFileSync('mkfifo', [join(path, 'workflow.ts')]);
    expect((await load(path)).registered.map(({ entry }) => entry.path)).toEqual(['a/workflow.ts']);
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
    'a folder whose name reads like a pattern': [
      { 'a*b/workflow.ts': workflow('a') },
      'a*b/workflow.ts',
      undefined,
      /cannot be bundled under this path.*Rename/,
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
