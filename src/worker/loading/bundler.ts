/**
 * The sandbox side of a folder: each workflow file with what it imports as one CommonJS text.
 *
 * A workflow is replayed, so its code must be a pure function of its history. What would break that is refused here,
 * by file and line: Node's own modules, and anything of a steps module but its steps. Packages go to the library
 * bundle (library.ts), steps become references that carry a name and options but no code.
 */
import { relative, resolve } from 'node:path';
import { type BuildFailure, build, type Message, type Metafile, type PluginBuild } from 'esbuild';
import type { StepDefaults } from '../../sdk/runtime.js';
import type { StepOptions } from '../../sdk/step-options.js';
import { withClassNames } from './class-names.js';
import { isStepsModule } from './discover.js';
import { isNodeModule, type Library, nodeModuleRefusal, resolveOnce } from './library.js';
import { type LoadProblem, problemOfMessage } from './load-error.js';

/** What the bundle knows of an exported step. */
export interface ExportedStep {
  exportName: string;
  name: string;
  options: StepDefaults;
}

export interface BundleOptions {
  directory: string;
  /** Relative to the directory. */
  entries: string[];
  library: Library;
  /** The steps that a steps module exports, by its path relative to the directory; undefined when it does not load. */
  stepsOf(relativePath: string): Promise<ExportedStep[] | undefined>;
}

export interface Bundles {
  /** By entry. */
  code: Map<string, string>;
  /** By entry, as JSON; sources are relative to the entry's folder. */
  sourceMaps: Map<string, string>;
  graph: ModuleGraph;
  problems: LoadProblem[];
}

const STEPS = 'perdure-steps';

/** What authors who come from elsewhere are used to, and where they find it here. */
const COUNTERPARTS: Record<string, string> = {
  '@outputai/core': '"perdure/output", which has its names,',
  '@temporalio/workflow': '"perdure", which has its functions under the same names,',
};
const ELSEWHERE = /^@(outputai\/core|temporalio\/workflow)$/;

export async function bundleWorkflows(options: BundleOptions): Promise<Bundles> {
  const { directory, entries } = options;
  const importers = new Map<string, string>();
  try {
    const { outputFiles, metafile, warnings } = await build({
      absWorkingDir: directory,
      // Nothing is written; it makes the source maps name their sources by the way from the entry, wherever that is.
      entryPoints: entries.map((path) => ({ in: path, out: resolve(directory, path).slice(1) })),
      outdir: '/',
      allowOverwrite: true,
      bundle: true,
      write: false,
      metafile: true,
      format: 'cjs',
      platform: 'browser',
      target: 'node20',
      keepNames: true,
      // `import()` of a package would ask the sandbox for a module loader; as a `require` it is like any other import.
      supported: { 'dynamic-import': false },
      define: { 'process.env.NODE_ENV': '"production"' },
      sourcemap: 'external',
      sourcesContent: false,
      logLevel: 'silent',
      plugins: [{ name: 'perdure', setup: (plugin) => intercept(plugin, options, importers) }],
    });
    const code = new Map<string, string>();
    const sourceMaps = new Map<string, string>();
    for (const { path, text } of outputFiles) {
      const [, entry, map] = /^(.*)\.js(\.map)?$/s.exec(relative(directory, path))!;
      if (map) sourceMaps.set(entry!, text);
      else code.set(entry!, withClassNames(plainInterop(text)));
    }
    return {
      code,
      sourceMaps,
      graph: new ModuleGraph(metafile),
      problems: problemsOf(warnings, directory, importers),
    };
  } catch (error) {
    const { errors, warnings } = error as Partial<BuildFailure>;
    if (!errors || !warnings) throw error;
    const problems = [
      ...errors.map((message) => problemOfError(message, directory, importers)),
      ...problemsOf(warnings, directory, importers),
    ];
    return {
      code: new Map(),
      sourceMaps: new Map(),
      graph: new ModuleGraph({ inputs: {}, outputs: {} }),
      problems,
    };
  }
}

function intercept(
  plugin: PluginBuild,
  { directory, library, stepsOf }: BundleOptions,
  importers: Map<string, string>,
): void {
  plugin.onResolve({ filter: /^perdure($|\/)/ }, ({ path, namespace }) => {
    const isOwn = path === 'perdure' || path === 'perdure/output';
    if (isOwn || (path === 'perdure/internal' && namespace === STEPS)) return { path, external: true };
    return {
      errors: [
        {
          text: `"${path}" cannot be imported by a workflow; of perdure it may import only "perdure" and "perdure/output". Use this one in a step or in the program around the workflow`,
        },
      ],
    };
  });

  plugin.onResolve({ filter: ELSEWHERE }, ({ path }) => ({
    errors: [{ text: `"${path}" belongs to another system; import from ${COUNTERPARTS[path]} instead` }],
  }));

  plugin.onResolve({ filter: /./ }, async (args) => {
    if (args.kind === 'entry-point') return undefined;
    const provided = library.provided(args.path, args.resolveDir);
    if (provided !== undefined) return { path: provided, external: true };
    const found = await resolveOnce(plugin, args);
    if (found === undefined) {
      return isNodeModule(args.path) ? { errors: [{ text: nodeModuleRefusal(args.path) }] } : undefined;
    }
    if (found.includes('/node_modules/')) {
      return { path: library.add(args.path, found, args), external: true };
    }
    if (!importers.has(found)) importers.set(found, args.importer);
    const path = relative(directory, found);
    return isStepsModule(path) ? { path, namespace: STEPS, sideEffects: false } : undefined;
  });

  plugin.onLoad({ filter: /./, namespace: STEPS }, async ({ path }) => ({
    contents: referencesModule(await stepsOf(path)),
    resolveDir: resolve(directory, path, '..'),
  }));
}

