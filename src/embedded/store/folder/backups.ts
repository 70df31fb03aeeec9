/**
 * Copies of the database, made while the engine goes on.
 *
 * 1. A copy grows in a file beside the database, since that is where there is space for it; whoever gets it reads it from
 *    a file that has no name any more, so that nothing is left of it however the reading ends.
 * 2. What a process leaves that dies while it makes one is removed at the next start.
 * 3. One is made at a time: each takes the disk's time, and as much space as the database until it has been read. So none
 *    is begun for which there is no room besides what the runs need.
 */
import { readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PerdureError } from '../../../core/errors.js';
import type { Backup } from '../../../engine.js';
import { storageFailure } from '../damage.js';

const FILE = /^backup-\d+-\d+\.tmp(-journal|-wal|-shm)?$/;

export function removeUnfinishedBackups(dataDir: string): void {
  for (const name of readdirSync(dataDir)) if (FILE.test(name)) rmSync(join(dataDir, name), { force: true });
}

export class Backups {
  #count = 0;
  #isBusy = false;

  constructor(
    private readonly dataDir: string,
    private readonly copyTo: (file: string) => Promise<void>,
    private readonly hasRoom: () => boolean = () => true,
  ) {}

  /** @throws TooManyRequestsError, StorageFullError */
  async take(): Promise<Backup> {
    if (this.#isBusy) {
      throw new PerdureError(
        'TooManyRequestsError',
        'Another backup is being made; try again when it is done',
        {
          retryAfterSeconds: 10,
        },
      );
    }
    if (!this.hasRoom()) throw noSpace();
    this.#isBusy = true;
    const file = join(this.dataDir, `backup-${process.pid}-${++this.#count}.tmp`);
    try {
      await this.copyTo(file);
      return await withoutName(file);
    } catch (error) {
      if (storageFailure(error) !== 'full') throw error;
      throw noSpace();
    } finally {
      this.#isBusy = false;
      await rm(file, { force: true });
      await rm(`${file}-journal`, { force: true });
    }
  }
}

const noSpace = () =>
  new PerdureError(
    'StorageFullError',
    'There is no space for a copy of the database beside it; nothing else was affected',
    { retryAfterSeconds: 60 },
  );

async function withoutName(file: string): Promise<Backup> {
  const handle: FileHandle = await open(file);
  try {
    const { size } = await handle.stat();
    return {
      bytes: size,
      read: () => handle.createReadStream({ highWaterMark: 256 * 1024 }),
      discard: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
