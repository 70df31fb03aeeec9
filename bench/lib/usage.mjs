// What processes use of the machine, from /proc: theirs and that of all they have started, however far down. By parents and
// not by process groups, since PostgreSQL gives each of its processes a group of its own.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Linux counts in hundredths of a second for every program that asks (USER_HZ). */
const TICK_MS = 10;

export function processTree(roots) {
  const processes = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      // The fields after the command, which stands in brackets and may hold anything.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
      processes.set(Number(pid), {
        pid: Number(pid),
        parent: Number(fields[1]),
        // User and system time of its own, and of the children that have ended and were waited for.
        ticks: [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0),
      });
    } catch {
      // It ended while the folder was read.
    }
  }
  const wanted = new Set(roots);
  const belongs = (process) => {
    for (let at = process; at !== undefined; at = processes.get(at.parent))
      if (wanted.has(at.pid)) return true;
    return false;
  };
  return [...processes.values()].filter(belongs);
}

/**
 * Processor time that the servers and everything they started have used so far; not a number where there is no /proc.
 * Unlike runs per second it says what a run costs even while something else keeps the machine busy.
 */
export function processorMs(servers) {
  if (process.platform !== 'linux') return Number.NaN;
  return processTree(servers.map(({ pid }) => pid)).reduce((sum, { ticks }) => sum + ticks * TICK_MS, 0);
}

/** Resident memory of one process, in bytes; not a number where there is no /proc. */
export function residentBytes({ pid }) {
  if (process.platform !== 'linux') return Number.NaN;
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kilobytes?.[1]) * 1_024;
}

/** Bytes that the files of a folder take on disk. */
export function diskBytes(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).blocks * 512, 0);
}
