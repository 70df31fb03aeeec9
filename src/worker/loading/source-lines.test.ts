import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import vm from 'node:vm';
import { afterAll, expect, test } from 'vitest';
import { toFailure } from '../../core/history/failure.js';
import { bundleWorkflows } from './bundler.js';
import { Library } from './library.js';
import { SourceLines } from './source-lines.js';

const directory = mkdtempSync(join(tmpdir(), 'perdure-lines-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('a trace through several files names their own lines', async () => {
  mkdirSync(join(directory, 'order'));
  mkdirSync(join(directory, 'lib'));
  writeFileSync(
    join(directory, 'order/workflow.ts'),
    `import { fail } from '../lib/fail';\n\ninterface Gone { a: string }\n\nexport const start = (gone: Gone) =>\n  fail(gone.a);\n`,
  );
  writeFileSync(
    join(directory, 'lib/fail.ts'),
    `export type Gone = string;\n\nexport function fail(text: Gone): never {\n  throw new RangeError(text, { cause: new Error('inner') });\n}\n`,
  );
  const { code, sourceMaps } = await bundleWorkflows({
    directory,
    entries: ['order/workflow.ts'],
    library: new Library(directory),
    stepsOf: async () => [],
  });
  const body = vm.compileFunction(code.get('order/workflow.ts')!, ['exports', 'module', 'require'], {
    filename: 'order/workflow.ts',
  });
  const module = { exports: {} as { start(gone: { a: string }): void } };
  body(module.exports, module, undefined);

  const lines = new SourceLines(sourceMaps);
  const failure = (() => {
    try {
      module.exports.start({ a: 'boom' });
      throw new Error('it does not throw');
    } catch (error) {
      return toFailure(error);
    }
  })();
  const unmapped = failure.stackTrace!;
  expect(lines.innermost(unmapped)).toBe('lib/fail.ts:4:9');
  expect(lines.innermost('Error: x\n    at somewhere (/else/where.js:1:2)')).toBeUndefined();
  lines.restore(failure);
  expect(unmapped).not.toContain('lib/fail.ts');
  expect(failure.stackTrace).toMatch(/at fail \(lib\/fail\.ts:4:9\)\n.*at .*\(?order\/workflow\.ts:6:3\)?/);
  expect(failure.cause!.stackTrace).toContain('lib/fail.ts:4:');
});

test('a trace of something else stays as it is', () => {
  const failure = {
    kind: 'application',
    type: 'Error',
    message: 'm',
    stackTrace: 'Error: m\n    at x (other.ts:1:1)',
  } as const;
  const copy = { ...failure };
  new SourceLines(new Map()).restore(copy);
  expect(copy).toEqual(failure);
});
