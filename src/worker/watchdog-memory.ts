/** What the main thread and the watchdog's thread share. */

/** How often the watchdog looks, and the main thread shows itself. */
export const CHECK_INTERVAL_MS = 200;

/** Counters by index: PROGRESS goes up whenever the main thread is alive, TURN is odd while a turn runs. */
export const PROGRESS = 0;
export const TURN = 1;

/** Slot 0 stands for the turn, the others for steps. Steps beyond them are watched by `hangMs` only. */
export const SLOTS = 1024;
export const LABEL_BYTES = 192;

export interface WatchdogLimits {
  /** A turn is a pure computation of microseconds; one that takes this long does not end. */
  turnTimeoutMs: number;
  /** Nothing synchronous may hold up the other steps and runs of a worker for longer. */
  hangMs: number;
  /** Counts buffers too, which the heap limit of V8 does not. */
  maxRssBytes: number;
}

export interface WatchdogData extends WatchdogLimits {
  counters: Int32Array;
  /** `monotonicNow` at which the step of the slot has to be over; 0 when there is none. */
  deadlines: Float64Array;
  labels: Uint8Array;
  parentPid: number;
}

/** Milliseconds that agree over the threads of a process and do not jump with the system's clock. */
export const monotonicNow = (): number => performance.timeOrigin + performance.now();
