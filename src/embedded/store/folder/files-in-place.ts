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
  /** The write-ahead log is there from the first commit on, and then remains. */
  readonly #inodes = new Map<string, bigint>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly dataDir: string,
    private readonly scheduler: Scheduler,
  ) {}

  /** @throws DataFolderError when one of them is another than at the last look */
  require(): void {
    const now = this.scheduler.monotonicMs();
    if (now - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = now;
    for (const file of [databaseFile(this.dataDir), walFile(this.dataDir)]) {
      const inode = statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
      const known = this.#inodes.get(file);
      if (known !== undefined && inode !== known) {
        throw new DataFolderError(
          `${file} was ${inode === undefined ? 'removed' : 'replaced'} while the server ran. It stops, since nothing that it wrote from now on could be found again. Put the file of this server back, or start it with a backup`,
        );
      }
      if (inode !== undefined) this.#inodes.set(file, inode);
    }
  }
}
