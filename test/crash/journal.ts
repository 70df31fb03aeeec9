/** What the shim wrote down (shim/disk.c): every change to the files of a data folder, in order. */
import { readFileSync } from 'node:fs';

export type Change = { at: number; path: string } & (
  | { call: 'write'; offset: number; data: Buffer }
  | { call: 'truncate'; length: number }
  | { call: 'sync' }
  | { call: 'syncFolder' }
  | { call: 'create' }
  | { call: 'unlink' }
  | { call: 'rename'; to: string }
);

const HEAD_BYTES = 32;

/** `at` is in milliseconds of the machine's monotonic clock, as in the oracle's ledger. */
export function readJournal(file: string): Change[] {
  const bytes = readFileSync(file);
  const changes: Change[] = [];
  // A process that was killed may have left a part of a record.
  for (let from = 0; from + HEAD_BYTES <= bytes.length; ) {
    const call = bytes.readUInt32LE(from);
    const pathEnd = from + HEAD_BYTES + bytes.readUInt32LE(from + 4);
    const offset = Number(bytes.readBigUInt64LE(from + 8));
    const length = Number(bytes.readBigUInt64LE(from + 16));
    const at = Number(bytes.readBigUInt64LE(from + 24)) / 1e6;
    const path = bytes.toString('utf8', from + HEAD_BYTES, pathEnd);
    from = pathEnd;
    switch (call) {
      case 1:
        if (from + length > bytes.length) return changes;
        changes.push({ call: 'write', at, path, offset, data: bytes.subarray(from, from + length) });
        from += length;
        break;
      case 2:
        changes.push({ call: 'truncate', at, path, length: offset });
        break;
      case 3:
        changes.push({ call: 'sync', at, path });
        break;
      case 4:
        changes.push({ call: 'create', at, path });
        break;
      case 5:
        changes.push({ call: 'rename', at, path, to: bytes.toString('utf8', from, from + length) });
        from += length;
        break;
      case 6:
        changes.push({ call: 'unlink', at, path });
        break;
      case 7:
        changes.push({ call: 'syncFolder', at, path });
        break;
      default:
        throw new Error(`the journal ${file} has a call ${call} at byte ${from}`);
    }
  }
  return changes;
}
