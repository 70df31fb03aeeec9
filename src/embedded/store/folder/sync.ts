import { closeSync, fsyncSync, openSync } from 'node:fs';

/** What was written of a file is on disk, or the names in a folder are. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
