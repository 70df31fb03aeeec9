/**
 * The main thread's side of the watchdog: says that it is alive and what it is doing. The other side
 * (watchdog-thread.ts) ends the process when user code does not let go of it, and says whose code that was.
 */
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Culprit, StepTask } from '../../core/task.js';
import type { WitnessOptions } from '../../link/witness.js';
import { PULSE } from '../supervision/child-protocol.js';
import {
  CHECK_INTERVAL_MS,
  COUNTERS,
  type Exiting,
  LABEL_BYTES,
  LAST_WORDS_MS,
  monotonicNow,
  PROGRESS,
  REPLAYED,
  SAID,
  SLOTS,
  stepKey,
  TURN,
  type WatchdogData,
  type WatchdogLimits,
} from './watchdog-memory.js';

/** Built code, from src/ and from dist/ alike. */
const THREAD = new URL('../../../dist/worker/watchdog/watchdog-thread.js', import.meta.url);

export interface WatchdogOptions {
  limits: WatchdogLimits;
  /** Where the supervisor listens for signs of life. */
  pulseFd?: number;
  /** How to tell the server what the main thread cannot tell any more. */
  witness?: WitnessOptions;
  /** Runs with every sign of life, a few times a second. */
  onTick(): void;
}

export class Watchdog {
  /** For other threads that want to know whether this one is alive. */
  readonly counters = new Int32Array(new SharedArrayBuffer(4 * COUNTERS));
  readonly #turnIds = new Float64Array(new SharedArrayBuffer(8));
  readonly #deadlines = new Float64Array(new SharedArrayBuffer(8 * SLOTS));
  readonly #onlyAttempts = new Uint8Array(new SharedArrayBuffer(SLOTS));
  readonly #labels = new Uint8Array(new SharedArrayBuffer(SLOTS * LABEL_BYTES));
  readonly #free = Array.from({ length: SLOTS - 1 }, (_, i) => SLOTS - 1 - i);
  readonly #encoder = new TextEncoder();
  readonly #thread: Worker;
  readonly #pulseFd: number | undefined;
  #hasWorked = false;

  constructor({ limits, pulseFd, witness, onTick }: WatchdogOptions) {
    this.#pulseFd = pulseFd;
    const data: WatchdogData = {
      ...limits,
      counters: this.counters,
      turnIds: this.#turnIds,
      deadlines: this.#deadlines,
      onlyAttempts: this.#onlyAttempts,
      labels: this.#labels,
      parentPid: process.ppid,
      pulseFd,
      witness,
    };
    // No standard streams of its own: it writes to the process's, whatever the main thread does.
    this.#thread = new Worker(THREAD, {
      ...{ workerData: data, execArgv: [], env: {}, stdout: false, stderr: false },
    });
    this.#thread.unref();
    setInterval(() => {
      Atomics.add(this.counters, PROGRESS, 1);
      onTick();
    }, CHECK_INTERVAL_MS).unref();
  }

  beginTurn(turnId: number, label: string): void {
    this.#works();
    this.#turnIds[0] = turnId;
    this.#write(0, label);
    Atomics.add(this.counters, TURN, 1);
  }

  /** A recorded turn has been replayed: the turn that runs gets on. */
  replayed(): void {
    Atomics.add(this.counters, REPLAYED, 1);
  }

  endTurn(): void {
    Atomics.add(this.counters, TURN, 1);
  }

  /** Answers with a ticket for `end`. */
  begin(task: StepTask): number {
    this.#works();
    const slot = this.#free.pop();
    if (slot === undefined) return 0;
    this.#write(slot, `${stepKey(task)} step "${task.stepName}" of ${task.workflowType} ${task.workflowId}`);
    this.#onlyAttempts[slot] = task.isOnlyAttempt ? 1 : 0;
    this.#deadlines[slot] = monotonicNow() + task.timeoutMs;
    return slot;
  }

  end(ticket: number): void {
    if (ticket === 0) return;
    this.#deadlines[ticket] = 0;
    this.#free.push(ticket);
  }

  /** The process ends now, by the doing of a step or of code that belongs to none. Blocks until that has been said. */
  exiting(culprit: Culprit | undefined): void {
    const words: Exiting = { culprit };
    this.#thread.postMessage(words);
    Atomics.wait(this.counters, SAID, 0, LAST_WORDS_MS);
  }

  /** Tells the supervisor, once, that whatever ends this process now may be what it was given to do. */
  #works(): void {
    if (this.#hasWorked) return;
    this.#hasWorked = true;
    if (this.#pulseFd === undefined) return;
    try {
      writeSync(this.#pulseFd, PULSE.works);
    } catch {
      // Nobody listens any more.
    }
  }

  #write(slot: number, label: string): void {
    const bytes = this.#labels.subarray(slot * LABEL_BYTES, (slot + 1) * LABEL_BYTES);
    const { written } = this.#encoder.encodeInto(label, bytes);
    if (written < LABEL_BYTES) bytes[written] = 0;
  }
}
