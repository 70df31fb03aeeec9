/** Which files of a folder are workflows, and which belong to them without being in it. */
import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { packageOf } from './defining-file.js';
import { LoadError } from './load-error.js';

const WORKFLOW_FILE = /^workflow\.(ts|mts|js|mjs)$/;
const STEPS_FILE = /^(steps|evaluators)\.(ts|mts|tsx|js|mjs|cjs)$/;
const STEPS_FOLDERS = ['steps', 'evaluators'];
/** Read one after the other: a link to the root of a system would keep a worker from ever beginning. */
const MOST_FOLDERS = 10_000;
const CODE_FILE = /\.[mc]?[jt]sx?$/;

/**
 * Paths of all workflow files below `directory`, relative to it and sorted, so that every worker sees the same order. Links
 * are followed, since clusters and build tools put files into folders by them. What is behind one goes by its own path, by which
 * the bundler and Node know it, and counts once.
 */
export async function findWorkflowFiles(directory: string): Promise<string[]> {
  const refuse = (message: string, file?: string) => new LoadError(directory, [{ file, message }]);
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => {
    throw refuse(
      error.code === 'ENOENT'
        ? 'the folder does not exist. Create it, or give the folder that holds your workflows'
        : `the folder cannot be read (${error.code})`,
    );
  });
  if (!found.isDirectory()) throw refuse('this is a file. Give the folder that holds your workflows');

  const root = await realpath(directory);
  const files = new Set<string>();
  const folders = new Set<string>();
  const walk = async (folder: string, isBehindLink: boolean): Promise<void> => {
    if (folders.has(folder)) return;
    folders.add(folder);
    if (folders.size > MOST_FOLDERS)
      throw refuse(
        `there are more than ${MOST_FOLDERS} folders in it and behind its links. Give a folder that holds workflows, and look where its links lead`,
      );
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      // A link leads to more than was meant by it, such as what a disk has of its own.
      if (isBehindLink) return [];
      throw refuse(`the folder cannot be read (${error.code})`, relative(root, folder) || undefined);
    });
    for (const entry of entries) {
      const { name } = entry;
      if (name === 'node_modules' || name.startsWith('.')) continue;
      const path = join(folder, name);
      const isWorkflow = WORKFLOW_FILE.test(name);
      const place = entry.isSymbolicLink() ? await behind(path) : { path, kind: entry };
      if (!place && isWorkflow) throw refuse('this link leads nowhere', relative(root, path));
      if (place?.kind.isDirectory()) await walk(place.path, isBehindLink || entry.isSymbolicLink());
      else if (isWorkflow && place?.kind.isFile()) files.add(relative(root, place.path));
    }
  };
  await walk(root, false);
  if (files.size === 0) {
    throw refuse(
      'there is no workflow in it. A workflow is a file named workflow.ts (or .js, .mts, .mjs), in the folder or below it, that exports workflow({...})',
    );
  }
  return [...files].sort();
}

/** What a link leads to; undefined where that is nothing, or a package, whose code is for those who import it. */
async function behind(link: string): Promise<{ path: string; kind: Stats } | undefined> {
  try {
    const path = await realpath(link);
    return packageOf(`${path}/`) === undefined ? { path, kind: await stat(path) } : undefined;
  } catch {
    return undefined;
  }
}

/** Those of `paths` that are not in the folder, packages left out. */
export const outsideOf = (directory: string, paths: Iterable<string>): string[] =>
  [...new Set(paths)].filter((path) => !path.startsWith(`${directory}/`) && packageOf(path) === undefined);

/** Whether a module, by its path relative to the folder, holds steps: code that workflows refer to but never run. */
export function isStepsModule(relativePath: string): boolean {
  const segments = relativePath.split('/');
  const name = segments.pop()!;
  return (
    STEPS_FILE.test(name) ||
    (STEPS_FOLDERS.some((folder) => segments.includes(folder)) && CODE_FILE.test(name))
  );
}
