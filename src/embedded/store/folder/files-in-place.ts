/**
 * Whether the files of the data folder are still those that were opened. Who removes or replaces one under a running
 * server takes nothing from it, since it goes on with the files it has: but what it then acknowledges nobody finds again.
 */
import { statSync } from 'node:fs';
import type { Scheduler } from '../../../core/clock.js';
import { databaseFile, walFile } from './data-folder.js';
import { DataFolderError } from './data-folder-error.js';

/** So that every commit may ask. */
const LOOK_EVERY_MS = 1_000;

export class FilesInPlace {
  /** By device and inode. The write-ahead log is there from the first commit on, and then remains. */
  readonly #known = new Map<string, string>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly dataDir: string,
    private readonly scheduler: Scheduler,
  ) {
    // Right after they were opened: what becomes of them before the first commit is missed as well.
    this.#look();
  }

  /** @throws DataFolderError when one of them is another than at the last look */
  require(): void {
    const now = this.scheduler.monotonicMs();
    if (now - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = now;
    this.#look();
  }

  #look(): void {
    for (const [file, identity] of this.#identities()) {
      const known = this.#known.get(file);
      if (known !== undefined && identity !== known) {
        throw new DataFolderError(
          `${file} was ${identity === undefined ? 'removed' : 'replaced'} while the server ran. It stops, since nothing that it wrote from now on could be found again. Put the file of this server back, or start it with a backup`,
        );
      }
      if (identity !== undefined) this.#known.set(file, identity);
    }
  }

  #identities(): [file: string, identity: string | undefined][] {
    try {
      return [databaseFile(this.dataDir), walFile(this.dataDir)].map((file) => {
        const found = statSync(file, { bigint: true, throwIfNoEntry: false });
        return [file, found && `${found.dev}:${found.ino}`];
      });
    } catch {
      // Whoever may not look any more, since somebody has changed the permissions, knows nothing against the open files.
      return [];
    }
  }
}
