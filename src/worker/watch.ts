/** Tells when files below a folder change, once things are quiet again. */
import { watch } from 'node:fs';

/** Editors and version control write several files in a row. */
const QUIET_MS = 100;

/** Answers with how to stop watching. */
export function watchFolder(directory: string, onChange: () => void): () => void {
  let quiet: NodeJS.Timeout | undefined;
  const watcher = watch(directory, { recursive: true }, (_event, file) => {
    if (file !== null && isIgnored(file.toString())) return;
    clearTimeout(quiet);
    quiet = setTimeout(onChange, QUIET_MS);
  });
  // A folder that was removed while it was watched; the next change of its parent is not ours to see.
  watcher.on('error', () => {});
  return () => {
    clearTimeout(quiet);
    watcher.close();
  };
}

const isIgnored = (path: string): boolean =>
  path.split(/[\\/]/).some((part) => part === 'node_modules' || part.startsWith('.') || part.endsWith('~'));
