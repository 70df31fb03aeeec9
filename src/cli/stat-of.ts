/** What is at a path; undefined where nothing is, also because a file is in the place of a folder on the way. */
import { type Stats, statSync } from 'node:fs';

export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
