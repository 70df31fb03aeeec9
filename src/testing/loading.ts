/**
 * Loads folders of workflows into the test's process: each once for each way of importing, one after the other, as Node's
 * module hooks want it.
 */
import { realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkflowBundle } from '../worker/loading/bundle.js';
import type { ImportFile } from '../worker/loading/host-modules.js';
import { type LoadedWorkflows, loadWorkflows } from '../worker/loading/loader.js';

type ByFolder = Map<string, Promise<LoadedWorkflows>>;

const byNode: ByFolder = new Map();
const byImporter = new WeakMap<ImportFile, ByFolder>();
let last: Promise<unknown> = Promise.resolve();

/** @throws LoadError */
export async function loadOnce(folder: string, importer?: ImportFile): Promise<LoadedWorkflows> {
  const path = await realpath(folder).catch(() => resolve(folder));
  const loaded = importer ? foldersOf(importer) : byNode;
  const known = loaded.get(path);
  if (known) return known;
  const loading = last.then(async () => debuggable(await loadWorkflows(path, { importer })));
  loaded.set(path, loading);
  last = loading.catch(() => {
    // Who mends the files, as under a watching test runner, tries again.
    loaded.delete(path);
  });
  return loading;
}

function foldersOf(importer: ImportFile): ByFolder {
  const known = byImporter.get(importer);
  if (known) return known;
  const folders: ByFolder = new Map();
  byImporter.set(importer, folders);
  return folders;
}

/** Debuggers find the author's lines by a source map in the text, with sources by their full names. */
function debuggable(given: LoadedWorkflows): LoadedWorkflows {
  const { directory, sourceMaps } = given;
  const mapped = (bundle: WorkflowBundle): WorkflowBundle => {
    const map = JSON.parse(sourceMaps.get(bundle.filename) ?? '{"sources":[]}') as { sources: string[] };
    const folder = resolve(directory, dirname(bundle.filename));
    const sources = map.sources.map((source) => pathToFileURL(resolve(folder, source)).href);
    const text = Buffer.from(JSON.stringify({ ...map, sources })).toString('base64');
    return {
      ...bundle,
      code: `${bundle.code}\n//# sourceMappingURL=data:application/json;base64,${text}\n`,
    };
  };
  return { ...given, bundles: given.bundles.map(mapped) };
}
