/** A folder to try things in, which is gone afterwards, also when a signal ends the program meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';

/** `remove` takes it away. @throws as `mkdtempSync` */
export function trialFolder(prefix: string): { path: string; remove(): void } {
  const path = mkdtempSync(prefix);
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.on('exit', remove);
  return { path, remove };
}
