/**
 * Makes the one script that Temporal's worker runs workflows in: our sandbox, the installed @temporalio/workflow and
 * the workflow side of the folder.
 *
 * The texts of the folder stay modules of their own, evaluated by the sandbox when a run needs them. Their source maps
 * become a part of the script's, so that Temporal's stack traces speak of authors' files.
 */
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isShareable, type WorkflowBundle } from '../../worker/loading/bundle.js';
import type { LoadedWorkflows } from '../../worker/loading/loader.js';
import { makeScript } from '../../worker/loading/script.js';
import { AUTHORED, type DeploymentSettings, LIBRARY, SHADOWED } from '../sandbox/deployment.js';

/** Built code, from src/ and from dist/ alike. */
const SANDBOX = fileURLToPath(new URL('../../../dist/temporal/sandbox/', import.meta.url));
const USER = 'perdure-user:';

/**
 * Temporal's worker refuses a script without these words: it looks for a bundle whose modules are kept apart from run
 * to run by that cache. Here the sandbox does so itself (worker/sandbox/realm/modules.ts).
 */
const MODULES_ARE_APART = '// globalThis.__webpack_module_cache__';

/** The modules in which Temporal's code looks for converters: ours for failures, none for payloads. */
const FAILURE_CONVERTER = '__temporal_custom_failure_converter';
const PAYLOAD_CONVERTER = '__temporal_custom_payload_converter';

export async function bundleSandbox(loaded: LoadedWorkflows, settings: DeploymentSettings): Promise<string> {
  const { bundles, library, sourceMaps } = loaded;
  const bodies = new Map(bundles.map(({ filename, code }) => [filename, code]));
  if (library) bodies.set(LIBRARY, library.code);
  const modules = new Map([[PAYLOAD_CONVERTER, 'module.exports = {};']]);
  for (const [file, body] of bodies) modules.set(USER + file, moduleOf(file, body, sourceMaps.get(file)));
  const { code, sourceMap } = await makeScript({
    entry: entry([...bodies.keys()], bundles, settings),
    directory: SANDBOX,
    modules,
    aliases: new Map([[FAILURE_CONVERTER, `${SANDBOX}failure-converter.js`]]),
    banner: MODULES_ARE_APART,
  });
  return code + inline(withAuthoredSources(sourceMap));
}

function entry(files: string[], bundles: WorkflowBundle[], settings: DeploymentSettings): string {
  const workflows = bundles.map((bundle) => ({ ...bundle, code: '', stateless: isShareable(bundle) }));
  return [
    `import './library-globals.js';`,
    `import { start } from './main.js';`,
    ...files.map((file, i) => `import body${i} from ${JSON.stringify(USER + file)};`),
    `const bodies = { ${files.map((file, i) => `${JSON.stringify(file)}: body${i}`).join(', ')} };`,
    `globalThis.__TEMPORAL__ = start({ workflows: ${JSON.stringify(workflows)}, bodies, settings: ${JSON.stringify(settings)} });`,
  ].join('\n');
}

/** The text as a function of what it takes for granted. */
function moduleOf(file: string, body: string, sourceMap: string | undefined): string {
  const text = `export default function (exports, module, require, globalThis, ${SHADOWED.join(', ')}) {\n${body}\n}`;
  if (sourceMap === undefined) return text;
  const map = JSON.parse(sourceMap) as { mappings: string; sources: string[] };
  const sources = map.sources.map((source) => AUTHORED_MARK + posix.join(posix.dirname(file), source));
  // Moved down by the line that stands before the text.
  return text + inline({ ...map, sources, mappings: `;${map.mappings}` });
}

/** Survives what esbuild does to the names of sources. */
const AUTHORED_MARK = '/__authored__/';

function withAuthoredSources(sourceMap: string): object {
  const map = JSON.parse(sourceMap) as { sources: string[] };
  const sources = map.sources.map((source) => {
    const at = source.indexOf(AUTHORED_MARK);
    return at < 0 ? source : AUTHORED + source.slice(at + AUTHORED_MARK.length);
  });
  return { ...map, file: 'workflows.js', sources };
}

function inline(map: object): string {
  const encoded = Buffer.from(JSON.stringify(map)).toString('base64');
  return `\n//# sourceMappingURL=data:application/json;base64,${encoded}`;
}
