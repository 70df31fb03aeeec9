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
  /** All that one turn may ask for, so that its answer fits into one message to the engine. */
  turnBytes: number;
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
  /** Children, their children and so on of one workflow that may be open at a time: a tree that grows without end stops here. */
  openDescendants: number;
  /** Children that end in one commit with their parent; the others follow, as many at a time, so that nobody waits for long. */
  childrenEndedAtOnce: number;
  /** Workflows that a turn signals or cancels, or a reset ends, in its own commit; the others follow, as many at a time. */
  messagesSentAtOnce: number;
  /** Children, their children and so on of one workflow that may be started within a minute, however soon each ends. */
  childStartsPerMinute: number;
  /** Of one chain, by continue-as-new or retry; beyond it the next one begins a second later. */
  continuationsPerMinute: number;
  /** Runs whose state is kept in memory after they became quiet; the rest is read again when needed. */
  cachedRuns: number;
  /** What callers and authors gave to those runs, in characters: a few thousand large inputs would fill the memory. */
  cachedBytes: number;
  /** How long a query or update waits for a worker before the caller is told that none answered. */
  messageTimeoutMs: number;
  /** Runs that one page of the run list may look through; a page that found less than it may hold still has a cursor. */
  listedKeys: number;
  /** Closed runs leave after this time. */
  retentionMs: number;
  /** Closed runs removed in one commit, so that removal never holds up other work for long. */
  retentionBatch: number;
  /**
   * With less space than this left for the data folder, starts and messages are refused: what runs needs it to end, and
   * the write-ahead log grows to 64 MiB before it is used again from its beginning. 0 never refuses.
   */
  lowWaterBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  historyEvents: 250_000,
  historyEventsSuggestContinue: 4_096,
  historyBytes: 64 * 1024 * 1024,
  payloadBytes: 2 * 1024 * 1024,
  turnBytes: 32 * 1024 * 1024,
  pendingPerRun: 2_000,
  signalsPerRun: 10_000,
  updatesInFlightPerRun: 10,
  updatesPerRun: 2_000,
  childDepth: 100,
  openDescendants: 10_000,
  childrenEndedAtOnce: 100,
  messagesSentAtOnce: 100,
  childStartsPerMinute: 100_000,
  continuationsPerMinute: 1_000,
  cachedRuns: 5_000,
  cachedBytes: 128 * 1024 * 1024,
  messageTimeoutMs: 30_000,
  listedKeys: 200_000,
  retentionMs: 7 * 24 * 3_600_000,
  retentionBatch: 50,
  lowWaterBytes: 128 * 1024 * 1024,
};

/** The bounds of the HTTP door: what one caller may cost before it is known who calls or what for. */
export interface HttpLimits {
  /** One request body; the same as one payload, so that what is let in can be stored. */
  bodyBytes: number;
  /** All bodies under way that are not small, so that reading them never fills the memory; the next one is told to come back (429). */
  bodiesBytes: number;
  /** Large answers that wait to be read; beyond, calls are told to come back (429), and who does not read is left. */
  answersBytes: number;
  /** Nesting of a body. JSON.stringify and structuredClone overflow the stack from some thousands on. */
  bodyDepth: number;
  /** Members and elements of a body, so that parsing it never holds up other calls for long. */
  bodyValues: number;
  /** Calls that wait for a run at a time, each a few kilobytes; the next one is told to come back (429). */
  waitingCalls: number;
  /** Calls with a wrong token that one address may make in a minute; the next one is told to come back (429). */
  wrongTokens: number;
  /** Open sockets; below the usual limit of file descriptors, so that the database can always open its files. */
  connections: number;
  /** Connections that the system has made and that wait to be taken; beyond, it lets clients try again after seconds. */
  backlog: number;
  /** Time for a whole request to arrive, so that slow senders cannot hold sockets. */
  requestTimeoutMs: number;
  /** Time for the headers alone. */
  headersTimeoutMs: number;
  /** A peer that takes nothing of its answer for this time is left. */
  stallMs: number;
  /** A peer that is silent for this time is asked by the system whether it is there, ten times in ten seconds. */
  peerProbeMs: number;
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
  bodiesBytes: 64 * 1024 * 1024,
  answersBytes: 128 * 1024 * 1024,
  bodyDepth: 100,
  bodyValues: 250_000,
  waitingCalls: 10_000,
  wrongTokens: 100,
  connections: 16_000,
  backlog: 8_192,
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  stallMs: 31_000,
  peerProbeMs: 60_000,
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
  /** How often those are looked for, and removals that are still owed. */
  expireEveryMs: number;
  /** Uploads and removals that failed and wait to be tried again, and as many removals that wait for their first try. */
  waitingRetries: number;
  /** After these an upload waits until somebody asks for the trace, and a removal until they are next looked for. */
  retries: number;
  /** Of those that nobody waits for, at the same time: each may hold a file and a connection for as long as a store hangs. */
  choresAtOnce: number;
  firstRetryMs: number;
  maxRetryMs: number;
  storeConnectTimeoutMs: number;
  /** Without a byte from the object store; an upload may take longer, by its size. */
  storeIdleTimeoutMs: number;
  /** After a failed upload, traces that nobody has asked for wait: one after the other would be held up by a store that hangs. */
  storeRestMs: number;
  /** One removal, one upload of a small trace, or the start of an answer, with all tries of the client. */
  storeTimeoutMs: number;
  /** An object beyond this is no trace: several times the largest history. */
  storedBytes: number;
  /** Space on the disk below which none is written: it can be made later, and the rest is for runs. 0: always. */
  lowWaterBytes: number;
  /** A local trace beyond this is not passed on to callers; they are told where the file is. */
  inlinedBytes: number;
  /** How long a caller who has waited for a run waits for its trace as well. */
  awaitedMs: number;
  /** How many of them do so at a time: traces are written one after the other, and beyond this nobody's would be in time. */
  awaitedAtOnce: number;
}

