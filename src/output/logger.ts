/** `Logger`: the same calls in workflows and in steps, each to the log of where it is. */
import { type LogLevel, log, type Logger as OwnLogger, stepContext } from '../sdk/index.js';
import { hasRuntime } from '../sdk/runtime.js';

type Say = (message: string, metadata?: Record<string, unknown>) => void;

export type Logger = Record<OutputLevel, Say> & {
  /** The same, with a namespace that every line carries. */
  createLogger(namespace: string): Logger;
};

/** Output's levels, and the level of perdure's log that each goes to. */
const LEVELS = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  http: 'debug',
  verbose: 'debug',
  debug: 'debug',
  silly: 'debug',
} as const satisfies Record<string, LogLevel>;

type OutputLevel = keyof typeof LEVELS;

/** What the log itself says of a line. */
const RESERVED: ReadonlySet<string> = new Set([
  'activityId',
  'activityType',
  'environment',
  'label',
  'level',
  'message',
  'metadata',
  'runId',
  'service',
  'splat',
  'stack',
  'timestamp',
  'workflowId',
  'workflowType',
]);

export const Logger: Logger = loggerOf({});

function loggerOf(common: Record<string, unknown>): Logger {
  const levels = Object.keys(LEVELS) as OutputLevel[];
  const says = levels.map((level): [OutputLevel, Say] => [
    level,
    (message, metadata = {}) => {
      const own = Object.entries(metadata).filter(([key]) => !RESERVED.has(key));
      currentLog()[LEVELS[level]](message, { ...common, ...Object.fromEntries(own) });
    },
  ]);
  return Object.freeze({
    ...(Object.fromEntries(says) as Record<OutputLevel, Say>),
    createLogger: (namespace: string) => loggerOf({ ...common, namespace }),
  });
}

/** Of the workflow, of the step, or of the program that calls a step as a plain function. */
function currentLog(): OwnLogger {
  if (hasRuntime()) return log;
  try {
    return stepContext().log;
  } catch {
    return console;
  }
}
