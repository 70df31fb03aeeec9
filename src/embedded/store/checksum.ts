/**
 * Checksums of what is stored: SQLite has none of its own over its pages, so a bit that flips on the disk would be read
 * as if it had been written. They find accidents; they are no seal against somebody who can write the file.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** 96 bits: no accident passes, and a row stays short. */
const LENGTH = 16;

/** Of a text at its place, so that rows which change places do not pass either. */
export function checksumOf(
  table: 'history' | 'inbox',
  runKey: number,
  position: number,
  text: string,
): string {
  return digest(placeOf(table, runKey, position) + text);
}

/** Where small texts are encoded, one after the other. */
const scratch = Buffer.allocUnsafe(64 * 1024);
/** Bytes that one character of a text can take in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

/**
 * A text in the form in which it is stored, and its checksum at its place: encoded once for both, since the checksums of
 * its rows are a good part of what a commit costs. `stored` is good until the next call, which uses the same place.
 */
export function encodeWithChecksum(
  table: 'history' | 'inbox',
  runKey: number,
  position: number,
  text: string,
): { stored: Buffer; checksum: string } {
  const place = placeOf(table, runKey, position);
  const whole = place + text;
  const bytes =
    whole.length * MAX_CHARACTER_BYTES <= scratch.length
      ? scratch.subarray(0, scratch.write(whole))
      : Buffer.from(whole);
  return { stored: bytes.subarray(place.length), checksum: digest(bytes) };
}

/**
 * Of the values of a row, in the order of its columns. What is a text is told apart from what is not: one bit of the file
 * makes a text a blob, or NULL of a zero. Runs are written by almost every commit, so it is the cheap one of 32 bits, which
 * misses no flip of a few bits.
 */
export function rowChecksum(table: ProtectedTable, ...values: readonly StoredValue[]): number {
  let whole: string = table;
  for (const value of values) whole += told(value);
  return crc32(whole);
}

const told = (value: StoredValue): string => (typeof value === 'string' ? `"${value}` : `/${value}`);

type StoredValue = string | number | null;

export type ProtectedTable =
  | 'runs'
  | 'runs.trace'
  | 'steps'
  | 'idempotency'
  | 'catalogs'
  | 'secrets'
  | 'purses'
  | 'closings'
  | 'outbox'
  | 'tip';

const placeOf = (table: string, runKey: number, position: number) => `${table}/${runKey}/${position}/`;

export function digest(text: string | Buffer): string {
  return hash('sha256', text, 'base64url').slice(0, LENGTH);
}