export const DEFAULT_TRACE_LIMITS: TraceLimits = {
  waitingRuns: 10_000,
  builtAtOnce: 2,
  eventsPerPage: 500,
  unwatchedFileMs: 7 * 86_400_000,
  expireEveryMs: 3_600_000,
  waitingRetries: 10_000,
  retries: 10,
  choresAtOnce: 8,
  firstRetryMs: 1_000,
  maxRetryMs: 300_000,
  storeConnectTimeoutMs: 3_000,
  storeIdleTimeoutMs: 10_000,
  storeRestMs: 60_000,
  storeTimeoutMs: 60_000,
  storedBytes: 256 * 1024 * 1024,
  lowWaterBytes: 128 * 1024 * 1024,
  inlinedBytes: 64 * 1024 * 1024,
  awaitedMs: 1_000,
  awaitedAtOnce: 16,
};

/** Part of the wire contract, so the same everywhere: how long a synchronous run or a result may be waited for. */
export const MAX_RUN_TIMEOUT_MS = 3_600_000;
export const DEFAULT_RUN_TIMEOUT_MS = 30_000;
export const MAX_RESULT_WAIT_MS = 60_000;
/** What a long poll of the history is cut to. */
export const MAX_LONG_POLL_MS = 60_000;

/** About how much of a history one page reads: a page of large events has fewer of them than were asked for. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** The same of what a stream reads at a time: its readers take it in small frames, and it is in memory until they have. */
export const STREAM_PAGE_BYTES = 1024 * 1024;

/** Issues listed in one answer; a reader does not act on more. */
export const MAX_ISSUES = 100;

/**
 * What holding one value against an author's schema may cost at the door, in steps of some tens of nanoseconds: a
 * body of the largest size against an ordinary schema passes, and nothing takes longer than about 100 ms.
 */
export const CHECK_STEPS = 2_500_000;

/** One schema of a workflow; larger ones come from a library that writes out shared parts again and again. */
export const MAX_SCHEMA_BYTES = 1024 * 1024;
export const MAX_SCHEMA_DEPTH = 200;
/** A whole catalog, which is answered in one piece. */
export const MAX_CATALOG_BYTES = 16 * 1024 * 1024;

/**
 * What one worker process is given at a time. As many turns as keep it busy while its answers travel: they run one after
 * the other. Steps mostly wait for others, and run beside each other; those that compute want fewer.
 */
export const DEFAULT_WORKER_SLOTS = { turns: 100, steps: 200 } as const;
/** More would only wait in the worker instead of in the queue, where another worker could take them. */
export const MAX_WORKER_SLOTS = 10_000;

/** What steps may say that they have spent, so that saying it never costs more than doing it. */
export const COST_LIMITS = {
  /** Of one attempt: one that calls a model a thousand times sums up by itself. */
  perAttempt: 1_000,
  /** Of one step over all its attempts; the oldest are summed up beyond, and nothing of an amount is lost. */
  perStep: 2_000,
  /** Of all that one attempt says, about: its outcome has to carry them. */
  bytesPerAttempt: 256 * 1024,
  /** Of one step over all its attempts, as `perStep`: one event carries them, and on Temporal each sign of life. */
  bytesPerStep: 512 * 1024,
  /** A kind is a label of a metric, so it is short. */
  kindLength: 50,
  labelLength: 200,
  /** Names of counts in one record that is said. */
  usageNames: 20,
  /** Names of counts in a record that stands for many. */
  usageNamesPerStep: 200,
  /** Names of counts in a sum over steps and runs. */
  usageNamesSummed: 1_000,
} as const;

/** How long an attempt may keep to itself what it has said: those who watch a long step see it about then. */
export const COST_DELAY_MS = 1_000;
