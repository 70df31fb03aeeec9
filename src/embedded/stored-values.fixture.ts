/** Where the values of a database are in the bytes of its file, by tables and indexes: what a bit can flip in. */
import type Database from 'better-sqlite3';

export interface StoredValue {
  /** The table or index. */
  of: string;
  /** Rows are looked up by it: it is in an index, or in the key by which a table is sorted. */
  isLookedUpBy: boolean;
  column: string;
  /** Which of its rows or entries, in the order of the file. */
  row: number;
  /** The first byte of what says its kind and length. */
  kindAt: number;
  /** Its own bytes; none of a NULL, a zero or a one. Of a long one those of its first page. */
  from: number;
  to: number;
}

const PAGE_BYTES = 4_096;
const LEAF_OF_TABLE = 0x0d;
const INNER_OF_TABLE = 0x05;
const LEAF_OF_INDEX = 0x0a;

export function storedValues(db: Database.Database, file: Buffer): StoredValue[] {
  const trees = db.prepare('SELECT name, type, rootpage FROM sqlite_schema WHERE rootpage > 0').all() as {
    name: string;
    type: string;
    rootpage: number;
  }[];
  return trees.flatMap(({ name, type, rootpage }) => {
    const isIndex = type === 'index';
    const columns = db
      .prepare(
        isIndex
          ? `SELECT name, 1 AS isKey FROM pragma_index_xinfo(?)`
          : `SELECT name, pk > 0 AS isKey FROM pragma_table_info(?)`,
      )
      .all(name) as { name: string | null; isKey: 0 | 1 }[];
    const records = [...recordsOf(file, rootpage)];
    return records.flatMap((record, row) =>
      valuesOf(file, record).map((place, index) => {
        const { name: column, isKey } = columns[index]!;
        return { of: name, isLookedUpBy: isKey === 1, column: column ?? 'rowid', row, ...place };
      }),
    );
  });
}

interface RecordPlace {
  at: number;
  /** Where the part of it that is on this page ends. */
  end: number;
}

function* recordsOf(file: Buffer, pageNumber: number): Generator<RecordPlace> {
  const page = (pageNumber - 1) * PAGE_BYTES;
  const head = pageNumber === 1 ? page + 100 : page;
  const kind = file[head]!;
  const isLeaf = kind === LEAF_OF_TABLE || kind === LEAF_OF_INDEX;
  const pointers = head + (isLeaf ? 8 : 12);
  for (let cell = 0; cell < file.readUInt16BE(head + 3); cell++) {
    let at = page + file.readUInt16BE(pointers + cell * 2);
    if (!isLeaf) {
      yield* recordsOf(file, file.readUInt32BE(at));
      at += 4;
    }
    if (kind === INNER_OF_TABLE) continue;
    const [bytes, afterBytes] = varint(file, at);
    const start = kind === LEAF_OF_TABLE ? varint(file, afterBytes)[1] : afterBytes;
    yield { at: start, end: start + bytesOnPage(bytes, kind === LEAF_OF_TABLE) };
  }
  if (!isLeaf) yield* recordsOf(file, file.readUInt32BE(head + 8));
}

/** As the format of the file says of what is too long for a page. */
function bytesOnPage(bytes: number, isTable: boolean): number {
  const most = isTable ? PAGE_BYTES - 35 : Math.floor(((PAGE_BYTES - 12) * 64) / 255) - 23;
  if (bytes <= most) return bytes;
  const least = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;
  const kept = least + ((bytes - least) % (PAGE_BYTES - 4));
  return kept <= most ? kept : least;
}

function valuesOf(file: Buffer, { at, end }: RecordPlace): { kindAt: number; from: number; to: number }[] {
  const [headBytes, first] = varint(file, at);
  const places: { kindAt: number; from: number; to: number }[] = [];
  let from = at + headBytes;
  for (let kindAt = first; kindAt < at + headBytes; ) {
    const [kind, next] = varint(file, kindAt);
    const to = from + (kind >= 12 ? (kind - 12) >> 1 : BYTES_OF_KIND[kind]!);
    places.push({ kindAt, from: Math.min(from, end), to: Math.min(to, end) });
    from = to;
    kindAt = next;
  }
  return places;
}

const BYTES_OF_KIND = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0];

function varint(file: Buffer, at: number): [value: number, after: number] {
  let value = 0;
  for (let index = at; ; index++) {
    const byte = file[index]!;
    value = value * 128 + (byte & 127);
    if (byte < 128) return [value, index + 1];
  }
}
