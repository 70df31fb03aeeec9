import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { shareable } from './stateless.js';

/** As the bundler makes it (bundler.ts). */
async function stateless(source: string, files: Record<string, string> = {}): Promise<boolean> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { workflow, step, z, defineSignal, FatalError } from 'perdure';\n${source}`,
      loader: 'ts',
      resolveDir: '/',
    },
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'browser',
    target: 'node20',
    logLevel: 'silent',
    plugins: [
      {
        name: 'test',
        setup(plugin) {
          plugin.onResolve({ filter: /^[a-z]/ }, ({ path }) => ({ path, external: true }));
          plugin.onResolve({ filter: /^\./ }, ({ path }) => ({ path, namespace: 'files' }));
          plugin.onLoad({ filter: /./, namespace: 'files' }, ({ path }) => ({
            contents: files[path],
            loader: 'ts',
          }));
        },
      },
    ],
  });
  return shareable(outputFiles[0]!.text) !== undefined;
}

const using = (...names: string[]) =>
  `export default workflow({ name: 'a', fn: async () => [${names.join(', ')}] });`;

describe('has no state', () => {
  test.each<[string, string]>([
    ['a workflow alone', using()],
    [
      'named exports',
      `export const a = workflow({ name: 'a', fn: async () => 1 }); export const b = workflow({ name: 'b', fn() { return a(); } });`,
    ],
    [
      'definitions',
      `const go = defineSignal('go'); const one = step({ name: 'one', fn: async () => 1 }); ${using('go', 'one')}`,
    ],
    [
      'schemas',
      `const A = z.object({ x: z.string().min(1).optional(), y: z.array(z.enum(['a', 'b'])) }); const B = A.extend({ z: A }); ${using('A', 'B')}`,
    ],
    [
      "zod's own import",
      `import * as zod from 'zod'; const A = zod.object({ a: zod.string().regex(/^a+$/) }); ${using('A')}`,
    ],
    [
      'functions and arrows',
      `function f() { let n = 0; return ++n; } const g = async () => f(); ${using('g')}`,
    ],
    [
      'plain constants that are taken further',
      `const TRIES = 3; export default workflow({ name: 'a', fn: async () => { let left = TRIES; left--; return Object.assign({}, { left }); } });`,
    ],
    [
      'plain constants',
      `const DAY = 24 * 60 * 60 * 1000; const TEXT = \`a \${DAY}\`; const NEGATIVE = -1; const PATTERN = /^x$/i; ${using('DAY', 'TEXT', 'NEGATIVE', 'PATTERN')}`,
    ],
    [
      'error classes',
      `class Refused extends FatalError { constructor(readonly code: number) { super('no'); } } class Other extends Error {} ${using('Refused', 'Other')}`,
    ],
    [
      'tables that are only read',
      `const RATES = { usd: 1, eur: 2 }; const NAMES = ['a', 'b']; export default workflow({ name: 'a', fn: async (i: { c: 'usd' }) => [RATES[i.c], RATES.eur, NAMES.map((n) => n), NAMES.includes('a'), [...NAMES]] });`,
    ],
    ['an import that is passed on', `import { uuid4 } from 'perdure'; ${using('uuid4')}`],
    ['types and unused code', `interface X { a: string } type Y = X; const unused: Y[] = []; ${using()}`],
  ])('%s', async (_name, source) => {
    expect(await stateless(source)).toBe(true);
  });

  test('files of the same project', async () => {
    const source = `import { total } from './total'; import { go } from './messages'; ${using('total', 'go')}`;
    const files = {
      './total': `import { RATE } from './rate'; export const total = (n: number) => n * RATE;`,
      './rate': 'export const RATE = 3;',
      './messages': `import { defineSignal } from 'perdure'; export const go = defineSignal('go');`,
    };
    expect(await stateless(source, files)).toBe(true);
  });
});

