/**
 * Loads a folder of workflows: finds them, imports their definitions and steps into this process, bundles their
 * workflow side for the sandbox, and checks that it all fits together. Every problem is found before one is told.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stop } from 'esbuild';
import type { RegisteredWorkflow } from '../../core/catalog.js';
import { toFailure } from '../../core/history/failure.js';
import {
  type StepDefinition,
  stepDefinition,
  type WorkflowDefinition,
  workflowDefinition,
} from '../../sdk/definition.js';
import type { LibraryBundle, WorkflowBundle } from './bundle.js';
import {
  type Bundles,
  bundleWorkflows,
  type ExportedStep,
  type ModuleGraph,
  type Reached,
} from './bundler.js';
import { findWorkflowFiles, outsideOf } from './discover.js';
import { HostModules, type ImportFile } from './host-modules.js';
import { Library, type Packages } from './library.js';
import { distinctProblems, LoadError, type LoadProblem } from './load-error.js';
import { clashes, type FoundStep, type FoundWorkflow, register, stepsByName } from './registration.js';
import { bundlesOf, type FolderSnapshot } from './snapshot.js';
import { SourceLines } from './source-lines.js';
import { placeIn } from './stack-places.js';
import { shareable } from './stateless.js';
import { StepTable } from './step-table.js';

export interface LoadedWorkflows {
  directory: string;
  registered: RegisteredWorkflow[];
  /** As this process has imported them, by name. */
  definitions: ReadonlyMap<string, WorkflowDefinition>;
  bundles: WorkflowBundle[];
  library: LibraryBundle | undefined;
  steps: StepTable;
  sourceLines: SourceLines;
  /** Of the bundles, as JSON by their file names; sources are relative to the folder of that file. */
  sourceMaps: ReadonlyMap<string, string>;
  /** The same for the same code, of workflows and of steps. */
  codeId: string;
  /** What was read of the folder, for others who are to run the same. */
  snapshot: FolderSnapshot;
  /** The files outside the folder that it consists of, packages left out. */
  outside: string[];
}

export interface LoadOptions {
  /** What it has of the folder is not read again. */
  snapshot?: FolderSnapshot;
  /** Its modules are taken for what they are. */
  importer?: ImportFile;
}

/** Once per process: imported modules stay. @throws LoadError */
export async function loadWorkflows(
  folder: string,
  { snapshot, importer }: LoadOptions = {},
): Promise<LoadedWorkflows> {
  const files = snapshot?.files ?? (await findWorkflowFiles(folder));
  const directory = snapshot?.directory ?? (await realpath(folder));
  try {
    const modules = await HostModules.open(directory, files, { graph: snapshot?.host, importer });
    return await new Loading(directory, files, modules, snapshot).run();
  } finally {
    // Its process would stay for as long as this one.
    await stop();
  }
}

/** What esbuild takes for more than a name. */
const NOT_BUNDLED =
  'cannot be bundled under this path, which reads like a pattern. Rename the folder or the file that has a * in its name';

/** Codes of Node for an import that leads nowhere. */
const UNRESOLVED = /^ERR_(MODULE_NOT_FOUND|PACKAGE_PATH_NOT_EXPORTED)$/;

class Loading {
  readonly #problems: LoadProblem[] = [];
  readonly #unresolved = new Set<LoadProblem>();
  readonly #library: Library;

  constructor(
    readonly directory: string,
    readonly files: string[],
    readonly modules: HostModules,
    readonly snapshot: FolderSnapshot | undefined,
  ) {
    this.#library = new Library(directory);
  }

