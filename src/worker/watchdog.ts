/**
 * The main thread's side of the watchdog: says that it is alive and what it is doing. The other side
 * (watchdog-thread.ts) ends the process when user code does not let go of it.
 */
import { Worker } from 'node:worker_threads';
import {
  CHECK_INTERVAL_MS,
  LABEL_BYTES,
  monotonicNow,
  PROGRESS,
  SLOTS,
  TURN,
  type WatchdogData,
  type WatchdogLimits,
} from './watchdog-memory.js';

/** Built code, from src/ and from dist/ alike. */
const THREAD = new URL('../../dist/worker/watchdog-thread.js', import.meta.url);

export class Watchdog {
  /** For other threads that want to know whether this one is alive. */
  readonly counters = new Int32Array(new SharedArrayBuffer(8));
  readonly #deadlines = new Float64Array(new SharedArrayBuffer(8 * SLOTS));
  readonly #labels = new Uint8Array(new SharedArrayBuffer(SLOTS * LABEL_BYTES));
  readonly #free = Array.from({ length: SLOTS - 1 }, (_, i) => SLOTS - 1 - i);
  readonly #encoder = new TextEncoder();

  /** `onTick` runs with every sign of life, a few times a second. */
  constructor(limits: WatchdogLimits, onTick: () => void) {
    const data: WatchdogData = {
      ...limits,
      counters: this.counters,
      deadlines: this.#deadlines,
      labels: this.#labels,
      parentPid: process.ppid,
    };
    // No standard streams of its own: it writes to the process's, whatever the main thread does.
    new Worker(THREAD, { workerData: data, execArgv: [], env: {}, stdout: false, stderr: false }).unref();
    setInterval(() => {
      Atomics.add(this.counters, PROGRESS, 1);
      onTick();
    }, CHECK_INTERVAL_MS).unref();
  }

  beginTurn(label: string): void {
    this.#write(0, label);
    Atomics.add(this.counters, TURN, 1);
  }

  endTurn(): void {
    Atomics.add(this.counters, TURN, 1);
  }

  /** Answers with a ticket for `end`. */
  begin(label: string, timeoutMs: number): number {
    const slot = this.#free.pop();
    if (slot === undefined) return 0;
    this.#write(slot, label);
    this.#deadlines[slot] = monotonicNow() + timeoutMs;
    return slot;
  }

  end(ticket: number): void {
    if (ticket === 0) return;
    this.#deadlines[ticket] = 0;
    this.#free.push(ticket);
  }

  #write(slot: number, label: string): void {
    const bytes = this.#labels.subarray(slot * LABEL_BYTES, (slot + 1) * LABEL_BYTES);
    const { written } = this.#encoder.encodeInto(label, bytes);
    if (written < LABEL_BYTES) bytes[written] = 0;
  }
}
