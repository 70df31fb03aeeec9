/** Where a Temporal dev server is found on this machine, for the tests that need a real one. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { INSTALLED_BINARY } from '../../scripts/temporal-install.mjs';

/** Ends the name of a suite that needs one. */
export const NEEDS_TEMPORAL = '[Temporal]';

/** The one that was named, the one that `npm run temporal:install` has put into the cache, or any on the PATH. */
export function findTemporal(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { PERDURE_TEMPORAL_CLI: named, PATH = '' } = env;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`PERDURE_TEMPORAL_CLI is ${named}, and that is no program that can be executed`);
  }
  const onPath = PATH.split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'temporal'));
  return [INSTALLED_BINARY, ...onPath].find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
