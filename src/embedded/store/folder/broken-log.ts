/**
 * Damage in the write-ahead log itself. SQLite reads the log up to the first frame that does not fit its checksum and
 * takes that for the end, as after a power cut; what stands behind it is dropped without a word.
 *
 * A power cut tears the last transaction at most: the one before was synced when it began. So two commits or more behind
 * a frame that does not fit were there once, and are damaged.
 */
import { readFileSync, statSync } from 'node:fs';
import { endianness } from 'node:os';

export interface BrokenLog {
  /** Where the first frame that does not fit begins. */
  offset: number;
  /** Commits behind it. */
  commits: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
/** Some times what the log may grow to; one beyond is left to the mark, since reading it would take the memory. */
const MAX_BYTES = 512 * 1024 * 1024;

/** Undefined where the log is whole, or ends as one does. */
export function findBrokenLog(file: string): BrokenLog | undefined {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size > MAX_BYTES) return undefined;
  const log = readFileSync(file);
  // One that does not begin as a log is empty to SQLite, and the mark says whether it may be.
  if (log.length < HEADER_BYTES || (log.readUInt32BE(0) & ~1) >>> 0 !== MAGIC) return undefined;
  const isBigEndian = (log.readUInt32BE(0) & 1) === 1;
  const pageBytes = log.readUInt32BE(8);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const salts = log.subarray(16, 24);
  const sum = new RunningSum(log, isBigEndian);
  sum.add(0, 24);
  let offset = HEADER_BYTES;
  const isWhole = (at: number) => at + frameBytes <= log.length;
  const isOfThisLog = (at: number) => log.compare(salts, 0, 8, at + 8, at + 16) === 0;
  if (sum.equals(24)) {
    while (isWhole(offset) && isOfThisLog(offset)) {
      sum.add(offset, offset + 8);
      sum.add(offset + FRAME_HEADER_BYTES, offset + frameBytes);
      if (!sum.equals(offset + 16)) break;
      offset += frameBytes;
    }
  }
  let commits = 0;
  for (let at = offset; isWhole(at); at += frameBytes) {
    // A frame that ends a transaction holds the size of the database after it.
    if (isOfThisLog(at) && log.readUInt32BE(at + 4) !== 0) commits++;
  }
  return commits >= 2 ? { offset, commits } : undefined;
}

/** The checksum of SQLite's log, which goes on from frame to frame: over numbers of four bytes, in the order that the log says. */
class RunningSum {
  readonly #words: Int32Array;
  #first = 0;
  #second = 0;

  constructor(
    private readonly log: Buffer,
    isBigEndian: boolean,
  ) {
    // A copy begins at a multiple of four, whatever the buffer does.
    const bytes = Buffer.from(Uint8Array.from(log.subarray(0, log.length & ~3)).buffer);
    if (isBigEndian !== (endianness() === 'BE')) bytes.swap32();
    this.#words = new Int32Array(bytes.buffer);
  }

  add(from: number, to: number): void {
    const words = this.#words;
    let first = this.#first;
    let second = this.#second;
    for (let at = from >> 2; at < to >> 2; at += 2) {
      first = (first + words[at]! + second) | 0;
      second = (second + words[at + 1]! + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  equals(at: number): boolean {
    return this.log.readInt32BE(at) === this.#first && this.log.readInt32BE(at + 4) === this.#second;
  }
}

export function describeBrokenLog(dataDir: string, { offset, commits }: BrokenLog): string {
  return (
    `the write-ahead log of the database in ${dataDir} (perdure.db-wal) is damaged at byte ${offset}: the ${commits} commits behind it cannot be read. ` +
    `Nothing was changed. Restore it, or a backup; or accept the loss with "perdure check --data ${dataDir} --accept-loss"`
  );
}
