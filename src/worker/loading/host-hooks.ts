/**
 * Node's module hooks for user code; they run in Node's own loader thread.
 *
 * `perdure` always means this very package, so that a workflow and the worker share one instance and folders
 * without node_modules work; the `step` that a file imports reports to the loader what that file defines
 * (host-modules.ts). Modules that esbuild has read are answered from its reading; others, such as a
 * workspace package written in TypeScript, are found and turned into JavaScript when they are met.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { ImportAttributes, LoadFnOutput, LoadHook, ResolveHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';

export interface HostGraph {
  /** By file URL. */
  modules: Record<string, { source: string; imports: Record<string, string> }>;
  /** The same of CommonJS, which is Node's own to load: its text, by which one version of the code is told from another. */
  commonJs: Record<string, string>;
}

let graph: HostGraph = { modules: {}, commonJs: {} };
let loaded: MessagePort | undefined;

/** Once per folder: a process may load several, one after the other. `loaded` is told the URL of every file that is loaded. */
export function initialize(data: HostGraph & { loaded: MessagePort }): void {
  graph = { modules: { ...graph.modules, ...data.modules }, commonJs: {} };
  loaded = data.loaded;
  // Nobody has to listen.
  loaded.unref();
}

const OWN = /^perdure($|\/)/;
const OWN_ZOD = /^zod($|\/)/;
const SDK_OF = 'perdure-of:';
const OUTPUT_OF = 'perdure-output-of:';

export const resolve: ResolveHook = async (specifier, context, next) => {
  const ofParent = specifier === 'perdure' ? SDK_OF : specifier === 'perdure/output' ? OUTPUT_OF : undefined;
  if (ofParent !== undefined && context.parentURL !== undefined) {
    return { url: ofParent + encodeURIComponent(context.parentURL), format: 'module', shortCircuit: true };
  }
  if (OWN.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
  const parent = context.parentURL === undefined ? undefined : graph.modules[context.parentURL];
  const url = parent?.imports[specifier] ?? specifier;
  // Not by way of Node, which would look for the file: it may be gone by the time another process needs what was read of it.
  if (isRead(url, context)) return { url, format: 'module', shortCircuit: true };
  if (url !== specifier) return next(url, context);
  try {
    return await next(specifier, context);
  } catch (error) {
    if (OWN_ZOD.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
    const found = /^(\.{0,2}\/|file:)/.test(specifier) && context.parentURL?.startsWith('file:');
    const candidate = found ? sourceOf(new URL(specifier, context.parentURL)) : undefined;
    if (candidate === undefined) throw error;
    return next(candidate, context);
  }
};

export const load: LoadHook = async (url, context, next) => {
  if (url.startsWith(SDK_OF)) return moduleOf(sdkOf(decodeURIComponent(url.slice(SDK_OF.length))));
  if (url.startsWith(OUTPUT_OF)) {
    return moduleOf(outputOf(decodeURIComponent(url.slice(OUTPUT_OF.length))));
  }
  if (url.startsWith('file:')) loaded?.postMessage(url.replace(/[?#].*$/, ''));
  if (isRead(url, context)) return moduleOf(graph.modules[url]!.source);
  if (!/^file:.*\.(ts|mts|tsx)$/.test(url)) return next(url, context);
  const { transform } = await import('esbuild');
  const path = fileURLToPath(url);
  const { code } = await transform(readFileSync(path, 'utf8'), {
    loader: path.endsWith('x') ? 'tsx' : 'ts',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: path,
  });
  return moduleOf(code);
};

/** Imported as JSON by its attribute, a module has to be JSON for Node as well, and is Node's to read. */
const isRead = (url: string, { importAttributes }: { importAttributes: ImportAttributes }): boolean =>
  Object.hasOwn(graph.modules, url) && importAttributes.type === undefined;

const moduleOf = (source: string): LoadFnOutput => ({ format: 'module', source, shortCircuit: true });

/** The SDK as the module `parentUrl` sees it. */
function sdkOf(parentUrl: string): string {
  const sdk = JSON.stringify(new URL('../../sdk/index.js', import.meta.url).href);
  return `
    export * from ${sdk};
    export const step = globalThis[Symbol.for('perdure.defineStep')](${JSON.stringify(parentUrl)});
  `;
}

/** The same of `perdure/output`, whose evaluators are steps as well. */
function outputOf(parentUrl: string): string {
  const here = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  return `
    export * from ${here('../../output/index.js')};
    import { evaluatorMaker, stepMaker } from ${here('../../output/define.js')};
    const define = globalThis[Symbol.for('perdure.defineStep')](${JSON.stringify(parentUrl)});
    export const step = stepMaker(define);
    export const evaluator = evaluatorMaker(define);
  `;
}

/** The file that TypeScript means by `url`: `./a.js` or `./a` written for `a.ts`, or a folder for its index. */
function sourceOf(url: URL): string | undefined {
  const { href } = url;
  const candidates = [
    href.replace(/\.([mc]?)js$/, '.$1ts'),
    ...['.ts', '.mts', '.tsx', '.js', '.mjs', '/index.ts', '/index.mts', '/index.js'].map(
      (end) => href + end,
    ),
  ];
  return candidates.find((candidate) => {
    const path = fileURLToPath(candidate);
    return candidate !== href && existsSync(path) && statSync(path).isFile();
  });
}
