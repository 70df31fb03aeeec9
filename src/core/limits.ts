/**
 * Every bound of the system, with its reason. An operator can change those that a deployment may need otherwise;
 * a run that meets one ends or is told so with a typed failure, it is never left hanging.
 */
export interface Limits {
  /** A history beyond this replays too slowly to be useful; Temporal's own bound. */
  historyEvents: number;
  /** From here on `isContinueAsNewSuggested` says yes, well before the bound. */
  historyEventsSuggestContinue: number;
  /** Bytes of one run's events, for the same reason. */
  historyBytes: number;
  /** One value: an input, a result, a message. The same as the HTTP body limit. */
  payloadBytes: number;
  /** Steps, timers, children or outgoing messages that one run may wait for at a time; each costs memory while active. */
  pendingPerRun: number;
  /** Signals that one run may receive. */
  signalsPerRun: number;
  /** Updates of one run that may be under way at a time. */
  updatesInFlightPerRun: number;
  /** Updates that one run may accept in all. */
  updatesPerRun: number;
  /** A child of a child of …: deeper is a recursion that would not end. */
  childDepth: number;
  /** Runs whose state is kept in memory after they became quiet; the rest is read again when needed. */
  cachedRuns: number;
  /** How long a query or update waits for a worker before the caller is told that none answered. */
  messageTimeoutMs: number;
  /** Closed runs leave after this time. */
  retentionMs: number;
  /** Closed runs removed in one commit, so that removal never holds up other work for long. */
  retentionBatch: number;
}

export const DEFAULT_LIMITS: Limits = {
  historyEvents: 51_200,
  historyEventsSuggestContinue: 4_096,
  historyBytes: 50 * 1024 * 1024,
  payloadBytes: 2 * 1024 * 1024,
  pendingPerRun: 2_000,
  signalsPerRun: 10_000,
  updatesInFlightPerRun: 10,
  updatesPerRun: 2_000,
  childDepth: 100,
  cachedRuns: 10_000,
  messageTimeoutMs: 30_000,
  retentionMs: 7 * 24 * 3_600_000,
  retentionBatch: 50,
};
