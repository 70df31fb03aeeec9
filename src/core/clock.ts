/** The only place that reads the time. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
}

/** For measuring how long something took: never goes back, unlike the time of day. */
export const monotonicMs = (): number => performance.now();

export const systemClock: Clock = { now: () => Date.now() };