describe('has state', () => {
  test.each<[string, string]>([
    ['a counter', `let n = 0; export default workflow({ name: 'a', fn: async () => ++n });`],
    [
      'a variable that is assigned',
      `let last: unknown; export default workflow({ name: 'a', fn: async (i) => { last = i; return last; } });`,
    ],
    [
      'an assignment by destructuring',
      `let last: unknown; export default workflow({ name: 'a', fn: async (i: any) => { ({ last } = i); [last] = i; return last; } });`,
    ],
    [
      'a loop over a variable',
      `let last: unknown; export default workflow({ name: 'a', fn: async (i: any) => { for (last of i); return last; } });`,
    ],
    ['a map', `const seen = new Map(); ${using('seen')}`],
    [
      'a list that is filled',
      `const seen: number[] = []; export default workflow({ name: 'a', fn: async () => seen.push(1) });`,
    ],
    ['a list that is handed out', `const seen = [1, 2]; ${using('seen')}`],
    [
      'a list that is sorted',
      `const seen = [2, 1]; export default workflow({ name: 'a', fn: async () => seen.sort() });`,
    ],
    [
      'a table that is written',
      `const seen = { a: 1 }; export default workflow({ name: 'a', fn: async () => { seen.a++; } });`,
    ],
    [
      'a table by another name',
      `const seen = { a: 1 }; export default workflow({ name: 'a', fn: async () => { const other = seen; other.a = 2; } });`,
    ],
    [
      'a table in shorthand',
      `const seen = { a: 1 }; export default workflow({ name: 'a', fn: async () => ({ seen }) });`,
    ],
    [
      'nested tables',
      `const seen = { a: { b: 1 } }; export default workflow({ name: 'a', fn: async () => { const x = seen.a; x.b = 2; } });`,
    ],
    ['an empty object', `const seen = {}; ${using('seen')}`],
    [
      'a property of a function',
      `const f = () => 1; export default workflow({ name: 'a', fn: async () => { (f as any).n = 1; } });`,
    ],
    [
      'a deleted property',
      `const f = () => 1; export default workflow({ name: 'a', fn: async () => { delete (f as any).n; } });`,
    ],
    [
      'a static field',
      `class A { static n = 0; } export default workflow({ name: 'a', fn: async () => A.n++ });`,
    ],
    [
      'a class reached by its instances',
      `class A { bump() { const c = this.constructor as any; return (c.n = (c.n ?? 0) + 1); } } export default workflow({ name: 'a', fn: async () => new A().bump() });`,
    ],
    [
      'a class reached by its instances, taken apart',
      `class A { bump() { const { constructor: c } = this as any; return ++c.n; } } ${using('A')}`,
    ],
    ['a class that assigns to itself', `class A { static bump() { (this as any).n = 1; } } ${using('A')}`],
    [
      'a class that names what is constructed',
      `class A { constructor() { (new.target as any).n = 1; } } ${using('A')}`,
    ],
    [
      'a prototype',
      `class A {} export default workflow({ name: 'a', fn: async () => { (A.prototype as any).n = 1; } });`,
    ],
    [
      'properties that are assigned to a function',
      `const f = () => 1; export default workflow({ name: 'a', fn: async () => Object.assign(f, { n: 1 }) });`,
    ],
    [
      'properties that are defined',
      `const f = () => 1; export default workflow({ name: 'a', fn: async () => Reflect.set(f, 'n', 1) });`,
    ],
    [
      'a function by another name',
      `const f = () => 1; export default workflow({ name: 'a', fn: async () => { const g: any = f; g.n = 1; } });`,
    ],
    ['a package', `import pkg from 'pkg'; ${using('pkg')}`],
    ['a static block', `class A { static { A.prototype; } } ${using('A')}`],
    ['a call of a package', `import limit from 'p-limit'; const limited = limit(3); ${using('limited')}`],
    ['a call of the own code', `const make = () => ({ n: 0 }); const made = make(); ${using('made')}`],
    ['a side effect', `import dayjs from 'dayjs'; dayjs.extend(1); ${using('dayjs')}`],
    ['a statement', `const f = () => {}; if (f) f(); ${using('f')}`],
    ['the time of loading', `const at = Date.now(); ${using('at')}`],
    ['chance', `const x = Math.random(); ${using('x')}`],
    ['a pattern with a position', `const p = /x/g; ${using('p')}`],
    ['a global', `const g = globalThis; ${using('g')}`],
    ['a promise', `const p = Promise.resolve({}); ${using('p')}`],
    [
      'an argument that calls something',
      `const f = () => ({}); const one = step({ name: 'one', options: f(), fn: async () => 1 }); ${using('one')}`,
    ],
    [
      'a getter in a table',
      `const t = { get a() { return 1; } }; export default workflow({ name: 'a', fn: async () => t.a });`,
    ],
    ['destructuring at the top', `import pkg from 'pkg'; const { a } = pkg; ${using('a')}`],
  ])('%s', async (_name, source) => {
    expect(await stateless(source)).toBe(false);
  });

  test('files that need each other, whose order esbuild decides when they run', async () => {
    const files = {
      './a': `import { b } from './b'; export const a = { get: () => b };`,
      './b': `import { a } from './a'; export const b = { get: () => a };`,
    };
    expect(await stateless(`import { a } from './a'; ${using('a')}`, files)).toBe(false);
  });

  test('CommonJS', async () => {
    expect(
      await stateless(`import a from './a'; ${using('a')}`, {
        './a': 'let n = 0; module.exports = () => ++n;',
      }),
    ).toBe(false);
  });
});