  async run(): Promise<LoadedWorkflows> {
    const onRejection = (reason: unknown) => this.#refuseThrown(undefined, reason);
    process.on('unhandledRejection', onRejection);
    try {
      const found = await this.#findWorkflows();
      const { bundles, library, packages } = await this.#bundled();
      this.#dropRepeated(bundles.problems);
      this.#problems.push(...bundles.problems, ...library.problems, ...clashes(found));
      const loaded = await this.#assemble(found, bundles, library.bundle, packages);
      // A rejection is known to be unhandled only after the microtasks of this turn.
      await new Promise(setImmediate);
      this.#problems.push(...this.modules.finishLoading());
      if (this.#problems.length > 0) {
        throw new LoadError(this.directory, distinctProblems(this.#problems), loaded.outside);
      }
      return loaded;
    } finally {
      process.off('unhandledRejection', onRejection);
    }
  }

  async #bundled() {
    const { snapshot } = this;
    if (snapshot) {
      const library: { bundle?: LibraryBundle; problems: LoadProblem[] } = {
        bundle: snapshot.library,
        problems: [],
      };
      return { bundles: bundlesOf(snapshot), library, packages: snapshot.packages };
    }
    const bundles = await bundleWorkflows({
      directory: this.directory,
      entries: this.files,
      library: this.#library,
      stepsOf: (path) => this.#exportedSteps(path),
    });
    const library = await this.#library.bundle();
    return { bundles, library, packages: this.#library.packages };
  }

  async #findWorkflows(): Promise<FoundWorkflow[]> {
    const found: FoundWorkflow[] = [];
    for (const file of this.files) {
      const exports = await this.#import(file);
      if (!exports) continue;
      const before = found.length;
      for (const [exportName, value] of Object.entries(exports)) {
        const definition = workflowDefinition(value);
        // One definition under two names, such as `export default` and a named export, is one workflow.
        if (definition && !found.some((other) => other.definition === definition)) {
          found.push({ file, exportName, definition });
        }
      }
      const hasWorkflow =
        found.length > before || Object.values(exports).some((value) => workflowDefinition(value));
      if (!hasWorkflow) {
        this.#problems.push({
          file,
          message:
            'exports no workflow. Add `export default workflow({ name, fn })`, with `workflow` imported from "perdure"',
        });
      }
    }
    return found;
  }

  async #assemble(
    found: FoundWorkflow[],
    { code, graph, sourceMaps }: Bundles,
    library: LibraryBundle | undefined,
    packages: Packages,
  ): Promise<LoadedWorkflows> {
    const steps = new StepTable();
    const registered: RegisteredWorkflow[] = [];
    const bundles: WorkflowBundle[] = [];
    const unbundled: LoadProblem[] = [];
    const shared = new Map(
      [...code].map(([file, text]) => [file, shareable(text, new Set(packages.keys()))]),
    );
    const workflowFiles = new Set(this.files);
    for (const workflow of found) {
      const { file, exportName, definition } = workflow;
      const own = stepsByName(
        workflow,
        await this.#stepsReached(graph.reach(file, workflowFiles), packages),
        this.#problems,
      );
      // Functions shared by workflow files may call steps of the file they stand in.
      const all = await this.#stepsReached(graph.reach(file), packages);
      steps.set(
        definition.name,
        new Map([...all.map((step) => [step.definition.name, step.definition] as const), ...own]),
      );
      registered.push({
        ...register(workflow, own.values(), this.#problems),
        stepNames: steps.namesOf(definition.name),
      });
      const text = code.get(file);
      if (text === undefined) {
        unbundled.push({ file, message: NOT_BUNDLED });
        continue;
      }
      bundles.push({
        workflowType: definition.name,
        filename: file,
        exportName,
        code: shared.get(file) ?? text,
        stateless: shared.get(file) !== undefined,
      });
    }
    // Without another reason. A workflow that nobody could run must not be offered to callers.
    if (this.#problems.length === 0) this.#problems.push(...unbundled);
    const sourceLines = new SourceLines(sourceMaps);
    const codeId = codeIdOf(bundles, library, this.modules.sources());
    return {
      directory: this.directory,
      registered,
      definitions: new Map(found.map(({ definition }) => [definition.name, definition])),
      bundles,
      library,
      steps,
      sourceLines,
      sourceMaps,
      codeId,
      snapshot: this.snapshot ?? {
        directory: this.directory,
        files: this.files,
        host: this.modules.graph,
        bundles: { code, sourceMaps, metafile: graph.metafile },
        library,
        packages,
      },
      outside: this.#outside(graph),
    };
  }

  /** What is loaded on either side: workflows and what they import by the bundler, steps and what they import by Node. */
  #outside(graph: ModuleGraph): string[] {
    const files = graph.files.map((path) => resolve(this.directory, path));
    return outsideOf(this.directory, [...files, ...this.modules.files(), ...this.modules.loadedFiles()]);
  }

  /** The steps that steps modules export, and those that other files and packages define for themselves. */
  async #stepsReached({ files, stepsModules, packages }: Reached, all: Packages): Promise<FoundStep[]> {
    const folders = [...packages].flatMap((name) => all.get(name) ?? []);
    const found: FoundStep[] = this.modules.stepsOfPackages(new Set(folders));
    for (const file of files) {
      for (const definition of this.modules.stepsDefinedIn(file)) found.push({ file, definition });
    }
    for (const file of stepsModules) {
      for (const [, definition] of await this.#stepExports(file)) found.push({ file, definition });
    }
    return found;
  }

  async #exportedSteps(file: string): Promise<ExportedStep[] | undefined> {
    if (!(await this.#import(file))) return undefined;
    const exports = await this.#stepExports(file);
    return exports.map(([exportName, { name, options }]) => ({ exportName, name, options }));
  }

  async #stepExports(file: string): Promise<[string, StepDefinition][]> {
    const exports = Object.entries((await this.#import(file)) ?? {});
    return exports.flatMap(([exportName, value]) => {
      const definition = stepDefinition(value);
      return definition ? [[exportName, definition] as [string, StepDefinition]] : [];
    });
  }

  async #import(file: string): Promise<Record<string, unknown> | undefined> {
    try {
      return await this.modules.import(file);
    } catch (error) {
      this.#refuseThrown(file, error);
      return undefined;
    }
  }

  #refuseThrown(file: string | undefined, error: unknown): void {
    if (this.modules.isKnownProblem(error)) return;
    const { type, message, properties } = toFailure(error);
    const what = `${type}: ${message}${wholeImport(message)}`;
    const problem = { file, ...this.#placeOf(error), message: `loading this file failed: ${what}` };
    if (UNRESOLVED.test(String(properties?.code ?? ''))) this.#unresolved.add(problem);
    this.#problems.push(problem);
  }

  /** An import that leads nowhere is met on both sides; esbuild knows its line. */
  #dropRepeated(bundling: LoadProblem[]): void {
    const files = new Set(bundling.map(({ file }) => file));
    const kept = this.#problems.filter(
      (problem) => !(this.#unresolved.has(problem) && files.has(problem.file)),
    );
    this.#problems.splice(0, Number.POSITIVE_INFINITY, ...kept);
  }

  /** The first line of the stack that is the user's own. */
  #placeOf(error: unknown): { file: string; line?: number; column?: number } | undefined {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const importer = / imported from (\/.*)$/m.exec(stack)?.[1];
    if (importer?.startsWith(`${this.directory}/`)) return { file: relative(this.directory, importer) };
    for (const text of stack.split('\n')) {
      const place = placeIn(text);
      if (!place) continue;
      const { file, line, column } = place;
      const path = file.startsWith('file:///') ? fileURLToPath(file) : file;
      if (!path.startsWith(`${this.directory}/`) || path.includes('/node_modules/')) continue;
      return { file: relative(this.directory, path), line, ...(column !== undefined && { column }) };
    }
    return undefined;
  }
}

const NO_SUCH_EXPORT = /module '([^'./][^']*)' does not provide an export named '([^']+)'/;

/** The remedy that Node itself gives, which is lost where the importing module comes from a hook. */
function wholeImport(message: string): string {
  const [, name, exported] = NO_SUCH_EXPORT.exec(message) ?? [];
  if (name === undefined) return '';
  return `. If it is CommonJS, Node may not see the names of its exports; take them from the whole: import whole from '${name}'; const { ${exported} } = whole`;
}

/** Of everything that was read from the folder, and of the packages that workflows use; those of steps are Node's to load. */
function codeIdOf(
  bundles: WorkflowBundle[],
  library: LibraryBundle | undefined,
  sources: readonly [file: string, source: string][],
): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([bundles, library, sources]));
  return hash.digest('hex').slice(0, 16);
}
