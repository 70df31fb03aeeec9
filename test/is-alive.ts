/** Whether a process runs. One that has ended and that nobody has waited for yet runs no longer, where that can be told. */
import { readFileSync } from 'node:fs';

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    // It has ended meanwhile, or this is not Linux.
    return process.platform !== 'linux';
  }
}
