/**
 * Every bound of the system, with its reason. An operator can change those that a deployment may need otherwise;
 * a run that meets one ends or is told so with a typed failure, it is never left hanging.
 */
export interface Limits {
  /** A history beyond this takes seconds to replay. Five times Temporal's bound: replay here costs no network. */
  historyEvents: number;
  /** From here on `isContinueAsNewSuggested` says yes, well before the bound. */
  historyEventsSuggestContinue: number;
  /** Bytes of one run's events: a whole history must fit into one frame to a worker. */
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
  /** Runs that one page of the run list may look through; a page that found less than it may hold still has a cursor. */
  listedKeys: number;
  /** Closed runs leave after this time. */
  retentionMs: number;
  /** Closed runs removed in one commit, so that removal never holds up other work for long. */
  retentionBatch: number;
}

export const DEFAULT_LIMITS: Limits = {
  historyEvents: 250_000,
  historyEventsSuggestContinue: 4_096,
  historyBytes: 64 * 1024 * 1024,
  payloadBytes: 2 * 1024 * 1024,
  pendingPerRun: 2_000,
  signalsPerRun: 10_000,
  updatesInFlightPerRun: 10,
  updatesPerRun: 2_000,
  childDepth: 100,
  cachedRuns: 5_000,
  messageTimeoutMs: 30_000,
  listedKeys: 200_000,
  retentionMs: 7 * 24 * 3_600_000,
  retentionBatch: 50,
};

/** The bounds of the HTTP door: what one caller may cost before it is known who calls or what for. */
export interface HttpLimits {
  /** One request body; the same as one payload, so that what is let in can be stored. */
  bodyBytes: number;
  /** Nesting of a body. JSON.stringify and structuredClone overflow the stack from some thousands on. */
  bodyDepth: number;
  /** Members and elements of a body, so that parsing it never holds up other calls for long. */
  bodyValues: number;
  /** Calls that wait for a run at a time, each a few kilobytes; the next one is told to come back (429). */
  waitingCalls: number;
  /** Open sockets; below the usual limit of file descriptors, so that the database can always open its files. */
  connections: number;
  /** Time for a whole request to arrive, so that slow senders cannot hold sockets. */
  requestTimeoutMs: number;
  /** Time for the headers alone. */
  headersTimeoutMs: number;
  /** Above the 60 s after which most load balancers give up an idle connection, so that they close it first. */
  keepAliveTimeoutMs: number;
  /** What calls under way get to end when the server closes; those that wait for a run are answered at once. */
  closeGraceMs: number;
  /** Open streams, each some tens of kilobytes; the next one is told to come back (429). */
  streams: number;
  /** A stream carries a comment this often, so that nothing on the way takes it for dead. */
  streamKeepaliveMs: number;
  /** A reader that takes nothing for this time is dropped; it can resume where it was. */
  streamStallMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  bodyBytes: 2 * 1024 * 1024,
  bodyDepth: 100,
  bodyValues: 250_000,
  waitingCalls: 10_000,
  connections: 16_000,
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 65_000,
  closeGraceMs: 2_000,
  streams: 5_000,
  streamKeepaliveMs: 15_000,
  streamStallMs: 30_000,
};

/** The bounds of writing and fetching traces, so that neither is felt by the runs. */
export interface TraceLimits {
  /** Closed runs that wait for their trace to be written in the background; a run beyond gets its when first asked. */
  waitingRuns: number;
  /** Traces made at a time because somebody asks; each holds one history in memory. */
  builtAtOnce: number;
  /** Events read at a time, before others get their turn. */
  eventsPerPage: number;
  /** Where the engine does not tell when runs leave, files do after this time; they are made again when asked for. */
  unwatchedFileMs: number;
  /** How often those are looked for. */
  expireEveryMs: number;
  /** Uploads and removals that failed and wait to be tried again. */
  waitingRetries: number;
  /** After these an upload waits until somebody asks for the trace, and a removal until the next start. */
  retries: number;
  firstRetryMs: number;
  maxRetryMs: number;
  storeConnectTimeoutMs: number;
  /** Without a byte from the object store. */
  storeIdleTimeoutMs: number;
  /** One upload, one removal, or the start of an answer. */
  storeTimeoutMs: number;
  /** An object beyond this is no trace: several times the largest history. */
  storedBytes: number;
}

export const DEFAULT_TRACE_LIMITS: TraceLimits = {
  waitingRuns: 10_000,
  builtAtOnce: 2,
  eventsPerPage: 500,
  unwatchedFileMs: 7 * 86_400_000,
  expireEveryMs: 3_600_000,
  waitingRetries: 10_000,
  retries: 10,
  firstRetryMs: 1_000,
  maxRetryMs: 300_000,
  storeConnectTimeoutMs: 3_000,
  storeIdleTimeoutMs: 10_000,
  storeTimeoutMs: 60_000,
  storedBytes: 256 * 1024 * 1024,
};

/** Part of the wire contract, so the same everywhere: how long a synchronous run or a result may be waited for. */
export const MAX_RUN_TIMEOUT_MS = 3_600_000;
export const DEFAULT_RUN_TIMEOUT_MS = 30_000;
export const MAX_RESULT_WAIT_MS = 60_000;
/** What a long poll of the history is cut to. */
export const MAX_LONG_POLL_MS = 60_000;

/** Issues listed in one answer; a reader does not act on more. */
export const MAX_ISSUES = 100;
