/**
 * The packages that workflows import, as one bundle. A package may hold state (a counter of ids, a cache), so each run
 * evaluates those that it uses when it first asks for them.
 *
 * `perdure` and zod are not in it: the sandbox has them. A project's own zod of another major version is, since
 * its schemas are another thing.
 */
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import {
  type BuildFailure,
  build,
  type ImportKind,
  type Message,
  type Metafile,
  type PluginBuild,
} from 'esbuild';
import type { LibraryBundle } from './bundle.js';
import { withClassNames } from './class-names.js';
import { packageOf } from './defining-file.js';
import type { LoadProblem } from './load-error.js';

const NODE_MODULES: ReadonlySet<string> = new Set(builtinModules);

export const isNodeModule = (specifier: string): boolean =>
  specifier.startsWith('node:') || NODE_MODULES.has(specifier);

const REMEDY =
  'Do it in a step: move the code to a file steps.ts or below a folder steps/, make it a step({...}) and call that';

export const nodeModuleRefusal = (specifier: string): string =>
  `"${specifier}" cannot be imported by a workflow: its code is run again from its history, so it must not touch files, network, processes or clocks by itself. ${REMEDY}`;

interface Importer {
  importer: string;
  resolveDir: string;
}

interface Resolving extends Importer {
  path: string;
  kind: ImportKind;
  pluginData?: unknown;
}

const RESOLVING = Symbol('resolving');

/** Where esbuild itself would find it; undefined when it does not, and while asking. */
export async function resolveOnce(plugin: PluginBuild, args: Resolving): Promise<string | undefined> {
  if (args.pluginData === RESOLVING) return undefined;
  const { path, errors, external } = await plugin.resolve(args.path, {
    kind: args.kind,
    importer: args.importer,
    resolveDir: args.resolveDir,
    pluginData: RESOLVING,
  });
  return errors.length > 0 || external || path === '' ? undefined : path;
}

export type Packages = ReadonlyMap<string, readonly string[]>;

export class Library {
  readonly #packages = new Map<string, { specifier: string; found: string } & Importer>();

  #metafile: Metafile | undefined;

  constructor(private readonly directory: string) {}

  /** The name under which the sandbox itself has what `specifier` means there; undefined when it does not. */
  provided(specifier: string, resolveDir: string): string | undefined {
    if (specifier !== 'zod' && specifier !== 'zod/v4') return undefined;
    const version = zodVersionAt(resolveDir);
    return version === undefined || version.startsWith('4.') ? 'zod' : undefined;
  }

  /** The name by which a workflow's bundle requires the package. */
  add(specifier: string, found: string, { importer, resolveDir }: Importer): string {
    // Two folders may have different versions of one package; then each has its own name.
    for (let n = 1; ; n++) {
      const key = n === 1 ? specifier : `${specifier}#${n}`;
      const known = this.#packages.get(key);
      if (known && known.found !== found) continue;
      if (!known) this.#packages.set(key, { specifier, found, importer, resolveDir });
      return key;
    }
  }

