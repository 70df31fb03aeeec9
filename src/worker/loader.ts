/**
 * Loads a folder of workflows: finds them, imports their definitions and steps into this process, bundles their
 * workflow side for the sandbox, and checks that it all fits together. Every problem is found before one is told.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stop } from 'esbuild';
import type { RegisteredWorkflow } from '../core/catalog.js';
import { type StepDefinition, stepDefinition, workflowDefinition } from '../sdk/definition.js';
import type { LibraryBundle, WorkflowBundle } from './bundle.js';
import { type Bundles, bundleWorkflows, type ExportedStep } from './bundler.js';
import { findWorkflowFiles } from './discover.js';
import { HostModules } from './host-modules.js';
import { Library } from './library.js';
import { distinctProblems, LoadError, type LoadProblem } from './load-error.js';
import { clashes, type FoundStep, type FoundWorkflow, register, stepsByName } from './registration.js';
import { SourceLines } from './source-lines.js';
import { isStateless } from './stateless.js';
import { StepTable } from './step-table.js';

export interface LoadedWorkflows {
  directory: string;
  registered: RegisteredWorkflow[];
  bundles: WorkflowBundle[];
  library: LibraryBundle | undefined;
  steps: StepTable;
  sourceLines: SourceLines;
  /** Of the bundles, as JSON by their file names; sources are relative to the folder of that file. */
  sourceMaps: ReadonlyMap<string, string>;
  /** The same for the same workflow code. */
  codeId: string;
}

/** Once per process: imported modules stay. @throws LoadError */
export async function loadWorkflows(folder: string): Promise<LoadedWorkflows> {
  const files = await findWorkflowFiles(folder);
  const directory = await realpath(folder);
  try {
    const modules = await HostModules.open(directory, files);
    return await new Loading(directory, files, modules).run();
  } finally {
    // Its process would stay for as long as this one.
    await stop();
  }
}

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
  ) {
    this.#library = new Library(directory);
  }

  async run(): Promise<LoadedWorkflows> {
    const onRejection = (reason: unknown) => this.#refuseThrown(undefined, reason);
    process.on('unhandledRejection', onRejection);
    try {
      const found = await this.#findWorkflows();
      const bundles = await bundleWorkflows({
        directory: this.directory,
        entries: this.files,
        library: this.#library,
        stepsOf: (path) => this.#exportedSteps(path),
      });
      const library = await this.#library.bundle();
      this.#dropRepeated(bundles.problems);
      this.#problems.push(...bundles.problems, ...library.problems, ...clashes(found));
      const loaded = await this.#assemble(found, bundles, library.bundle);
      // A rejection is known to be unhandled only after the microtasks of this turn.
      await new Promise(setImmediate);
      this.#problems.push(...this.modules.finishLoading());
      if (this.#problems.length > 0) throw new LoadError(this.directory, distinctProblems(this.#problems));
      return loaded;
    } finally {
      process.off('unhandledRejection', onRejection);
    }
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
  ): Promise<LoadedWorkflows> {
    const steps = new StepTable();
    const registered: RegisteredWorkflow[] = [];
    const bundles: WorkflowBundle[] = [];
    const stateless = new Map([...code].map(([file, text]) => [file, isStateless(text)]));
    const workflowFiles = new Set(this.files);
    for (const workflow of found) {
      const { file, exportName, definition } = workflow;
      const own = stepsByName(
        workflow,
        await this.#stepsReached(graph.reach(file, workflowFiles)),
        this.#problems,
      );
      registered.push(register(workflow, own.values(), this.#problems));
      // Functions shared by workflow files may call steps of the file they stand in.
      const all = await this.#stepsReached(graph.reach(file));
      steps.set(
        definition.name,
        new Map([...all.map((step) => [step.definition.name, step.definition] as const), ...own]),
      );
      const text = code.get(file);
      if (text === undefined) continue;
      bundles.push({
        workflowType: definition.name,
        filename: file,
        exportName,
        code: text,
        stateless: stateless.get(file)!,
      });
    }
    const sourceLines = new SourceLines(sourceMaps);
    const codeId = codeIdOf(bundles, library);
    return {
      directory: this.directory,
      registered,
      bundles,
      library,
      steps,
      sourceLines,
      sourceMaps,
      codeId,
    };
  }

  /** The steps that steps modules export, and those that the other files define for themselves. */
  async #stepsReached({
    files,
    stepsModules,
  }: {
    files: string[];
    stepsModules: string[];
  }): Promise<FoundStep[]> {
    const found: FoundStep[] = [];
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
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const problem = { file, ...this.#placeOf(error), message: `loading this file failed: ${what}` };
    if (UNRESOLVED.test((error as NodeJS.ErrnoException)?.code ?? '')) this.#unresolved.add(problem);
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
    for (const [, url, line, column] of stack.matchAll(/((?:file:\/\/)?\/[^\s()]+?):(\d+)(?::(\d+))?/g)) {
      const path = url!.startsWith('file:') ? fileURLToPath(url!) : url!;
      if (!path.startsWith(`${this.directory}/`) || path.includes('/node_modules/')) continue;
      return {
        file: relative(this.directory, path),
        line: Number(line),
        ...(column ? { column: Number(column) } : {}),
      };
    }
    return undefined;
  }
}

function codeIdOf(bundles: WorkflowBundle[], library: LibraryBundle | undefined): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([bundles, library]));
  return hash.digest('hex').slice(0, 16);
}
