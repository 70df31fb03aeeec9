/**
 * A failure is failing user code as data: it lives in the history, crosses processes and becomes an error again
 * in the workflow that waits for it. It is never thrown itself and never carries a live object.
 *
 * Its texts are bounded and well-formed, whoever threw: every failure is kept in a history and may leave for a cluster.
 */
import { cut, toWellFormed } from '../values/text.js';

/** As they were before any user code was there to replace them. */
const { stringify, parse } = JSON;

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

/** Longer messages and traces say nothing more to a reader, and every failure is kept in a history. */
export const MAX_MESSAGE_LENGTH = 20_000;
export const MAX_STACK_LENGTH = 10_000;
/** A trace begins with the message, which must not take the place of the frames. */
const MAX_MESSAGE_IN_STACK = 1_000;
const MAX_TYPE_LENGTH = 200;
/** Of all properties together, as JSON; a tenth of what one value may take. */
const MAX_PROPERTIES_LENGTH = 200_000;

/** Deeper causes say nothing a reader acts on, and a loop of causes must end. */
export const MAX_CAUSE_DEPTH = 10;

const OWN = new Set(['name', 'message', 'stack', 'cause', 'nonRetryable', 'failure', '__proto__']);

/** Describes anything that was thrown. Never throws itself: a failure must always be reportable. */
export function toFailure(thrown: unknown, depth = 0): Failure {
  if (typeof thrown !== 'object' || thrown === null) {
    return { kind: 'application', type: 'Error', message: messageOf(describe(thrown)) };
  }
  // An error that came out of a failure goes back as that failure, unless the author changed it.
  const read = (key: string): unknown => attempt(() => (thrown as Record<string, unknown>)[key]);
  const text = (key: string): string | undefined => nonEmptyText(read(key));
  const kind = read('failureKind');
  const original = read('message');
  const failure: Failure = {
    kind: isFailureKind(kind) ? kind : 'application',
    // What came out of a failure has that failure's name, which is not that of the class it came back as.
    type: isFailureKind(kind) ? label(text('name') ?? 'Error') : typeOf(text('name'), read('constructor')),
    message: messageOf(typeof original === 'string' ? original : describe(thrown)),
  };
  const stack = text('stack');
  if (stack !== undefined) failure.stackTrace = stackOf(stack, text('message'));
  if (read('nonRetryable') === true) failure.nonRetryable = true;
  const activityType = text('activityType');
  if (activityType !== undefined) failure.activityType = label(activityType);
  const attemptNumber = read('attempt');
  if (Number.isSafeInteger(attemptNumber)) failure.attempt = attemptNumber as number;
  const timeoutType = text('timeoutType');
  if (timeoutType !== undefined) failure.timeoutType = label(timeoutType);
  const properties = ownJsonProperties(thrown);
  if (properties) failure.properties = properties;
  const cause = read('cause');
  if (cause !== undefined && cause !== null && depth + 1 < MAX_CAUSE_DEPTH) {
    failure.cause = toFailure(cause, depth + 1);
  }
  return failure;
}

/** What `ask` gives, or undefined when user code in its way throws. */
function attempt<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const messageOf = (text: string): string => toWellFormed(cut(text, MAX_MESSAGE_LENGTH));
const label = (text: string): string => toWellFormed(cut(text, MAX_TYPE_LENGTH));

function typeOf(name: string | undefined, type: unknown): string {
  if (name !== undefined && name !== 'Error') return label(name);
  const className = nonEmptyText(attempt(() => (type as { name?: unknown } | undefined)?.name));
  return className === undefined || className === 'Object' ? 'Error' : label(className);
}

function stackOf(stack: string, message: string | undefined): string {
  const at = message === undefined ? -1 : stack.indexOf(message);
  const header =
    message !== undefined && at >= 0
      ? `${stack.slice(0, at)}${cut(message, MAX_MESSAGE_IN_STACK)}${stack.slice(at + message.length)}`
      : stack;
  return toWellFormed(cut(header, MAX_STACK_LENGTH));
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

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return attempt(() => String(value)) ?? UNKNOWN;
  return attempt(() => jsonOf(value)) ?? attempt(() => Object.prototype.toString.call(value)) ?? UNKNOWN;
}

const UNKNOWN = 'something was thrown that cannot be described';

/** What is circular in it is named in its place. */
function jsonOf(value: unknown): string | undefined {
  const ancestors: unknown[] = [];
  return stringify(value, function replaced(this: unknown, _key, part: unknown) {
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop();
    if (typeof part !== 'object' || part === null) return part;
    if (ancestors.includes(part)) return '[circular]';
    ancestors.push(part);
    return part;
  });
}

function ownJsonProperties(error: object): Record<string, unknown> | undefined {
  let found: Record<string, unknown> | undefined;
  let length = 0;
  for (const key of attempt(() => Object.keys(error)) ?? []) {
    if (OWN.has(key) || CARRIED.has(key)) continue;
    // A property that JSON cannot carry is not worth losing the failure for.
    const text = attempt(() => jsonOf((error as Record<string, unknown>)[key]));
    if (text === undefined || length + key.length + text.length > MAX_PROPERTIES_LENGTH) continue;
    length += key.length + text.length;
    found ??= {};
    found[key] = parse(text);
  }
  return found;
}
