import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { withClassNames } from './class-names.js';
import { shareable } from './stateless.js';

/** As a bundle has it, with the text of another module whose names are the same. */
async function bundled(contents: string, keepNames = true): Promise<string> {
  const other = `export class Twice extends Error { other() {} }\nexport const twice = () => 1;`;
  const { outputFiles } = await build({
    stdin: { contents: `import * as other from 'other';\nexport { other };\n${contents}` },
    ...{ bundle: true, write: false, format: 'cjs', target: 'node20', keepNames },
    plugins: [
      {
        name: 'other',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^other$/ }, ({ path }) => ({ path, namespace: 'other' }));
          onLoad({ filter: /./, namespace: 'other' }, () => ({ contents: other }));
        },
      },
    ],
  });
  return outputFiles[0]!.text;
}

type Class = new () => object;
interface Exports {
  Own: Class;
  Plain: Class;
  Twice: Class;
  other: { Twice: Class };
  known: Class;
  make(): Class;
  arrow(): void;
  table: { of(): number };
}

function evaluated(code: string): Exports {
  const module = { exports: {} };
  new Function('module', 'exports', code)(module, module.exports);
  return module.exports as Exports;
}

const SOURCE = `
export class Own extends Error { copy() { return new Own(); } }
export class Plain { }
export class Twice extends Error { }
export const twice = () => 2;
export const arrow = async () => [() => 1].map((f) => f());
export function make() {
  class Inner { copy() { return new Inner(); } }
  const inner = () => Inner;
  return inner();
}
export const known = class Other { };
export const table = { method() { return 1; }, of: () => 1 };
`;

it('gives classes the names that their authors wrote, whatever else has these', async () => {
  const { Own, Plain, Twice, other, make, known } = evaluated(withClassNames(await bundled(SOURCE)));
  const names = [Own, Plain, Twice, other.Twice, make(), known];
  expect(names.map(({ name }) => name)).toEqual(['Own', 'Plain', 'Twice', 'Twice', 'Inner', 'Other']);
  expect(new Own().constructor.name).toBe('Own');
});

it('sets nothing else anew, so that it costs no turn anything', async () => {
  const code = await bundled(SOURCE);
  const named = withClassNames(code);
  expect(code.match(/__name\(/g)!.length).toBeGreaterThan(10);
  // The two that esbuild has renamed.
  expect(named.match(/__name\(/g)).toHaveLength(2);
  const { arrow, table } = evaluated(named);
  expect(arrow.name).toBe('arrow');
  expect(table.of()).toBe(1);
});

it('leaves each line and column where it was', async () => {
  const code = await bundled(SOURCE);
  const named = withClassNames(code);
  expect(named).toHaveLength(code.length);
  expect(named.split('\n').map((line) => line.length)).toEqual(code.split('\n').map((line) => line.length));
});

it('leaves what runs may share shareable', async () => {
  const contents = 'export class Own extends Error { copy() { return new Own(); } }';
  expect(shareable(await bundled(contents, false))).toBeDefined();
  expect(shareable(withClassNames(await bundled(contents)))).toBeDefined();
});
