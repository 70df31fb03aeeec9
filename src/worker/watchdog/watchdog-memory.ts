/** What the main thread and the watchdog's thread share. */
import type { Culprit, StepAttempt } from '../../core/task.js';
import type { WitnessOptions } from '../../link/witness.js';

/** How often the watchdog looks, and the main thread shows itself. */
export const CHECK_INTERVAL_MS = 200;
/** What the last words get to leave: on a machine that is short of time, a connection alone takes a second. */
export const LAST_WORDS_MS = 2_500;

/**
 * Counters by index: PROGRESS goes up whenever the main thread is alive, TURN is odd while a turn runs, REPLAYED goes up
 * with every recorded turn that has been replayed, SAID is set when the last words have left.
 */
export const PROGRESS = 0;
export const TURN = 1;
export const REPLAYED = 2;
export const SAID = 3;
export const COUNTERS = 4;

/** Slot 0 stands for the turn, the others for steps. Steps beyond them are watched by `hangMs` only. */
export const SLOTS = 1024;
export const LABEL_BYTES = 320;

export interface WatchdogLimits {
  /**
   * A turn is a pure computation of microseconds; one that takes this long does not end. A replay may take as long as
   * its history is: each recorded turn has this time.
   */
  turnTimeoutMs: number;
  /** A step that computes without a pause may hold up the other steps of its worker for so long. */
  blockMs: number;
  /** And for so long when it holds up no other step. */
  hangMs: number;
  /** Counts buffers too, which the heap limit of V8 does not. */
  maxRssBytes: number;
}

export interface WatchdogData extends WatchdogLimits {
  counters: Int32Array;
  /** The number of the turn that runs, or has run. */
  turnIds: Float64Array;
  /** `monotonicNow` at which the step of the slot has to be over; 0 when there is none. */
  deadlines: Float64Array;
  /** 1 for a step that must not be tried a second time. */
  onlyAttempts: Uint8Array;
  /** Of a step its key, a space, and what people call it; of the turn that alone. */
  labels: Uint8Array;
  parentPid: number;
  pulseFd: number | undefined;
  witness: WitnessOptions | undefined;
}

/** To the watchdog's thread: the process ends of itself, because of this step or of nobody knows what. */
export interface Exiting {
  culprit: Culprit | undefined;
}

export const stepKey = ({ runId, scheduledEventId, attempt }: StepAttempt): string =>
  `${runId}/${scheduledEventId}/${attempt}`;

export function attemptOf(key: string): StepAttempt {
  const [runId = '', scheduledEventId, attempt] = key.split('/');
  return { runId, scheduledEventId: Number(scheduledEventId), attempt: Number(attempt) };
}

/** Milliseconds that agree over the threads of a process and do not jump with the system's clock. */
export const monotonicNow = (): number => performance.timeOrigin + performance.now();
