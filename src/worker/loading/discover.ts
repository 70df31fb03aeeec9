/** Which files of a folder are workflows, and which belong to them without being in it. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { packageOf } from './defining-file.js';
import { LoadError } from './load-error.js';

const WORKFLOW_FILE = /^workflow\.(ts|mts|js|mjs)$/;
const STEPS_FILE = /^(steps|evaluators)\.(ts|mts|tsx|js|mjs|cjs)$/;
const STEPS_FOLDERS = ['steps', 'evaluators'];
const CODE_FILE = /\.[mc]?[jt]sx?$/;

/** Paths of all workflow files below `directory`, relative to it and sorted, so that every worker sees the same order. */
export async function findWorkflowFiles(directory: string): Promise<string[]> {
  const root = resolve(directory);
  const refuse = (message: string) => new LoadError(directory, [{ message }]);
  const found = await stat(root).catch((error: NodeJS.ErrnoException) => {
    throw refuse(
      error.code === 'ENOENT'
        ? 'the folder does not exist. Create it, or give the folder that holds your workflows'
        : `the folder cannot be read (${error.code})`,
    );
  });
  if (!found.isDirectory()) throw refuse('this is a file. Give the folder that holds your workflows');

  const files: string[] = [];
  const walk = async (relative: string): Promise<void> => {
    const entries = await readdir(join(root, relative), { withFileTypes: true });
    for (const entry of entries) {
      const path = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules' && !entry.name.startsWith('.')) await walk(path);
      } else if (WORKFLOW_FILE.test(entry.name)) files.push(path);
    }
  };
  await walk('');
  if (files.length === 0) {
    throw refuse(
      'there is no workflow in it. A workflow is a file named workflow.ts (or .js, .mts, .mjs), in the folder or below it, that exports workflow({...})',
    );
  }
  return files.sort();
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
