/**
 * The host side of a folder: its modules as this process imports them, for the definitions and the code of steps.
 *
 * esbuild reads the whole graph once, before anything runs. It says where every import leads (TypeScript's ways of
 * naming files, tsconfig paths), turns each module into JavaScript that Node can read whatever the folder's
 * package.json says, and finds all syntax errors at once. Node then imports the modules one by one, so
 * `import.meta.url`, live bindings and singletons are what authors expect.
 *
 * Steps are found where they are defined, exported or not: `step` as user files import it, directly or by way of a package
 * that hands it on, reports here.
 */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { type BuildFailure, build, type Metafile } from 'esbuild';
import { definedSteps } from '../../sdk/defined-steps.js';
import { type StepDefinition, stepDefinition } from '../../sdk/definition.js';
import { UsageError } from '../../sdk/errors.js';
import { step } from '../../sdk/step.js';
import { fileBeingLoaded, packageOf } from './defining-file.js';
import { outsideOf } from './discover.js';
import type { HostGraph } from './host-hooks.js';
import { LoadError, type LoadProblem, problemOfMessage } from './load-error.js';
import { fileLoadingStep, stepsOfFile } from './step-files.js';

/** Beside the built sources, from src/ and from dist/ alike: hooks run in a thread that knows no TypeScript. */
const HOOKS = new URL('../../../dist/worker/loading/host-hooks.js', import.meta.url);

/** Imports the file with this absolute path. */
export type ImportFile = (path: string) => Promise<Record<string, unknown>>;

const importNatively: ImportFile = (path) => import(pathToFileURL(path).href);

export interface HostOptions {
  /** What `entries` lead to, as it was read before. */
  graph?: HostGraph;
  /** Somebody else's, such as a test runner's: modules are then what that makes of them. */
  importer?: ImportFile;
}

export class HostModules {
  /** By file, in the order of their definition. */
  readonly #steps = new Map<string, StepDefinition[]>();
  readonly #calledTooEarly = new Map<UsageError, LoadProblem>();
  #loading = true;
  /** By which the hooks say what they load. */
  readonly #loaded = new MessageChannel();

  private constructor(
    readonly directory: string,
    readonly graph: HostGraph,
    private readonly importer: ImportFile,
  ) {}

