/** Where Temporal's own library says what it has to say: in our log, warnings and worse. */
import { DefaultLogger, type LogLevel, Runtime } from '@temporalio/worker';
import type { Log } from '../../core/log.js';

const LEVELS: Record<LogLevel, keyof Log> = {
  TRACE: 'debug',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Recorded in the history of the run, where its author looks for it. */
const RECORDED = /^(Activity failed|Workflow failed|Workflow completed)/;

/** Once per process, before anything else of the library is used. */
export function installRuntime(log: Log): void {
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) => {
    const { error, ...fields } = (meta ?? {}) as Record<string, unknown>;
    const said = { ...fields, ...(error !== undefined && { error: describe(error) }) };
    log[RECORDED.test(message) ? 'debug' : LEVELS[level]](said, `Temporal: ${message}`);
  });
  Runtime.install({
    logger,
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    // The end of the process is its supervisor's to decide.
    shutdownSignals: [],
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
