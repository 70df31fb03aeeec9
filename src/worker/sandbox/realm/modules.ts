/**
 * Evaluates what the loader bundled: packages, and a workflow's own files where they may hold state, once per run. Only
 * what provably holds none is evaluated once for all runs, and then frozen.
 */
import * as z from 'zod';
import { toFailure } from '../../../core/history/failure.js';
import * as output from '../../../output/index.js';
import { type WorkflowDefinition, workflowDefinition } from '../../../sdk/definition.js';
import { DefinitionError, DeterminismError } from '../../../sdk/errors.js';
import * as sdk from '../../../sdk/index.js';
import { setRuntime } from '../../../sdk/runtime.js';
import { stepReference } from '../../../sdk/step.js';
import { isShareable, type LibraryBundle, type WorkflowBundle } from '../../loading/bundle.js';
import { freezeShared } from './intrinsics.js';

export type ModuleBody = (
  exports: object,
  module: { exports: object },
  require: (specifier: string) => unknown,
  globalObject: object,
  /** In place of globals that cannot be replaced, where a sandbox has such. */
  ...shadows: unknown[]
) => void;

/** Makes a function of a module's text, with `exports`, `module`, `require` and `globalThis` as its parameters. */
export type Compile = (code: string, filename: string) => ModuleBody;

/** Each is evaluated when it is first asked for. */
type Packages = Record<string, () => object>;

/** Plain objects rather than module namespaces: looking a name up in them costs nothing. */
const namespace = (exports: object): object =>
  Object.freeze(Object.defineProperty({ ...exports }, '__esModule', { value: true }));

/** A file of a workflow that could not be evaluated. */
export class LoadError extends Error {
  override readonly name = 'LoadError';
  constructor(filename: string, cause: unknown) {
    super(`${filename} could not be loaded: ${toFailure(cause).message}`, { cause });
  }
}

export class Modules {
  readonly #compile: Compile;
  readonly #provided: Map<string, object>;
  readonly #library: ModuleBody | undefined;
  readonly #definitions = new Map<string, () => WorkflowDefinition>();

  readonly #shadows: unknown[];

  /** `shadows` are further arguments of every module. */
  constructor(compile: Compile, library: LibraryBundle | undefined, shadows: unknown[] = []) {
    this.#compile = compile;
    this.#shadows = shadows;
    this.#provided = new Map([
      ['perdure', namespace(sdk)],
      ['perdure/output', namespace(output)],
      ['perdure/internal', namespace({ stepReference, share: freezeShared })],
      ['zod', namespace({ ...z, default: z })],
    ]);
    if (library) this.#library = this.#tried(compile(library.code, 'packages'));
  }

  /** Packages may add to JavaScript itself when they are evaluated, which is possible only before it is frozen. */
  #tried(library: ModuleBody): ModuleBody {
    const before = new Set(Reflect.ownKeys(globalThis));
    for (const evaluate of Object.values(this.#packagesFor(library, globalThis))) {
      try {
        evaluate();
      } catch {
        // Whoever imports it is told.
      }
    }
    // What they keep on the global object is for each run to have anew; functions may be asked for by their bare names.
    for (const key of Reflect.ownKeys(globalThis)) {
      const isState = typeof (globalThis as Record<PropertyKey, unknown>)[key] === 'object';
      if (!before.has(key) && isState) Reflect.deleteProperty(globalThis, key);
    }
    return library;
  }

  /** What runs get of this package without evaluating anything themselves. */
  get shared(): unknown[] {
    const own = ['perdure', 'perdure/output', 'perdure/internal'];
    const provided = own.map((specifier) => this.#provided.get(specifier));
    return [...provided, ...this.#shadows];
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
    let packages: Packages | undefined;
    const require = (specifier: string): object => {
      packages ??= this.#library ? this.#packagesFor(this.#library, globalObject) : {};
      const provided = packages[specifier]?.() ?? this.#provided.get(specifier);
      if (provided) return provided;
      throw new DeterminismError(
        `"${specifier}" cannot be imported in a workflow, since a replay would not give the same answer: import it in a step's file and await the step`,
      );
    };
    body(module.exports, module, require, globalObject, ...this.#shadows);
    return module.exports;
  }

  #packagesFor(library: ModuleBody, globalObject: object): Packages {
    const module = { exports: {} };
    const require = (specifier: string) => this.#provided.get(specifier);
    library(module.exports, module, require, globalObject, ...this.#shadows);
    return module.exports;
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
