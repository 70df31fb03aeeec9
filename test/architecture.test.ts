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
  output: ['sdk', 'core'],
  link: ['engine', 'core'],
  worker: ['output', 'sdk', 'link', 'telemetry', 'core'],
  embedded: ['engine', 'core'],
  trace: ['engine', 'core'],
  telemetry: ['engine', 'core'],
  temporal: ['engine', 'worker', 'sdk', 'telemetry', 'core'],
  testing: ['embedded', 'worker', 'client', 'sdk', 'engine', 'core'],
  http: ['engine', 'trace', 'telemetry', 'core'],
  client: ['http', 'sdk', 'core'],
  cli: ['client', 'http', 'embedded', 'temporal', 'trace', 'telemetry', 'worker', 'link', 'engine', 'core'],
  server: ['http', 'embedded', 'trace', 'telemetry', 'worker', 'link', 'engine', 'core'],
};

/** The rooms of the embedded engine, each with the rooms that it may import beside itself. */
const EMBEDDED_ROOMS: Record<string, string[]> = {
  state: [],
  workers: [],
  store: ['state', 'workers'],
  kernel: ['store', 'workers'],
  life: ['kernel', 'store', 'state', 'workers'],
  delivery: ['life', 'kernel', 'store', 'state', 'workers'],
  upkeep: ['delivery', 'life', 'kernel', 'store', 'state', 'workers'],
  calls: ['upkeep', 'delivery', 'life', 'kernel', 'store', 'state', 'workers'],
  options: ['store'],
  parts: ['options', 'calls', 'upkeep', 'delivery', 'life', 'kernel', 'store', 'workers'],
  index: ['parts', 'options', 'calls', 'store'],
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

/** The files that a file imports. */
function importedBy(file: SourceFile): string[] {
  return file.imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => join(dirname(file.path), specifier).replace(/\.js$/, '.ts'));
}

const roomOf = (path: string): string => path.split('/')[1]!.replace(/\.ts$/, '');

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

  it('import in one direction inside the embedded engine too', () => {
    const wrong: string[] = [];
    for (const file of files.filter(({ part }) => part === 'embedded')) {
      const room = roomOf(file.path);
      for (const path of importedBy(file).filter((each) => each.startsWith('embedded/'))) {
        const other = roomOf(path);
        if (other !== room && !EMBEDDED_ROOMS[room]?.includes(other))
          wrong.push(`${file.path} imports ${path}`);
      }
    }
    lines(wrong).toEqual([]);
  });

  it('have no circle of imports, types included', () => {
    const byPath = new Map(files.map((file) => [file.path, file]));
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (path: string, above: readonly string[]): void => {
      if (above.includes(path)) {
        circles.push([...above.slice(above.indexOf(path)), path].join(' > '));
        return;
      }
      const file = byPath.get(path);
      if (!file || done.has(path)) return;
      for (const next of importedBy(file)) visit(next, [...above, path]);
      done.add(path);
    };
    for (const { path } of files) visit(path, []);
    lines(circles).toEqual([]);
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
    const loaders = files.filter(({ text }) => text.includes("import('../../temporal/index.js')"));
    lines(loaders.map(({ path }) => path)).toEqual(['cli/serving/on-temporal.ts']);
  });

  it('bring nothing into browsers: the client has its types from elsewhere, and otherwise only what needs nothing itself', () => {
    const wrong: string[] = [];
    for (const file of files.filter(({ part }) => part === 'client')) {
      for (const [statement, specifier] of file.text.matchAll(STATIC_IMPORT)) {
        const isTypes = /^(?:import|export)\s+type\b/.test(statement);
        const isOwn =
          specifier!.startsWith('./') ||
          /^\.\.\/core\/(errors|values\/(base-url|id-segment|json))\.js$/.test(specifier!);
        if (!isTypes && !isOwn) wrong.push(`${file.path} imports ${specifier}`);
      }
    }
    lines(wrong).toEqual([]);
  });

  it('leave the environment to the command line', () => {
    const readers = files.filter(
      ({ part, text }) => part !== 'cli' && /(?<!['"])\bprocess\.env\b/.test(text),
    );
    // One gives headers the variables that the author's code names, the other hands the environment on to user code;
    // neither takes a setting from it.
    lines(readers.map(({ path }) => path)).toEqual(['sdk/http-steps.ts', 'worker/supervision/supervisor.ts']);
  });

  it('open the database with one library: two in one process would undo each other’s locks', () => {
    const openers = files.filter(({ text }) => /['"](?:node:)?sqlite['"]/.test(text));
    lines(openers.map(({ path }) => path)).toEqual([]);
  });

  it('leave the time of the engine to its clock', () => {
    const readers = files.filter(
      ({ part, text }) => part === 'embedded' && /\bDate\.now\(|\bnew Date\(\)/.test(text),
    );
    lines(readers.map(({ path }) => path)).toEqual([]);
  });

  it('wait on Temporal by a clock that nobody sets', () => {
    // These compare instants with those of the cluster, or tell when something was; the others would only wait by it.
    const instants = [
      'acting/messages.ts',
      'acting/pausing.ts',
      'cluster/connection.ts',
      'reading/list.ts',
      'reading/recent.ts',
      'reading/runs.ts',
      'reading/why.ts',
      'reading/workers.ts',
      'worker/budgets.ts',
      'worker/failed-attempt.ts',
      'worker/steps.ts',
      'worker/worker.ts',
    ];
    const readers = files.filter(
      ({ part, text }) => part === 'temporal' && /\bDate\.now\(|\bnew Date\(\)/.test(text),
    );
    lines(readers.map(({ path }) => path)).toEqual(instants.map((path) => `temporal/${path}`));
  });
});

describe('the dashboard', () => {
  const root = fileURLToPath(new URL('../dashboard/src', import.meta.url));
  const page = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

  it('knows nothing of the program but its client', () => {
    const wrong = page.flatMap(({ path, text }) =>
      [...text.matchAll(IMPORT)]
        .map(([, from, dynamic, bare]) => (from ?? dynamic ?? bare)!)
        .filter((specifier) =>
          specifier.startsWith('.')
            ? relative(root, join(root, dirname(path), specifier)).startsWith('..')
            : /^perdure(?!\/client$)/.test(specifier),
        )
        .map((specifier) => `${path} imports ${specifier}`),
    );
    expect(page.length).toBeGreaterThan(50);
    lines(wrong).toEqual([]);
  });

  it('shows what users sent as text', () => {
    const wrong = page.filter(({ text }) =>
      /dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML/.test(text),
    );
    lines(wrong.map(({ path }) => path)).toEqual([]);
  });
});
