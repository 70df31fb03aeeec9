/** The only place that reads the time. */
export interface Clock {
  /** Epoch milliseconds. Somebody may set it, so it may jump, both ways. */
  now(): number;
  /** Milliseconds since some moment: never goes back and never jumps, so this is what waits are measured by. */
  monotonicMs(): number;
  /** Nobody sets this one and it never jumps, as in tests: what waits for an instant need not look at it in between. */
  readonly isNeverSet?: boolean;
}

/** For measuring how long something took: never goes back, unlike the time of day. */
export const monotonicMs = (): number => performance.now();

export const systemClock: Clock = { now: () => Date.now(), monotonicMs };

/** What runs without being called: later, or once what is at hand has been handled. */
export interface Scheduler {
  /** What it counts by: goes on even where a test holds the clock. */
  monotonicMs(): number;
  /** After that many milliseconds. One in the background does not keep the process from ending. */
  after(ms: number, action: () => void, isBackground?: boolean): Timer;
  /** When all input that is there has been handled. */
  soon(action: () => void): void;
}

export interface Timer {
  cancel(): void;
}

export const systemScheduler: Scheduler = {
  monotonicMs,
  after(ms, action, isBackground = false) {
    const timer = setTimeout(action, ms);
    if (isBackground) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (action) => void setImmediate(action),
};
