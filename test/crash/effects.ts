/** What steps really did, as they wrote it down themselves. */
import { existsSync, readFileSync } from 'node:fs';

export interface Effect {
  /** The step's idempotency key: its run, and which step of it. */
  key: string;
  attempt: number;
  at: number;
}

export function readEffects(file: string): Effect[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Effect);
}
