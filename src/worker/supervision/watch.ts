/**
 * Tells when files that workflows are made of change, once things are quiet again: everything below their folder, and
 * the files outside it that they import, as far as they are known by the last load.
 *
 * Folders are watched and never files: a file that another one has taken the place of, which is how editors and version
 * control write, is no longer the one that was watched. Folders are replaced as well, so after each change all of them are
 * looked up again, before anybody is told.
 */
import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs';
import { basename, dirname, join, parse } from 'node:path';

/** Editors and version control write several files in a row. */
const QUIET_MS = 100;

export interface SourceWatchOptions {
  onChange(): void;
  /** Some changes will not be seen, such as where the system watches no more for anybody. */
  onFailure(error: Error): void;
}

export class SourceWatch {
  #watchers: FSWatcher[] = [];
  #outside: readonly string[] = [];
  #quiet: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isClosed = false;

  constructor(
    private readonly directory: string,
    private readonly options: SourceWatchOptions,
  ) {
    this.#lookUp();
  }

  /** From now on these files outside the folder count, and no others. They need not exist. */
  follow(files: readonly string[]): void {
    this.#outside = files;
    this.#lookUp();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#quiet);
    for (const watcher of this.#watchers) watcher.close();
  }

  #lookUp(): void {
    if (this.#isClosed) return;
    const before = this.#watchers;
    this.#watchers = [];
    for (const folder of foldersBelow(this.directory)) this.#watch(folder, (name) => !isIgnored(name));
    for (const [folder, names] of this.#named()) this.#watch(folder, (name) => names.has(stemOf(name)));
    for (const watcher of before) watcher.close();
  }

  /** What counts in folders of which not everything does, by the stems of the names: an import may leave the rest to be found. */
  #named(): Map<string, Set<string>> {
    const named = new Map<string, Set<string>>();
    const add = (path: string): void => {
      const folder = dirname(path);
      named.set(folder, (named.get(folder) ?? new Set()).add(stemOf(basename(path))));
      // The one above sees it come, or come back.
      if (!existsSync(folder) && folder !== parse(folder).root) add(folder);
    };
    for (const file of [this.directory, ...this.#outside, ...this.#outside.map(dirname)]) add(file);
    return named;
  }

  #watch(folder: string, counts: (name: string) => boolean): void {
    try {
      const watcher = watch(folder, (_event, name) => {
        // Of its own end a folder tells by its own name.
        if (name === null || name === basename(folder) || counts(name)) this.#changed();
      });
      watcher.on('error', (error) => this.#failed(error));
      this.#watchers.push(watcher);
    } catch (error) {
      this.#failed(error as NodeJS.ErrnoException);
    }
  }

  #changed(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.#lookUp();
      this.options.onChange();
    }, QUIET_MS);
  }

  #failed(error: NodeJS.ErrnoException): void {
    // A folder that is gone by now is seen by the one above.
    if (GONE.has(error.code ?? '') || this.#hasFailed) return;
    this.#hasFailed = true;
    this.options.onFailure(error);
  }
}

const GONE = new Set(['ENOENT', 'ENOTDIR', 'EPERM']);

/** A data folder among them is no source: it changes with every commit. */
function foldersBelow(folder: string, isRoot = true): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const hasData = entries.some(({ name }) => name === 'perdure.db');
    if (hasData && !isRoot) return [];
    const folders = entries.filter(
      (entry) => entry.isDirectory() && !isIgnored(entry.name) && !(hasData && entry.name === 'traces'),
    );
    return [folder, ...folders.flatMap(({ name }) => foldersBelow(join(folder, name), false))];
  } catch {
    return [];
  }
}

const stemOf = (name: string): string => parse(name).name;

/** Of a data folder that is the folder of the workflows itself. */
const DATA_FILE = /^perdure\.(db|mark)|^backup-\d+-\d+\.tmp/;

const isIgnored = (name: string): boolean =>
  DATA_FILE.test(name) || name === 'node_modules' || name.startsWith('.') || name.endsWith('~');
