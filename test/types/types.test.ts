/**
 * The published types, compiled as a project does that has only what the package brings along, by the compilers that
 * authors use: strictly, and with the declarations of all packages checked.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SOURCES = ['authoring.ts', 'output.ts', 'parts.ts'];
/** The declarations of packages take most of the time, so the oldest and the newest check them. */
const COMPILERS: Record<string, [name: string, ...more: string[]]> = {
  '5.9': ['typescript-5.9'],
  '6': ['typescript-6', '--skipLibCheck'],
  '7': ['typescript'],
};

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
}
const manifestOf = (path: string) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;

let project: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'perdure-types-'));
  const own = join(project, 'node_modules/perdure');
  cpSync(join(ROOT, 'package.json'), join(own, 'package.json'));
  cpSync(join(ROOT, 'dist'), join(own, 'dist'), {
    recursive: true,
    filter: (path) => !/\.[^./]+$/.test(path) || path.endsWith('.d.ts'),
  });
  // Of the packages around it only those that it asks for: types that it forgot to bring along are missing here too.
  for (const name of [...Object.keys(manifestOf(ROOT).dependencies), '@types/node']) {
    const link = join(project, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
  for (const file of SOURCES) cpSync(join(ROOT, 'test/types', file), join(project, file));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'ES2022',
        module: 'NodeNext',
        strict: true,
        noUncheckedIndexedAccess: true,
        noEmit: true,
        skipLibCheck: false,
        types: ['node'],
      },
      files: SOURCES,
    }),
  );
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('the published types', () => {
  for (const [version, [compiler, ...more]] of Object.entries(COMPILERS)) {
    it(`compile with TypeScript ${version}`, { timeout: 120_000 }, async () => {
      const path = join(ROOT, 'node_modules', compiler);
      expect(manifestOf(path).version).toMatch(new RegExp(`^${version.replace('.', '\\.')}\\.`));
      expect(await compile(join(path, 'bin/tsc'), more)).toBe('');
    });
  }
});

/** What the compiler has against the project. */
function compile(tsc: string, more: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [tsc, '-p', '.', ...more], { cwd: project });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0 ? output : output || `exit code ${code}`));
  });
}
