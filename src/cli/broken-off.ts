/** What programs that were killed have left: under names that have a prefix, the process that made them, and what nobody else has. */
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isAlive } from '../core/is-alive.js';

/** A name for something that is gone when this process is. */
export const ofThisProcess = (prefix: string): string => `${prefix}${process.pid}-${randomUUID()}`;

/** A journal of SQLite has the name of its database, and a module the end by which Node knows it. */
const REST = /^(\d+)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:-journal|\.mjs)?$/;

/** Takes it away, where it can be. A process of this very number was another one, such as the first of another container. */
export function clearBrokenOff(prefix: string): void {
  const folder = dirname(prefix);
  for (const name of namesIn(folder)) {
    if (!name.startsWith(basename(prefix))) continue;
    const [, pid] = REST.exec(name.slice(basename(prefix).length)) ?? [];
    if (pid === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // Somebody else's.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
