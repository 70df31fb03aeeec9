/**
 * The watchdog's own thread: it lives on when user code blocks the main one, and ends the process when that must be.
 *
 * Stalls are added up from the checks of this thread rather than read from a clock: when the whole process was
 * suspended, this thread was too, and the main thread gets its time to show that it is alive.
 */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import {
  CHECK_INTERVAL_MS,
  LABEL_BYTES,
  monotonicNow,
  PROGRESS,
  TURN,
  type WatchdogData,
} from './watchdog-memory.js';

const { counters, deadlines, labels, parentPid, turnTimeoutMs, hangMs, maxRssBytes } =
  workerData as WatchdogData;

/** A step gets this much beyond its time to be stopped by its AbortSignal. */
const OVERDUE_MS = 750;
/** A main thread that shows itself this often is not stalled, whatever its steps do. */
const STALL_MS = 900;

let checkedAt = monotonicNow();
let progressSeen = -1;
let turnSeen = -1;
let stalledMs = 0;
let turnMs = 0;

setInterval(() => {
  const now = monotonicNow();
  const passedMs = Math.min(now - checkedAt, 2 * CHECK_INTERVAL_MS);
  checkedAt = now;

  const turn = Atomics.load(counters, TURN);
  const progress = Atomics.load(counters, PROGRESS);
  turnMs = turn === turnSeen && isInsideTurn(turn) ? turnMs + passedMs : 0;
  stalledMs = turn === turnSeen && progress === progressSeen ? stalledMs + passedMs : 0;
  turnSeen = turn;
  progressSeen = progress;

  if (process.ppid !== parentPid) end('its parent process is gone');
  if (turnMs > turnTimeoutMs) {
    end(`a turn did not end within ${turnTimeoutMs} ms (an endless loop in workflow code?): ${labelOf(0)}`);
  }
  if (stalledMs > STALL_MS) {
    const overdue = deadlines.findIndex((deadline) => deadline !== 0 && deadline + OVERDUE_MS < now);
    if (overdue >= 0) end(`a step blocks the worker beyond its time: ${labelOf(overdue)}`);
    if (stalledMs > hangMs) end(`something has blocked the worker for ${hangMs} ms; running: ${running()}`);
  }
  const rss = process.memoryUsage.rss();
  if (rss > maxRssBytes) {
    end(
      `it uses ${Math.round(rss / 2 ** 20)} MiB of memory, more than ${Math.round(maxRssBytes / 2 ** 20)}; running: ${running()}`,
    );
  }
}, CHECK_INTERVAL_MS);

/** The counter goes up when a turn begins and when it ends. */
function isInsideTurn(counter: number): boolean {
  return counter % 2 !== 0;
}

function labelOf(slot: number): string {
  const bytes = labels.subarray(slot * LABEL_BYTES, (slot + 1) * LABEL_BYTES);
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.subarray(0, end < 0 ? LABEL_BYTES : end)).toString();
}

function running(): string {
  const slots = [...deadlines.keys()].filter((slot) => deadlines[slot] !== 0);
  if (isInsideTurn(turnSeen)) slots.unshift(0);
  const shown = slots.slice(0, 5).map(labelOf);
  return `${shown.join(', ') || 'nothing that the worker knows of'}${slots.length > 5 ? ` and ${slots.length - 5} more` : ''}`;
}

function end(reason: string): never {
  try {
    writeSync(2, `worker ${process.pid} is ended by its watchdog: ${reason}\n`);
  } catch {
    // Nobody reads it any more.
  }
  process.kill(process.pid, 'SIGKILL');
  throw new Error('unreachable');
}
