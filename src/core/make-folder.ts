/** A folder with those above it. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Not with Node's `recursive`, which never returns where a folder is there in which nothing can be made, such as `/proc`:
 * not even a signal ends it. @throws as `mkdirSync`, also where a file is in its place
 */
export function makeFolder(path: string, mode = 0o777): void {
  const above = dirname(path);
  if (above !== path && !existsSync(above)) makeFolder(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it in between.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
