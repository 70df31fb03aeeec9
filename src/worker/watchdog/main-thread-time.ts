/**
 * How long the main thread of this process has had the processor or slept, as seen from another thread. What it waited
 * for the processor counts little: on a machine with too much to do, user code is not slow by its own fault. It counts
 * all the same, since the others wait as well; and where it waits for other threads of its own process, such as those
 * that collect its garbage, it counts in full.
 */
import { readFileSync } from 'node:fs';

/** The part of the time that counts in any case. */
const ALWAYS = 1 / 3;
const STATE = 0;

export interface Look {
  /** The processor time of all threads of the process since it began. */
  usedMs: number;
  isWaitingForProcessor: boolean;
}

export class MainThreadTime {
  #usedMs = 0;

  /** `look` answers with nothing on systems that do not tell. */
  constructor(private readonly look: () => Look | undefined = lookAtThisProcess) {}

  /** Of the `passedMs` since the last call. */
  taken(passedMs: number): number {
    const now = this.look();
    if (!now) return passedMs;
    const usedMs = now.usedMs - this.#usedMs;
    this.#usedMs = now.usedMs;
    if (!now.isWaitingForProcessor) return passedMs;
    return Math.min(Math.max(usedMs, passedMs * ALWAYS), passedMs);
  }
}

function lookAtThisProcess(): Look | undefined {
  let text: string;
  try {
    // The first thread of a process has its number.
    text = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name of the program comes before, in brackets, and may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const { user, system } = process.cpuUsage();
  return { usedMs: (user + system) / 1_000, isWaitingForProcessor: fields[STATE] === 'R' };
}
