/** Ids that the service makes. */
import { randomBytes } from 'node:crypto';

let lastMs = 0;
let sequence = 0;

/**
 * A version 7 UUID: runs sort by the time they started. Ids of one process never go back, also within one
 * millisecond and when the clock does.
 */
export function newRunId(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    sequence = 0;
  } else if (++sequence > 0xfff) {
    lastMs++;
    sequence = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const random = pooledHex(8);
  const variant = ((Number.parseInt(random[0]!, 16) & 3) | 8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${variant}${random.slice(1, 4)}-${random.slice(4, 16)}`;
}

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/** `<workflowName>-<12 random characters>`: 62 bits, far beyond a collision among retained runs. */
export function newWorkflowId(workflowName: string): string {
  const random = pooledHex(12);
  let suffix = '';
  for (let i = 0; i < 24; i += 2) suffix += ALPHABET[Number.parseInt(random.slice(i, i + 2), 16) % 36];
  return `${workflowName}-${suffix}`;
}

let pool = '';

/** Random bytes as hex; drawn in larger pieces because one system call per id is most of its cost. */
function pooledHex(bytes: number): string {
  if (pool.length < bytes * 2) pool = randomBytes(4096).toString('hex');
  const taken = pool.slice(-bytes * 2);
  pool = pool.slice(0, -bytes * 2);
  return taken;
}