  /** Reads all that `entries` lead to, unless that is known; nothing of it has run yet. */
  static async open(
    directory: string,
    entries: string[],
    { graph: known, importer }: HostOptions = {},
  ): Promise<HostModules> {
    const graph = known ?? (await readGraph(directory, entries));
    const modules = new HostModules(directory, graph, importer ?? importNatively);
    if (importer) return modules;
    // One folder per process, as Node's hooks are.
    Object.assign(globalThis, {
      [Symbol.for('perdure.defineStep')]: (url: string) => (definition: Definition) =>
        modules.#define(url, definition),
    });
    register(HOOKS, {
      data: { ...graph, loaded: modules.#loaded.port2 },
      transferList: [modules.#loaded.port2],
    });
    return modules;
  }

  async import(relativePath: string): Promise<Record<string, unknown>> {
    return this.importer(resolve(this.directory, relativePath));
  }

  /** The files that were read, imported or not. */
  files(): string[] {
    const { modules, commonJs } = this.graph;
    return [...Object.keys(modules), ...Object.keys(commonJs)].map((url) => fileURLToPath(url));
  }

  /** The files that have been imported so far. What the hooks have said is here before the import they said it for is done. */
  loadedFiles(): string[] {
    const files: string[] = [];
    for (;;) {
      const said = receiveMessageOnPort(this.#loaded.port1);
      if (!said) return files;
      files.push(fileURLToPath(said.message as string));
    }
  }

  /** What this process runs of the folder, by paths from there, wherever that is. */
  sources(): [file: string, source: string][] {
    const { modules, commonJs } = this.graph;
    const sources = [
      ...Object.entries(modules).map(([url, { source }]) => [url, source] as const),
      ...Object.entries(commonJs),
    ].map(([url, source]): [string, string] => [relative(this.directory, fileURLToPath(url)), source]);
    return sources.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  stepsDefinedIn(relativePath: string): readonly StepDefinition[] {
    const reported = this.#steps.get(relativePath) ?? [];
    // A file that this process had imported before, such as a test's, has reported to nobody.
    const path = resolve(this.directory, relativePath);
    const earlier = new Map<string, StepDefinition>();
    for (const { definition } of stepsOfFile(path)) earlier.set(definition.name, definition);
    for (const { file, definition } of this.#unreported())
      if (file === path) earlier.set(definition.name, definition);
    for (const { name } of reported) earlier.delete(name);
    return [...reported, ...earlier.values()];
  }

  /** Those of installed packages, given by their folders. */
  stepsOfPackages(folders: ReadonlySet<string>): { file: string; definition: StepDefinition }[] {
    const reported = [...this.#steps].flatMap(([file, definitions]) =>
      definitions.map((definition) => ({ file: resolve(this.directory, file), definition })),
    );
    return [...reported, ...this.#unreported()]
      .filter(({ file }) => folders.has(packageOf(file) ?? ''))
      .map(({ file, definition }) => ({ file: relative(this.directory, file), definition }));
  }

  /** What CommonJS requires is Node's own to find, so its `step` reports to nobody. */
  #unreported(): { file: string; definition: StepDefinition }[] {
    const reported = new Set([...this.#steps.values()].flat());
    return definedSteps()
      .filter(({ definition }) => !reported.has(definition))
      .map((step) => ({ file: fileLoadingStep(step), definition: step.definition }));
  }

  /** From here on steps may run. Answers with the calls that came before. */
  finishLoading(): LoadProblem[] {
    this.#loading = false;
    return [...this.#calledTooEarly.values()];
  }

  /** Whether `finishLoading` tells about it anyway. */
  isKnownProblem(error: unknown): boolean {
    return this.#calledTooEarly.has(error as UsageError);
  }

  #define(importer: string, definition: Definition) {
    const url = fileBeingLoaded() ?? importer;
    const file = url.startsWith('file:') ? relative(this.directory, fileURLToPath(url)) : url;
    const made = step(typeof definition?.fn === 'function' ? this.#guarded(definition, file) : definition);
    const list = this.#steps.get(file) ?? [];
    this.#steps.set(file, [...list, stepDefinition(made)!]);
    return made;
  }

  /** A step that a file calls while it is being loaded would have its effect on every start of every worker. */
  #guarded(definition: Definition, file: string): Definition {
    return {
      ...definition,
      fn: (input) => {
        if (!this.#loading) return definition.fn(input);
        const message = `step "${definition.name}" was called while files were being loaded. Call it inside the fn of a workflow`;
        const error = new UsageError(message);
        this.#calledTooEarly.set(error, { file, message });
        throw error;
      },
    };
  }
}

interface Definition {
  name: string;
  fn: (input: never) => unknown;
}

async function readGraph(directory: string, entries: string[]): Promise<HostGraph> {
  const lookedFor = new Set<string>();
  const { metafile } = await build({
    ...shared(directory),
    entryPoints: entries,
    bundle: true,
    packages: 'external',
    outdir: '/',
    plugins: [
      {
        name: 'perdure',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^(perdure|zod)($|\/)/ }, ({ path }) => ({ path, external: true }));
          onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
            lookedFor.add(resolve(resolveDir, path));
            return undefined;
          });
          onLoad({ filter: /./ }, ({ path }) => {
            lookedFor.add(path);
            return undefined;
          });
        },
      },
    ],
  }).catch(refuse(directory, lookedFor));

  // CommonJS is Node's own to load: as a module it would lose `require` and `module`.
  const isCommonJs = (path: string) => metafile.inputs[path]!.format === 'cjs';
  const inputs = Object.keys(metafile.inputs).filter((path) => !isCommonJs(path));
  const transpiled = await build({
    ...shared(directory),
    // Named so that the output stands beside its source: its source map then names the source by its bare file name.
    entryPoints: inputs.map((path) => ({ in: path, out: resolve(directory, path).slice(1) })),
    bundle: false,
    outdir: '/',
    sourcemap: 'inline',
  }).catch(refuse(directory, lookedFor));

  const graph: HostGraph = { modules: {}, commonJs: {} };
  for (const path of Object.keys(metafile.inputs).filter(isCommonJs)) {
    const absolute = resolve(directory, path);
    graph.commonJs[pathToFileURL(absolute).href] = await readFile(absolute, 'utf8');
  }
  const sources = new Map(transpiled.outputFiles.map((file) => [file.path, file.text]));
  for (const path of inputs) {
    const absolute = resolve(directory, path);
    const source = sources.get(`${absolute}.js`);
    if (source === undefined) continue;
    graph.modules[pathToFileURL(absolute).href] = { source, imports: importsOf(metafile, path, directory) };
  }
  return graph;
}

function importsOf(metafile: Metafile, path: string, directory: string): Record<string, string> {
  const imports: Record<string, string> = {};
  for (const { path: target, original, external } of metafile.inputs[path]!.imports) {
    if (original !== undefined && !external)
      imports[original] = pathToFileURL(resolve(directory, target)).href;
  }
  return imports;
}

function shared(directory: string) {
  return {
    absWorkingDir: directory,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    allowOverwrite: true,
  } as const;
}

function refuse(directory: string, lookedFor: ReadonlySet<string>) {
  return (failure: BuildFailure): never => {
    if (!Array.isArray(failure.errors)) throw failure;
    throw new LoadError(
      directory,
      failure.errors.map((message) => problemOfMessage(message)),
      outsideOf(directory, lookedFor),
    );
  };
}
