/**
 * The high-water mark: a file beside the database that remembers the last commits by number, hash, instant and runs.
 *
 * 1. It is written right after a commit has returned, so it is never ahead of a database that is whole. A database that
 *    is behind its mark has lost commits: its write-ahead log was damaged or removed, or it is an older copy.
 * 2. It is not synced with every commit: a kill of the process loses nothing of it, and after a power cut it may be
 *    behind, which is no alarm.
 * 3. Each commit has a slot of its own with its own checksum, in a ring, so a slot that is torn costs only itself.
 */
import {
  closeSync,
  fchownSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Scheduler, systemScheduler, type Timer } from '../../../core/clock.js';
import type { Tip } from './commit-chain.js';

/** Commits remembered: some seconds under full load, hours otherwise, in a file of two megabytes. */
const SLOTS = 4_096;
const SLOT_BYTES = 512;
/** Of the file, in which slots are laid down: as small as the pages of memory that hold it. */
const PAGE_BYTES = 4_096;
/** Runs named in a slot, each with 37 characters; the numbers before them never take more than 90. */
const RUNS_IN_SLOT = 11;
/** A mark that is older than this after a power cut finds less, so it is synced this often while there are commits. */
const SYNC_EVERY_MS = 3_000;

export interface MarkedCommit extends Tip {
  /** How many runs it saved, and the first of them by id. */
  runCount: number;
  runIds: string[];
}

export class Mark {
  readonly #fd: number;
  #timer: Timer | undefined;
  #isClosed = false;
  #isFailing = false;

  /** Goes on with the file, which must be there. */
  constructor(
    readonly file: string,
    private readonly scheduler: Scheduler = systemScheduler,
  ) {
    this.#fd = openSync(file, 'r+');
  }

  /** Makes the file anew, whole or not at all, for a database whose last commit is `tip`. */
  static create(file: string, tip: Tip): void {
    const slots = Buffer.alloc(SLOTS * SLOT_BYTES);
    if (tip.seq > 0) slots.write(encode(tip, 0, []), placeOf(tip.seq), 'latin1');
    const made = `${file}.new`;
    try {
      rmSync(made, { force: true });
      writeInPages(made, slots);
      renameSync(made, file);
    } catch (error) {
      // On a full disk a part of it would take what space is left.
      rmSync(made, { force: true });
      throw error;
    }
  }

  /** The commits that the file remembers, oldest first; undefined when there is no file. */
  static read(file: string): MarkedCommit[] | undefined {
    let bytes: Buffer;
    try {
      bytes = readFileSync(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const commits: MarkedCommit[] = [];
    for (let at = 0; at + SLOT_BYTES <= bytes.length; at += SLOT_BYTES) {
      const commit = decode(bytes.toString('latin1', at, at + SLOT_BYTES));
      if (commit) commits.push(commit);
    }
    return commits.sort((a, b) => a.seq - b.seq);
  }

  /** The commit has returned. Answers false once when the mark cannot be written, which is no reason to stop. */
  set(tip: Tip, runCount: number, runIds: Iterable<string>): boolean {
    try {
      writeSync(this.#fd, encode(tip, runCount, runIds), placeOf(tip.seq), 'latin1');
      this.#timer ??= this.scheduler.after(SYNC_EVERY_MS, () => this.#sync(), true);
      this.#isFailing = false;
      return true;
    } catch {
      const wasFailing = this.#isFailing;
      this.#isFailing = true;
      return wasFailing;
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    try {
      fdatasyncSync(this.#fd);
    } finally {
      closeSync(this.#fd);
    }
  }

  #sync(): void {
    this.#timer = undefined;
    // A mark that could not be synced is one that may be behind after a power cut, and no more than that.
    if (!this.#isClosed) fdatasync(this.#fd, () => {});
  }
}

/**
 * Page by page, and synced. Linux keeps what was written at once as one large piece in its cache and goes over all of that
 * whenever a part of it changes, which would make every commit's slot seven times as dear.
 */
function writeInPages(file: string, bytes: Buffer): void {
  // Never through a link that somebody has put there.
  const fd = openSync(file, 'wx', 0o600);
  try {
    giveToOwnerOf(dirname(file), fd);
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) writeSync(fd, bytes, at, PAGE_BYTES, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Root may tidy up in the folder of a server that runs as another user, and must not shut it out; so SQLite does with its files. */
function giveToOwnerOf(folder: string, fd: number): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  if (uid !== 0) fchownSync(fd, uid, gid);
}

const placeOf = (seq: number): number => (seq % SLOTS) * SLOT_BYTES;

/** One line; what stands behind it in the slot is left over from a longer one. */
function encode({ seq, hash, at }: Tip, runCount: number, runIds: Iterable<string>): string {
  let text = `${seq} ${at} ${hash} ${runCount}`;
  let count = 0;
  for (const runId of runIds) {
    if (++count > RUNS_IN_SLOT) break;
    text += ` ${runId}`;
  }
  return `${crc32(text).toString(16)} ${text}\n`;
}

function decode(slot: string): MarkedCommit | undefined {
  const line = slot.slice(0, slot.indexOf('\n') + 1);
  const [checksum = '', seq, at, hash = '', runCount, ...runIds] = line.trimEnd().split(' ');
  const text = line.slice(checksum.length + 1, -1);
  if (text === '' || crc32(text).toString(16) !== checksum) return undefined;
  return { seq: Number(seq), at: Number(at), hash, runCount: Number(runCount), runIds };
}
