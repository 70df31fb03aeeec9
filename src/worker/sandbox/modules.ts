/** Evaluates what the loader bundled: packages once for all runs, a workflow's own files once per run where they hold state. */
import * as z from 'zod';
import { type WorkflowDefinition, workflowDefinition } from '../../sdk/definition.js';
import { DefinitionError } from '../../sdk/errors.js';
import * as sdk from '../../sdk/index.js';
import { setRuntime } from '../../sdk/runtime.js';
import { stepReference } from '../../sdk/step.js';
import { isShareable, type LibraryBundle, type WorkflowBundle } from '../bundle.js';

export type ModuleBody = (
  exports: object,
  module: { exports: object },
  require: (specifier: string) => unknown,
  globalObject: object,
) => void;

/** Makes a function of a module's text, with `exports`, `module`, `require` and `globalThis` as its parameters. */
export type Compile = (code: string, filename: string) => ModuleBody;

/** Plain objects rather than module namespaces: looking a name up in them costs nothing. */
const namespace = (exports: object): object => Object.freeze({ ...exports, __esModule: true });

/** A file of a workflow that could not be evaluated. */
export class LoadError extends Error {
  override readonly name = 'LoadError';
  constructor(filename: string, cause: unknown) {
    super(`${filename} could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

export class Modules {
  readonly #compile: Compile;
  readonly #provided: Map<string, object>;
  readonly #definitions = new Map<string, () => WorkflowDefinition>();

  constructor(compile: Compile, library: LibraryBundle | undefined) {
    this.#compile = compile;
    this.#provided = new Map([
      ['perdure', namespace(sdk)],
      ['perdure/internal', namespace({ stepReference })],
      ['zod', namespace({ ...z, default: z })],
    ]);
    if (library) {
      const packages = this.#evaluate(compile(library.code, 'packages'), globalThis);
      for (const [specifier, exports] of Object.entries(packages))
        this.#provided.set(specifier, exports as object);
    }
  }

  add(bundle: WorkflowBundle): void {
    let body: ModuleBody | undefined;
    const load = (globalObject: object): WorkflowDefinition => {
      try {
        body ??= this.#compile(bundle.code, bundle.filename);
        return this.#definitionIn(bundle, this.#evaluate(body, globalObject));
      } catch (error) {
        throw new LoadError(bundle.filename, error);
      }
    };
    if (!isShareable(bundle)) {
      // A global object of its own, so that what a run puts there stays in that run.
      this.#definitions.set(bundle.workflowType, () => load(Object.create(globalThis) as object));
      return;
    }
    let shared: WorkflowDefinition | undefined;
    this.#definitions.set(bundle.workflowType, () => {
      shared ??= outsideRuns(() => load(globalThis));
      return shared;
    });
  }

  has(workflowType: string): boolean {
    return this.#definitions.has(workflowType);
  }

  get workflowTypes(): string[] {
    return [...this.#definitions.keys()];
  }

  /** The definition for a new run; evaluates its files unless runs may share them. */
  definition(workflowType: string): WorkflowDefinition {
    const load = this.#definitions.get(workflowType);
    if (!load) throw new DefinitionError(`no workflow "${workflowType}"`);
    return load();
  }

  #evaluate(body: ModuleBody, globalObject: object): object {
    const module = { exports: {} };
    body(module.exports, module, (specifier) => this.#require(specifier), globalObject);
    return module.exports;
  }

  #require(specifier: string): object {
    const provided = this.#provided.get(specifier);
    if (provided) return provided;
    throw new DefinitionError(
      `"${specifier}" cannot be imported in a workflow: import it in a step's file and await the step`,
    );
  }

  #definitionIn(bundle: WorkflowBundle, exports: object): WorkflowDefinition {
    const definition = workflowDefinition((exports as Record<string, unknown>)[bundle.exportName]);
    if (definition) return definition;
    throw new DefinitionError(`${bundle.filename} does not export a workflow as "${bundle.exportName}"`);
  }
}

/** What all runs share must not depend on the run that happens to load it. */
function outsideRuns<T>(fn: () => T): T {
  const runtime = setRuntime(undefined);
  try {
    return fn();
  } finally {
    setRuntime(runtime);
  }
}
