/**
 * The disk as a power cut leaves it.
 *
 * 1. What was synced is there. Of what was written to a file since its last sync, any part may be there: nothing, all of
 *    it, some of the writes in any order, and of a write some sectors.
 * 2. Names follow their own order: a file that was made, renamed or removed may still be under its old name until its
 *    folder is synced; a file that is synced itself is there under a name.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Change } from './journal.js';
import type { Random } from './random.js';

const SECTOR_BYTES = 512;

type ContentChange = Extract<Change, { call: 'write' | 'truncate' }>;
type NameChange = Extract<Change, { call: 'create' | 'rename' | 'unlink' }>;

interface Inode {
  synced: Contents;
  pending: ContentChange[];
}

export class PoweredDisk {
  /** By the names that the process sees. */
  readonly #files = new Map<string, Inode>();
  /** By the names that are on disk for sure, and what has been done to them since. */
  #syncedNames = new Map<string, Inode>();
  #pendingNames: { change: NameChange; inode: Inode }[] = [];

  /** As the folder is now; empty where there is none. */
  constructor(folder: string) {
    for (const path of filesIn(folder)) {
      this.#files.set(path, { synced: new Contents(readFileSync(join(folder, path))), pending: [] });
    }
    this.#syncedNames = new Map(this.#files);
  }

  apply(change: Change): void {
    switch (change.call) {
      case 'syncFolder':
        this.#settleNames(this.#pendingNames.length);
        return;
      case 'create':
        this.#files.set(change.path, { synced: new Contents(), pending: [] });
        break;
      case 'rename': {
        const inode = this.#file(change.path);
        this.#files.delete(change.path);
        this.#files.set(change.to, inode);
        this.#pendingNames.push({ change, inode });
        return;
      }
      case 'unlink':
        this.#pendingNames.push({ change, inode: this.#file(change.path) });
        this.#files.delete(change.path);
        return;
      case 'sync': {
        const inode = this.#file(change.path);
        for (const each of inode.pending) inode.synced.apply(each);
        inode.pending = [];
        // With the file its name is there, and what was done to names before.
        const own = this.#pendingNames.findLastIndex((each) => each.inode === inode);
        this.#settleNames(own + 1);
        return;
      }
      default:
        this.#file(change.path).pending.push(change);
        return;
    }
    this.#pendingNames.push({ change, inode: this.#file(change.path) });
  }

  #file(path: string): Inode {
    const inode = this.#files.get(path);
    if (!inode) throw new Error(`the journal changes ${path}, which it never made`);
    return inode;
  }

  #settleNames(count: number): void {
    for (const each of this.#pendingNames.splice(0, count)) rename(this.#syncedNames, each);
  }

  /** Writes into `folder` what is left when the power goes now. */
  cut(folder: string, random: Random): void {
    rmSync(folder, { recursive: true, force: true });
    // Also when nothing in it has reached the disk yet.
    mkdirSync(folder, { recursive: true });
    const names = new Map(this.#syncedNames);
    const kept = random.below(this.#pendingNames.length + 1);
    for (const each of this.#pendingNames.slice(0, kept)) rename(names, each);
    for (const [path, inode] of names) {
      // The index of the log is made anew by whoever opens it.
      if (path.endsWith('-shm')) continue;
      const contents = inode.synced.copy();
      for (const change of survivors(inode.pending, random)) contents.apply(change);
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), contents.bytes);
    }
  }
}

function rename(names: Map<string, Inode>, { change, inode }: { change: NameChange; inode: Inode }): void {
  if (change.call !== 'create') names.delete(change.path);
  if (change.call === 'create') names.set(change.path, inode);
  if (change.call === 'rename') names.set(change.to, inode);
}

/** What of the writes that were not synced has reached the disk all the same. */
function survivors(pending: readonly ContentChange[], random: Random): ContentChange[] {
  switch (random.below(4)) {
    case 0:
      return [];
    case 1:
      return [...pending];
    case 2:
      return pending.filter(() => random.below(2) === 0);
    default:
      return pending.flatMap((change) => (change.call === 'write' ? torn(change, random) : [change]));
  }
}

function torn(write: Extract<ContentChange, { call: 'write' }>, random: Random): ContentChange[] {
  const sectors: ContentChange[] = [];
  for (let from = 0; from < write.data.length; from += SECTOR_BYTES) {
    if (random.below(3) === 0) continue;
    const data = write.data.subarray(from, from + SECTOR_BYTES);
    sectors.push({ ...write, offset: write.offset + from, data });
  }
  return sectors;
}

class Contents {
  #room: Buffer;
  #length: number;

  constructor(bytes = Buffer.alloc(0)) {
    this.#room = bytes;
    this.#length = bytes.length;
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  copy(): Contents {
    return new Contents(Buffer.from(this.bytes));
  }

  apply(change: ContentChange): void {
    if (change.call === 'truncate') this.#resize(change.length);
    else {
      const end = change.offset + change.data.length;
      if (end > this.#length) this.#resize(end);
      change.data.copy(this.#room, change.offset);
    }
  }

  /** What a file grows by is zeros until it is written. */
  #resize(length: number): void {
    if (length > this.#room.length) {
      const room = Buffer.alloc(Math.max(length, this.#room.length * 2));
      this.bytes.copy(room);
      this.#room = room;
    }
    if (length > this.#length) this.#room.fill(0, this.#length, length);
    this.#length = length;
  }
}

function filesIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })) return [];
  const names = readdirSync(folder, { recursive: true }) as string[];
  return names.filter((name) => statSync(join(folder, name)).isFile());
}
