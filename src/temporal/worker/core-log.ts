/** Where Temporal's own library says what it has to say: in our log, warnings and worse. */
import { DefaultLogger, type LogEntry, type LogLevel, Runtime } from '@temporalio/worker';
import { toFailure } from '../../core/history/failure.js';
import type { Log } from '../../core/log.js';
import { BoundedMap } from '../cluster/bounded-map.js';

const LEVELS: Record<LogLevel, keyof Log> = {
  TRACE: 'debug',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Recorded in the history of the run, where its author looks for it. */
const RECORDED = /^(Activity failed|Workflow failed|Workflow completed)/;

/** A turn could not be made, so its run is held back: the library says so, and then its core. */
const TURN_FAILED = /^(Failed to process Workflow Activation|Failing workflow task)/;

/** The cluster gives a failed turn out again within ten minutes; one that comes later is another one. */
const SAME_FAILURE_MS = 30 * 60_000;
const MAX_HELD_BACK = 1_000;

/** Once per process, before anything else of the library is used. */
export function installRuntime(log: Log): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', libraryLines(log)),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    // The end of the process is its supervisor's to decide.
    shutdownSignals: [],
  });
}

/** A failed turn is tried again and again; the log has it once, until it fails in another way. */
export function libraryLines(log: Log, now: () => number = Date.now): (entry: LibraryLine) => void {
  const heldBack = new BoundedMap<string, { reason: string; at: number }>(MAX_HELD_BACK);
  const isRepeated = (message: string, { runId, run_id: coresRunId, error, failure }: Fields) => {
    const key = `${message} ${runId ?? coresRunId}`;
    const reason = error === undefined ? String(failure) : described(error);
    const before = heldBack.get(key);
    heldBack.set(key, { reason, at: now() });
    return before?.reason === reason && now() - before.at < SAME_FAILURE_MS;
  };
  return ({ level, message, meta }) => {
    const { error, ...fields } = (meta ?? {}) as Fields;
    const said = { ...fields, ...(error !== undefined && { error: described(error) }) };
    const isKnown =
      RECORDED.test(message) || (TURN_FAILED.test(message) && isRepeated(message, { ...fields, error }));
    log[isKnown ? 'debug' : LEVELS[level]](said, `Temporal: ${message}`);
  };
}

type LibraryLine = Pick<LogEntry, 'level' | 'message' | 'meta'>;
type Fields = Record<string, unknown>;

function described(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : toFailure(error).message;
}
