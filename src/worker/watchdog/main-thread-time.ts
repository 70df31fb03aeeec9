/**
 * How long the main thread of this process has had the processor or slept, as seen from another thread. What it waited
 * for the processor counts little: on a machine with too much to do, user code is not slow by its own fault. It counts
 * all the same, since the others wait as well.
 */
import { readFileSync } from 'node:fs';

/** Of the times that Linux tells of a thread. */
const MS_PER_TICK = 10;
/** The part of the time that counts in any case. */
const ALWAYS = 1 / 3;
const STATE = 0;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

export class MainThreadTime {
  #usedMs = 0;

  /** Of the `passedMs` since the last call. */
  taken(passedMs: number): number {
    const now = look();
    // Systems that do not tell: all of it.
    if (!now) return passedMs;
    const usedMs = now.usedMs - this.#usedMs;
    this.#usedMs = now.usedMs;
    if (!now.isWaitingForProcessor) return passedMs;
    return Math.min(Math.max(usedMs, passedMs * ALWAYS), passedMs);
  }
}

function look(): { usedMs: number; isWaitingForProcessor: boolean } | undefined {
  let text: string;
  try {
    // The first thread of a process has its number.
    text = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name of the program comes before, in brackets, and may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    usedMs: (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * MS_PER_TICK,
    isWaitingForProcessor: fields[STATE] === 'R',
  };
}
