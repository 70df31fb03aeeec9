/**
 * Tells when files that workflows are made of change, once things are quiet again: everything below their folder, and
 * the files outside it that they import, as far as they are known by the last load.
 */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Editors and version control write several files in a row. */
const QUIET_MS = 100;

interface Watched {
  watcher: FSWatcher;
  names: ReadonlySet<string>;
}

export class SourceWatch {
  readonly #onChange: () => void;
  readonly #folder: FSWatcher;
  /** By the folder that holds them: a file that is replaced by another one is no longer the file that was watched. */
  readonly #outside = new Map<string, Watched>();
  #quiet: NodeJS.Timeout | undefined;

  constructor(directory: string, onChange: () => void) {
    this.#onChange = onChange;
    this.#folder = this.#watch(directory, { recursive: true }, (file) => !isIgnored(file));
  }

  /** From now on these files outside the folder count, and no others. */
  follow(files: readonly string[]): void {
    const wanted = new Map<string, Set<string>>();
    for (const file of files) {
      const names = wanted.get(dirname(file)) ?? new Set();
      wanted.set(dirname(file), names.add(basename(file)));
    }
    for (const [folder, { watcher }] of this.#outside) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#outside.delete(folder);
    }
    for (const [folder, names] of wanted) {
      const watched = this.#outside.get(folder);
      if (watched) watched.names = names;
      else this.#outside.set(folder, this.#watchNames(folder, names));
    }
  }

  close(): void {
    clearTimeout(this.#quiet);
    this.#folder.close();
    for (const { watcher } of this.#outside.values()) watcher.close();
  }

  #watchNames(folder: string, names: ReadonlySet<string>): Watched {
    const watched: Watched = {
      names,
      watcher: this.#watch(folder, {}, (file) => watched.names.has(file)),
    };
    return watched;
  }

  #watch(folder: string, options: { recursive?: boolean }, counts: (file: string) => boolean): FSWatcher {
    const watcher = watch(folder, options, (_event, file) => {
      if (file !== null && !counts(file.toString())) return;
      clearTimeout(this.#quiet);
      this.#quiet = setTimeout(this.#onChange, QUIET_MS);
    });
    // A folder that was removed while it was watched; the next change of its parent is not ours to see.
    watcher.on('error', () => {});
    return watcher;
  }
}

const isIgnored = (path: string): boolean =>
  path.split(/[\\/]/).some((part) => part === 'node_modules' || part.startsWith('.') || part.endsWith('~'));