  async bundle(): Promise<{ bundle?: LibraryBundle; problems: LoadProblem[] }> {
    if (this.#packages.size === 0) return { problems: [] };
    try {
      const { outputFiles, metafile } = await build({
        absWorkingDir: this.directory,
        stdin: { contents: this.#entry(), sourcefile: 'library.mjs', resolveDir: this.directory },
        bundle: true,
        write: false,
        metafile: true,
        format: 'cjs',
        platform: 'browser',
        target: 'node20',
        keepNames: true,
        supported: { 'dynamic-import': false },
        define: { 'process.env.NODE_ENV': '"production"' },
        footer: { js: 'module.exports = module.exports.default;' },
        logLevel: 'silent',
        plugins: [{ name: 'perdure', setup: (plugin) => this.#intercept(plugin) }],
      });
      this.#metafile = metafile;
      return { bundle: { code: withClassNames(outputFiles[0]!.text) }, problems: [] };
    } catch (error) {
      const { errors } = error as Partial<BuildFailure>;
      if (!errors) throw error;
      return { problems: errors.map((message) => this.#problem(message)) };
    }
  }

  /**
   * The packages by the names by which bundles require them, each with the folders of all packages that it leads to, which
   * are known once it is bundled.
   */
  get packages(): Packages {
    return new Map([...this.#packages.keys()].map((name) => [name, this.#foldersOf(name)]));
  }

  #foldersOf(name: string): string[] {
    const inputs = this.#metafile?.inputs ?? {};
    const reached = new Set<string>();
    const visit = (path: string) => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const { path: target, external } of inputs[path]?.imports ?? []) if (!external) visit(target);
    };
    visit(`${ENTRY}${name}.mjs`);
    const folders = [...reached].map((path) => packageOf(resolve(this.directory, path)));
    return [...new Set(folders.filter((folder) => folder !== undefined))];
  }

  #entry(): string {
    const keys = [...this.#packages.keys()];
    const packages = keys.map(
      (key) => `${JSON.stringify(key)}: () => require(${JSON.stringify(ENTRY + key)}).default`,
    );
    return `export default { ${packages.join(', ')} };`;
  }

  #intercept(plugin: PluginBuild): void {
    plugin.onResolve({ filter: /^perdure-package:/ }, ({ path }) => {
      // Named .mjs so that CommonJS packages look as they do to Node's own import.
      return { path: `${path.slice(ENTRY.length)}.mjs`, namespace: 'perdure-package' };
    });
    plugin.onLoad({ filter: /./, namespace: 'perdure-package' }, ({ path }) => ({
      contents: packageEntry(path.slice(0, -'.mjs'.length)),
      resolveDir: this.directory,
    }));
    plugin.onResolve({ filter: /^perdure-library:/ }, ({ path }) => {
      return { path: this.#packages.get(path.slice('perdure-library:'.length))!.found };
    });
    plugin.onResolve({ filter: /^perdure(\/output)?$/ }, ({ path }) => ({ path, external: true }));
    plugin.onResolve({ filter: /./ }, async (args) => {
      const provided = this.provided(args.path, args.resolveDir);
      if (provided !== undefined) return { path: provided, external: true };
      if (!isNodeModule(args.path) || args.pluginData === RESOLVING) return undefined;
      return (await resolveOnce(plugin, args)) === undefined
        ? { errors: [{ text: `uses "${args.path}"` }] }
        : undefined;
    });
  }

  /** The reader's own file is where the package is imported, not somewhere inside the package. */
  #problem({ text, location }: Message): LoadProblem {
    const inside = location ? `${location.file}:${location.line} ` : '';
    const user = [...this.#packages.values()].find(
      ({ found }) => location && isSamePackage(found, join(this.directory, location.file)),
    );
    const subject = user ? `the package "${user.specifier}"` : 'a package';
    const message = `${subject} cannot be imported by a workflow: ${inside}${text}. ${REMEDY}`;
    if (!user) return { message };
    return {
      file: relative(this.directory, user.importer),
      line: lineOf(user.importer, user.specifier),
      message,
    };
  }
}

const ENTRY = 'perdure-package:';

/** Marked as a namespace, so that `default` is what the package exports by that name. */
const packageEntry = (key: string): string =>
  [
    `import * as m from ${JSON.stringify(`perdure-library:${key}`)};`,
    'const n = {};',
    // What a package hands on of another may bring the mark along.
    'for (const k of Object.keys(m)) if (k !== "__esModule") Object.defineProperty(n, k, { enumerable: true, get: () => m[k] });',
    'Object.defineProperty(n, "__esModule", { value: true });',
    'export default n;',
  ].join('\n');

const isSamePackage = (a: string, b: string): boolean => {
  const folder = packageOf(a);
  return folder !== undefined && folder === packageOf(b);
};

function lineOf(file: string, specifier: string): number | undefined {
  const lines = readFileSync(file, 'utf8').split('\n');
  const index = lines.findIndex((line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`));
  return index < 0 ? undefined : index + 1;
}

function zodVersionAt(directory: string): string | undefined {
  try {
    const entry = createRequire(join(directory, 'workflow.js')).resolve('zod');
    for (let at = dirname(entry); at !== dirname(at); at = dirname(at)) {
      const manifest = join(at, 'package.json');
      if (!existsSync(manifest)) continue;
      const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (name === 'zod') return version;
    }
  } catch {
    // Not installed there.
  }
  return undefined;
}
