/** The options of steps as authors write them, and what the engine makes of them. */
import type { RetryOptions } from '../core/catalog.js';
import type { CancellationType } from '../core/history/event.js';
import type { RetryPolicy } from '../core/run/retry.js';
import { type Duration, toMs } from '../core/values/duration.js';
import { isWellFormed } from '../core/values/text.js';
import { DefinitionError } from './errors.js';
import { checkOptions } from './options.js';
import type { StepDefaults } from './runtime.js';

/** How an author sets up steps: one of them (`step({ options })`) or all of a workflow (`options.stepOptions`). */
export interface StepOptions {
  /** One attempt may take this long. Default 20 minutes. */
  startToCloseTimeout?: Duration;
  /** All attempts together may take this long. Default no limit. */
  scheduleToCloseTimeout?: Duration;
  /** An attempt may wait this long for a worker. Default no limit. */
  scheduleToStartTimeout?: Duration;
  /** An attempt that does not call `heartbeat` for this long has failed. Default no limit. */
  heartbeatTimeout?: Duration;
  /** Default: 3 attempts, 1 s apart and doubling up to 1 minute. */
  retry?: RetryOptions;
  /** What cancelling means to the caller: TRY_CANCEL (default), WAIT_CANCELLATION_COMPLETED or ABANDON. */
  cancellationType?: CancellationType;
}

const CANCELLATION_TYPES: readonly unknown[] = ['TRY_CANCEL', 'WAIT_CANCELLATION_COMPLETED', 'ABANDON'];
const RETRY_OPTIONS = [
  'initialInterval',
  'backoffCoefficient',
  'maximumInterval',
  'maximumAttempts',
  'nonRetryableErrorTypes',
];
const TIMEOUTS = {
  startToCloseTimeout: 'startToCloseTimeoutMs',
  scheduleToCloseTimeout: 'scheduleToCloseTimeoutMs',
  scheduleToStartTimeout: 'scheduleToStartTimeoutMs',
  heartbeatTimeout: 'heartbeatTimeoutMs',
} as const;
const STEP_OPTIONS = [...Object.keys(TIMEOUTS), 'retry', 'cancellationType'];

/** Options with durations in milliseconds; what the author left out stays out, so that wider defaults can fill it. */
export function resolveStepOptions(what: string, options: StepOptions | undefined): StepDefaults {
  const resolved: StepDefaults = {};
  if (options === undefined) return resolved;
  checkOptions(what, options, STEP_OPTIONS);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (key in TIMEOUTS) {
      const ms = toMs(value as Duration, `${key} of ${what}`);
      if (ms === 0) throw new DefinitionError(`${key} of ${what} is 0: nothing could ever finish in time`);
      resolved[TIMEOUTS[key as keyof typeof TIMEOUTS]] = ms;
    } else if (key === 'retry') {
      resolved.retry = resolveRetry(what, value as RetryOptions);
    } else {
      if (!CANCELLATION_TYPES.includes(value)) {
        throw new DefinitionError(
          `cancellationType of ${what} is ${JSON.stringify(value)}: use one of ${CANCELLATION_TYPES.join(', ')}`,
        );
      }
      resolved.cancellationType = value as CancellationType;
    }
  }
  return resolved;
}

export function resolveRetry(what: string, retry: RetryOptions): Partial<RetryPolicy> {
  const resolved: Partial<RetryPolicy> = {};
  checkOptions(`retry of ${what}`, retry, RETRY_OPTIONS);
  for (const [key, value] of Object.entries(retry)) {
    if (value === undefined) continue;
    const label = `retry.${key} of ${what}`;
    switch (key) {
      case 'initialInterval':
        resolved.initialIntervalMs = toMs(value, label);
        break;
      case 'maximumInterval':
        resolved.maximumIntervalMs = toMs(value, label);
        break;
      case 'backoffCoefficient':
        if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) {
          throw new DefinitionError(`${label} is ${String(value)}: use a number of 1 or more`);
        }
        resolved.backoffCoefficient = value;
        break;
      case 'maximumAttempts':
        if (value === Number.POSITIVE_INFINITY) resolved.maximumAttempts = 0;
        else if (Number.isInteger(value) && value >= 0) resolved.maximumAttempts = value;
        else throw new DefinitionError(`${label} is ${String(value)}: use a whole number, or 0 for no limit`);
        break;
      case 'nonRetryableErrorTypes':
        if (!Array.isArray(value) || value.some((type) => typeof type !== 'string' || !isWellFormed(type))) {
          throw new DefinitionError(
            `${label} must be a list of error names, without halves of surrogate pairs`,
          );
        }
        resolved.nonRetryableErrorTypes = [...(value as string[])];
        break;
    }
  }
  const { initialIntervalMs, maximumIntervalMs } = resolved;
  if (
    initialIntervalMs !== undefined &&
    maximumIntervalMs !== undefined &&
    maximumIntervalMs < initialIntervalMs
  ) {
    throw new DefinitionError(`retry of ${what}: maximumInterval is shorter than initialInterval`);
  }
  return resolved;
}

/** `options` over `own`, as far as they say something. */
export function overridden(own: StepDefaults, options: StepDefaults): StepDefaults {
  const retry = own.retry || options.retry ? { ...own.retry, ...options.retry } : undefined;
  return { ...own, ...options, ...(retry && { retry }) };
}
