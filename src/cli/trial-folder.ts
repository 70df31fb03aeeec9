/**
 * A folder to try things in, which is gone afterwards, also when a signal ends the program meanwhile. What a kill has left the
 * next one takes away.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { clearBrokenOff, ofThisProcess } from './broken-off.js';

/** `remove` takes it away. @throws as `mkdirSync` */
export function trialFolder(prefix: string): { path: string; remove(): void } {
  clearBrokenOff(prefix);
  const path = ofThisProcess(prefix);
  mkdirSync(path, { mode: 0o700 });
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.on('exit', remove);
  return { path, remove };
}
