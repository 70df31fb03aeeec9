/** Ids that the service makes. */
import { randomBytes } from 'node:crypto';

export interface Ids {
  /**
   * A version 7 UUID: runs sort by the time they started. Those of one source never go back, also within one
   * millisecond and when the clock does.
   */
  newRunId(nowMs: number): string;
  /**
   * `<workflowName>-<12 random characters>`: far beyond a collision among retained runs. Some that are made one after the
   * other begin alike, so that they are neighbours in an index: a commit of many starts then writes few of its pages.
   */
  newWorkflowId(workflowName: string): string;
  newUpdateId(): string;
  /** A key that nobody can guess. */
  newSecret(): string;
}

/** Workflow ids in a row that have their first characters in common, and how many those are; the others are 46 bits. */
const ALIKE = 64;
const ALIKE_CHARACTERS = 3;
const OWN_CHARACTERS = 9;

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/** Drawn in larger pieces because one system call per id is most of its cost. */
const POOL_BYTES = 4_096;

export function idsFrom(random: (bytes: number) => Buffer): Ids {
  let lastMs = 0;
  /** Of `lastMs`, as it begins an id: runs that start together share it. */
  let timeGroups = '';
  let sequence = 0;
  let pool = '';
  let beginning = '';
  let beginsFor = 0;

  function hex(bytes: number): string {
    if (pool.length < bytes * 2) pool = random(POOL_BYTES).toString('hex');
    const taken = pool.slice(-bytes * 2);
    pool = pool.slice(0, -bytes * 2);
    return taken;
  }

  function characters(count: number): string {
    const drawn = hex(count);
    let text = '';
    for (let i = 0; i < 2 * count; i += 2)
      text += ALPHABET[(16 * digitAt(drawn, i) + digitAt(drawn, i + 1)) % 36];
    return text;
  }

  function goOnTo(ms: number): void {
    lastMs = ms;
    sequence = 0;
    const time = ms.toString(16).padStart(12, '0');
    timeGroups = `${time.slice(0, 8)}-${time.slice(8)}`;
  }

  return {
    newRunId(nowMs) {
      if (nowMs > lastMs) goOnTo(nowMs);
      else if (++sequence > 0xfff) goOnTo(lastMs + 1);
      const group = `7${sequence.toString(16).padStart(3, '0')}`;
      return `${timeGroups}-${group}-${withVariant(hex(8))}`;
    },
    newWorkflowId(workflowName) {
      if (beginsFor-- === 0) {
        beginning = characters(ALIKE_CHARACTERS);
        beginsFor = ALIKE - 1;
      }
      return `${workflowName}-${beginning}${characters(OWN_CHARACTERS)}`;
    },
    newUpdateId() {
      const drawn = hex(16);
      const group = `4${drawn.slice(13, 16)}`;
      return `${drawn.slice(0, 8)}-${drawn.slice(8, 12)}-${group}-${withVariant(drawn.slice(16))}`;
    },
    newSecret: () => random(32).toString('base64url'),
  };
}

/** The value of a hexadecimal digit. */
function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code <= NINE ? code - ZERO : code - LETTER_A + 10;
}

const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);
const LETTER_A = 'a'.charCodeAt(0);

/** The last two groups of a UUID, of eight random bytes. */
function withVariant(drawn: string): string {
  const variant = ((Number.parseInt(drawn[0]!, 16) & 3) | 8).toString(16);
  return `${variant}${drawn.slice(1, 4)}-${drawn.slice(4, 16)}`;
}

export const systemIds: Ids = idsFrom(randomBytes);
export const { newRunId, newWorkflowId } = systemIds;
