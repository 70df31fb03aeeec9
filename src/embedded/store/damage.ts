/** What can go wrong with the store, told apart by what follows from it. */
import type { RunRef } from '../../engine.js';

/** What is stored of a run cannot be what was written, or cannot be read. The run is set apart; the others go on. */
export class DamagedRunError extends Error {
  override readonly name = 'DamagedRunError';
  constructor(
    readonly runKey: number,
    message: string,
    /** Whose it is, where the row that says so is itself what is damaged. */
    readonly ref?: RunRef,
  ) {
    super(message);
  }
}

/** A row that belongs to no run alone cannot be what was written. Who needs it is told; the others go on. */
export class DamagedRowError extends Error {
  override readonly name = 'DamagedRowError';
}

/**
 * - full: nothing was written, and the same can be written when there is space again.
 * - busy: nothing was written, somebody else has the file for a moment.
 * - unknown: the disk failed, so what was being written may be there or not.
 * - definite: what should be written or read cannot be; nothing was written, and trying again changes nothing.
 */
export type StorageFailure = 'full' | 'busy' | 'unknown' | 'definite';

export function storageFailure(error: unknown): StorageFailure {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'definite';
  if (code.startsWith('SQLITE_FULL') || code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (!code.startsWith('SQLITE_')) return 'definite';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  return DEFINITE.some((prefix) => code.startsWith(prefix)) ? 'definite' : 'unknown';
}

const DEFINITE = [
  'SQLITE_CONSTRAINT',
  'SQLITE_CORRUPT',
  'SQLITE_ERROR',
  'SQLITE_MISMATCH',
  'SQLITE_NOTADB',
  'SQLITE_RANGE',
  'SQLITE_TOOBIG',
];

/** SQLite cannot make sense of a part of the file. */
export function isCorruption(error: unknown): error is Error {
  return error instanceof Error && String((error as { code?: unknown }).code).startsWith('SQLITE_CORRUPT');
}

/** A disk that fails once need not fail again; what fails this often is not a moment's trouble. */
const READ_TRIES = 5;

/** Runs `read`, again where the disk fails: nothing is changed by it. */
export function reading<T>(read: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return read();
    } catch (error) {
      const failure = storageFailure(error);
      if (tries >= READ_TRIES || (failure !== 'busy' && failure !== 'unknown')) throw error;
    }
  }
}

/**
 * Runs `read` of what is stored of one run. What fails there concerns that run and no other, also where a place of the disk
 * cannot be read; should all of the disk have failed, the commit that sets the run apart finds that out.
 */
export function readingRun<T>(runKey: number, read: () => T): T {
  try {
    return reading(read);
  } catch (error) {
    if (error instanceof DamagedRunError || storageFailure(error) === 'busy') throw error;
    throw new DamagedRunError(runKey, (error as Error).message);
  }
}

/** What is wrong with the rows, in the words of whoever looks for what is damaged. */
export function* damagedAmong<Row>(rows: Iterable<Row>, requireSound: (row: Row) => void): Generator<string> {
  for (const row of rows) {
    try {
      requireSound(row);
    } catch (error) {
      if (!(error instanceof DamagedRowError)) throw error;
      yield error.message;
    }
  }
}

/** What the engine can do without, from a table of which a part may be unreadable. */
export function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return reading(read);
  } catch (error) {
    if (!isCorruption(error)) throw error;
    return undefined;
  }
}
