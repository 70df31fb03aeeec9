/**
 * Tokens of history pages: where a reader of a run goes on. Bound to the run, valid on every server and after a
 * restart. The checksum is against mistakes; a token gives nobody anything that its caller could not read anyway.
 */
import { createHash } from 'node:crypto';
import { PerdureError } from '../../core/errors.js';

export interface HistoryPosition {
  runId: string;
  /** The last event that the reader has seen. */
  eventId: number;
}

const ID_BYTES = 16;
const NUMBER_BYTES = 6;
const SUM_BYTES = 6;

export function encodePageToken({ runId, eventId }: HistoryPosition): string {
  const position = Buffer.alloc(ID_BYTES + NUMBER_BYTES);
  position.write(runId.replaceAll('-', ''), 'hex');
  position.writeUIntBE(eventId, ID_BYTES, NUMBER_BYTES);
  return Buffer.concat([position, checksum(position)]).toString('base64url');
}

/** @throws InvalidPageTokenError */
export function decodePageToken(token: string): HistoryPosition {
  const bytes = Buffer.from(token, 'base64url');
  const position = bytes.subarray(0, ID_BYTES + NUMBER_BYTES);
  const isOurs =
    bytes.length === ID_BYTES + NUMBER_BYTES + SUM_BYTES &&
    bytes.subarray(-SUM_BYTES).equals(checksum(position)) &&
    bytes.toString('base64url') === token;
  if (!isOurs)
    throw new PerdureError('InvalidPageTokenError', 'This page token is not one that this API gave');
  const hex = position.toString('hex', 0, ID_BYTES);
  return {
    runId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    eventId: position.readUIntBE(ID_BYTES, NUMBER_BYTES),
  };
}

function checksum(position: Buffer): Buffer {
  return createHash('sha256').update('history page').update(position).digest().subarray(0, SUM_BYTES);
}
