/** Holds the import directions of ARCHITECTURE.md: each part, and what it may know of. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** Parts of the program, and the parts that each may import beside itself. */
const MAY_IMPORT: Record<string, string[]> = {
  core: [],
  engine: ['core'],
  sdk: ['core'],
  link: ['engine', 'core'],
  worker: ['sdk', 'link', 'core'],
  embedded: ['engine', 'core'],
  trace: ['engine', 'core'],
  telemetry: ['engine', 'core'],
  temporal: ['engine', 'worker', 'sdk', 'core'],
  http: ['engine', 'trace', 'telemetry', 'core'],
  cli: ['http', 'embedded', 'temporal', 'trace', 'telemetry', 'worker', 'link', 'engine', 'core'],
  server: ['http', 'embedded', 'trace', 'telemetry', 'worker', 'link', 'engine', 'core'],
};

/** Packages that one part alone knows. */
const KNOWN_ONLY_BY: Record<string, string> = {
  'better-sqlite3': 'embedded',
  fastify: 'http',
  commander: 'cli',
  pino: 'cli',
  ws: 'link',
  esbuild: 'worker',
  '@temporalio': 'temporal',
  '@aws-sdk': 'trace',
  'prom-client': 'telemetry',
  '@opentelemetry': 'telemetry',
};

interface SourceFile {
  path: string;
  part: string;
  text: string;
  imports: string[];
}

const IMPORT =
  /^(?:import|export)\b[^'"]*?\bfrom\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^import\s+['"]([^'"]+)['"]/gm;

const STATIC_IMPORT = /^(?:import|export)\b[^'"]*?\bfrom\s+['"]([^'"]+)['"]/gm;

const files: SourceFile[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(path))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const imports = [...text.matchAll(IMPORT)].map(([, from, dynamic, bare]) => (from ?? dynamic ?? bare)!);
    return { path, part: partOf(path), text, imports };
  });

function partOf(path: string): string {
  return path.includes('/') ? path.split('/')[0]! : path.replace(/\.ts$/, '');
}

/** The part that a relative import leads to. */
function target(file: SourceFile, specifier: string): string {
  return partOf(relative(SRC, join(SRC, dirname(file.path), specifier)).replace(/\.js$/, '.ts'));
}

const lines = (found: string[]) => expect(found.sort());

describe('the parts', () => {
  it('are all named here', () => {
    expect([...new Set(files.map(({ part }) => part))].filter((part) => !(part in MAY_IMPORT))).toEqual([]);
    expect(files.length).toBeGreaterThan(30);
  });

  it('import in one direction only', () => {
    const wrong: string[] = [];
    for (const file of files) {
      for (const specifier of file.imports.filter((each) => each.startsWith('.'))) {
        const part = target(file, specifier);
        if (part !== file.part && !MAY_IMPORT[file.part]?.includes(part))
          wrong.push(`${file.path} imports ${specifier}`);
      }
    }
    lines(wrong).toEqual([]);
  });

  it('keep their libraries to themselves', () => {
    const wrong: string[] = [];
    for (const file of files) {
      for (const specifier of file.imports) {
        const owner = KNOWN_ONLY_BY[specifier.split('/')[0]!];
        if (owner !== undefined && owner !== file.part) wrong.push(`${file.path} imports ${specifier}`);
      }
    }
    lines(wrong).toEqual([]);
  });

  it('load Temporal only where it was chosen', () => {
    const wrong: string[] = [];
    for (const file of files.filter(({ part }) => part !== 'temporal')) {
      for (const [statement, specifier] of file.text.matchAll(STATIC_IMPORT)) {
        const isTypes = /^(?:import|export)\s+type\b/.test(statement);
        if (!isTypes && specifier!.startsWith('.') && target(file, specifier!) === 'temporal')
          wrong.push(`${file.path} imports ${specifier}`);
      }
    }
    lines(wrong).toEqual([]);
    const loaders = files.filter(({ text }) => text.includes("import('../temporal/index.js')"));
    lines(loaders.map(({ path }) => path)).toEqual(['cli/on-temporal.ts']);
  });

  it('leave the environment to the command line', () => {
    const readers = files.filter(
      ({ part, text }) => part !== 'cli' && /(?<!['"])\bprocess\.env\b/.test(text),
    );
    // It hands the environment on to user code, and takes no setting from it.
    lines(readers.map(({ path }) => path)).toEqual(['worker/supervisor.ts']);
  });

  it('leave the time of the engine to its clock', () => {
    const readers = files.filter(
      ({ part, text }) => part === 'embedded' && /\bDate\.now\(|\bnew Date\(\)/.test(text),
    );
    lines(readers.map(({ path }) => path)).toEqual([]);
  });
});
