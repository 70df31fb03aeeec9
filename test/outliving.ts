/** What vitest says at the end of a run when a process of ours has outlived whoever started it, which then is no success. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Reporter } from 'vitest/node';

const BUILT = fileURLToPath(new URL('../dist/', import.meta.url));
/** The parent of those whose own has ended. */
const INIT = 1;
/** Those that are about to end have this long. */
const PATIENCE_MS = 15_000;

export class Outliving implements Reporter {
  async onTestRunEnd(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (abandoned().length > 0 && performance.now() < deadline) await sleep(100);
    const left = abandoned();
    if (left.length === 0) return;
    console.error(`\nProcesses have outlived the tests that started them:\n${left.join('\n')}`);
    process.exitCode = 1;
  }
}

/** A line for each, where the system tells. */
function abandoned(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        if (!command.includes(BUILT)) return [];
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        return /^PPid:\s+(\d+)/m.exec(status)?.[1] === String(INIT) ? [`  ${pid} ${command}`] : [];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}
