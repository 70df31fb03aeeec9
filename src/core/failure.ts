/**
 * A failure is failing user code as data: it lives in the history, crosses processes and becomes an error again
 * in the workflow that waits for it. It is never thrown itself and never carries a live object.
 */

/** What went wrong, in the words of the field. */
export type FailureKind = 'application' | 'cancelled' | 'terminated' | 'timeout' | 'step' | 'child';

export interface Failure {
  kind: FailureKind;
  /** The class name of the original error; `CancelledError`, `TimeoutError`, `TerminatedError` for those kinds. */
  type: string;
  message: string;
  stackTrace?: string;
  /** Never retried, whatever the policy says. */
  nonRetryable?: boolean;
  /** Own enumerable JSON properties of the original error, such as `code`. */
  properties?: Record<string, unknown>;
  /** `workflow#step`, when a step failed. */
  activityType?: string;
  /** The step's attempt that gave this failure. */
  attempt?: number;
  timeoutType?: string;
  cause?: Failure;
}

const TIMEOUT_OPTION = {
  START_TO_CLOSE: 'startToCloseTimeout',
  SCHEDULE_TO_START: 'scheduleToStartTimeout',
  SCHEDULE_TO_CLOSE: 'scheduleToCloseTimeout',
  HEARTBEAT: 'heartbeatTimeout',
} as const;

/** What the failure of a step that took too long says, by the option that the author knows. */
export function stepTimeoutMessage(
  activityType: string,
  timeoutType: keyof typeof TIMEOUT_OPTION,
  timeoutMs: number,
): string {
  return `step ${activityType} exceeded its ${TIMEOUT_OPTION[timeoutType]} of ${timeoutMs} ms`;
}

/** Deeper causes say nothing a reader acts on, and a loop of causes must end. */
export const MAX_CAUSE_DEPTH = 10;

const OWN = new Set(['name', 'message', 'stack', 'cause', 'nonRetryable', 'failure']);

/** Describes anything that was thrown. Never throws itself: a failure must always be reportable. */
export function toFailure(thrown: unknown, depth = 0): Failure {
  if (typeof thrown !== 'object' || thrown === null) {
    return { kind: 'application', type: 'Error', message: String(thrown) };
  }
  // An error that came out of a failure goes back as that failure, unless the author changed it.
  const error = thrown as Record<string, unknown> & { name?: unknown; message?: unknown; stack?: unknown };
  const failure: Failure = {
    kind: isFailureKind(error.failureKind) ? error.failureKind : 'application',
    type: typeof error.name === 'string' && error.name !== '' ? error.name : 'Error',
    message: typeof error.message === 'string' ? error.message : describe(thrown),
  };
  if (failure.type === 'Error' && thrown.constructor?.name && thrown.constructor.name !== 'Object') {
    failure.type = thrown.constructor.name;
  }
  if (typeof error.stack === 'string') failure.stackTrace = error.stack;
  if (error.nonRetryable === true) failure.nonRetryable = true;
  if (typeof error.activityType === 'string') failure.activityType = error.activityType;
  if (typeof error.attempt === 'number') failure.attempt = error.attempt;
  if (typeof error.timeoutType === 'string') failure.timeoutType = error.timeoutType;
  const properties = ownJsonProperties(error);
  if (properties) failure.properties = properties;
  if (error.cause !== undefined && error.cause !== null && depth + 1 < MAX_CAUSE_DEPTH) {
    failure.cause = toFailure(error.cause, depth + 1);
  }
  return failure;
}

const KINDS: ReadonlySet<string> = new Set<FailureKind>([
  'application',
  'cancelled',
  'terminated',
  'timeout',
  'step',
  'child',
]);
const CARRIED = new Set(['failureKind', 'activityType', 'attempt', 'timeoutType']);

function isFailureKind(value: unknown): value is FailureKind {
  return typeof value === 'string' && KINDS.has(value);
}

function describe(value: object): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function ownJsonProperties(error: object): Record<string, unknown> | undefined {
  let found: Record<string, unknown> | undefined;
  for (const key of Object.keys(error)) {
    if (OWN.has(key) || CARRIED.has(key)) continue;
    try {
      const text = JSON.stringify((error as Record<string, unknown>)[key]);
      if (text === undefined) continue;
      found ??= {};
      found[key] = JSON.parse(text);
    } catch {
      // A property that JSON cannot carry is not worth losing the failure for.
    }
  }
  return found;
}