/** A module with the exports of a steps module, in which each step is known by name and options only. */
function referencesModule(steps: ExportedStep[] | undefined): string {
  // The reason why it does not load is told elsewhere; CommonJS keeps esbuild from missing its exports as well.
  if (!steps) return 'module.exports = {};';
  const lines = steps.map(
    ({ name, options }, i) =>
      `const s${i} = stepReference(${JSON.stringify({ name, options: authored(options) })});`,
  );
  const names = steps.map(({ exportName }, i) => `s${i} as ${JSON.stringify(exportName)}`);
  return [
    `import { stepReference } from 'perdure/internal';`,
    ...lines,
    `export { ${names.join(', ')} };`,
  ].join('\n');
}

/** The options as an author writes them, which is what a reference takes; durations stay milliseconds. */
function authored({ retry, cancellationType, ...timeouts }: StepDefaults): StepOptions {
  return {
    cancellationType,
    startToCloseTimeout: timeouts.startToCloseTimeoutMs,
    scheduleToCloseTimeout: timeouts.scheduleToCloseTimeoutMs,
    scheduleToStartTimeout: timeouts.scheduleToStartTimeoutMs,
    heartbeatTimeout: timeouts.heartbeatTimeoutMs,
    retry: retry && {
      initialInterval: retry.initialIntervalMs,
      maximumInterval: retry.maximumIntervalMs,
      backoffCoefficient: retry.backoffCoefficient,
      maximumAttempts: retry.maximumAttempts,
      nonRetryableErrorTypes: retry.nonRetryableErrorTypes,
    },
  };
}

/**
 * What the sandbox answers to `require` already is a namespace with its own `default`. In files that Node calls
 * modules esbuild would make the whole namespace the default export, as Node does for CommonJS.
 */
function plainInterop(code: string): string {
  return code.replace(/__toESM\((require\("(?:[^"\\]|\\.)*"\)), 1\)/g, '__toESM($1)');
}

const NOT_A_STEP = new RegExp(`no matching export in "${STEPS}:([^"]*)"`, 'i');
const IMPORT_NAME = /import "([^"]*)"/i;
const TOP_LEVEL_AWAIT = /^Top-level await is currently not supported/;

/** Of the warnings only those are problems that mean a steps module lacks what was asked of it. */
function problemsOf(warnings: Message[], directory: string, importers: Map<string, string>): LoadProblem[] {
  return warnings
    .filter(({ text }) => NOT_A_STEP.test(text))
    .map((message) => problemOfError(message, directory, importers));
}

function problemOfError(message: Message, directory: string, importers: Map<string, string>): LoadProblem {
  const stepsFile = NOT_A_STEP.exec(message.text)?.[1];
  if (stepsFile !== undefined) {
    const name = IMPORT_NAME.exec(message.text)?.[1] ?? 'this';
    return problemOfMessage(
      message,
      `"${name}" of ${stepsFile} is not a step, and a workflow may import only steps from a steps module. Make it a step({...}), or move it to a file of its own that is not named steps and not below a folder steps/`,
    );
  }
  if (TOP_LEVEL_AWAIT.test(message.text)) {
    return problemOfMessage(
      message,
      'a workflow file cannot await while it is loaded, since it is loaded again whenever a run is replayed. Move the await into the fn of the workflow or into a step',
    );
  }
  const path = message.location ? resolve(directory, message.location.file) : '';
  const importer = importers.get(path);
  const via = importer
    ? ` (this file is part of a workflow: ${relative(directory, importer)} imports it)`
    : '';
  return problemOfMessage(message, message.text + via);
}

export interface Reached {
  files: string[];
  stepsModules: string[];
  packages: ReadonlySet<string>;
}

/** Who imports whom on the sandbox side. */
export class ModuleGraph {
  constructor(readonly metafile: Metafile) {}

  /** The user's files, relative to the folder. */
  get files(): string[] {
    return Object.keys(this.metafile.inputs).map((path) =>
      path.startsWith(`${STEPS}:`) ? path.slice(STEPS.length + 1) : path,
    );
  }

  /**
   * The user's files and steps modules that `entry` leads to, itself first, and the names of the packages that those
   * require; files in `except` are not entered.
   */
  reach(entry: string, except: ReadonlySet<string> = new Set()): Reached {
    const files: string[] = [];
    const stepsModules: string[] = [];
    const packages = new Set<string>();
    const seen = new Set<string>();
    const visit = (path: string) => {
      if (seen.has(path) || (path !== entry && except.has(path))) return;
      seen.add(path);
      if (path.startsWith(`${STEPS}:`)) stepsModules.push(path.slice(STEPS.length + 1));
      else files.push(path);
      for (const target of this.metafile.inputs[path]?.imports ?? []) {
        if (target.external) packages.add(target.path);
        else visit(target.path);
      }
    };
    visit(entry);
    return { files, stepsModules, packages };
  }
}
