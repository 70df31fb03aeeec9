/**
 * What `workflow({…})` and `step({…})` hold, and how a process that loads files finds it.
 *
 * Definitions are found by a registered symbol rather than by class, since two instances of this package can be
 * loaded side by side (the service's own and the project's).
 */
import type { RetryOptions } from '../core/catalog.js';
import { type Duration, toMs } from '../core/duration.js';
import type { CancellationType } from '../core/event.js';
import { isName, MAX_NAME_LENGTH } from '../core/names.js';
import type { RetryPolicy } from '../core/retry.js';
import { DefinitionError } from './errors.js';
import type { StepDefaults } from './runtime.js';
import { isSchema, type Schema } from './schema.js';

const WORKFLOW = Symbol.for('perdure.workflow');
const STEP = Symbol.for('perdure.step');

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

export interface HandlerDeclaration {
  description?: string;
  inputSchema?: Schema;
  outputSchema?: Schema;
}
export type HandlerDeclarations = Record<string, HandlerDeclaration>;

export interface StepDefinition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly options: StepDefaults;
  /** Absent in a reference: the workflow side of a step knows its name and options only. */
  readonly fn?: (input: never) => unknown;
}

export interface WorkflowDefinition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly aliases: readonly string[];
  /** Undefined when the definition declares none, so that any name is accepted. */
  readonly signals?: HandlerDeclarations;
  readonly queries?: HandlerDeclarations;
  readonly updates?: HandlerDeclarations;
  readonly stepDefaults: StepDefaults;
  readonly executionTimeoutMs?: number;
  readonly retry?: RetryPolicy;
  readonly disableTrace: boolean;
  readonly fn: (input: never, context: never) => unknown;
}

/** The definition that `value` carries, when it came from `workflow({…})`. */
export function workflowDefinition(value: unknown): WorkflowDefinition | undefined {
  return carried(value, WORKFLOW) as WorkflowDefinition | undefined;
}

/** The definition that `value` carries, when it came from `step({…})`. */
export function stepDefinition(value: unknown): StepDefinition | undefined {
  return carried(value, STEP) as StepDefinition | undefined;
}

function carried(value: unknown, brand: symbol): unknown {
  return typeof value === 'function' ? (value as unknown as Record<symbol, unknown>)[brand] : undefined;
}

export function brandWorkflow<F extends object>(callable: F, definition: WorkflowDefinition): F {
  return brand(callable, WORKFLOW, definition);
}

export function brandStep<F extends object>(callable: F, definition: StepDefinition): F {
  return brand(callable, STEP, definition);
}

function brand<F extends object>(callable: F, symbol: symbol, definition: { name: string }): F {
  Object.defineProperty(callable, symbol, { value: Object.freeze(definition) });
  Object.defineProperty(callable, 'name', { value: definition.name });
  return Object.freeze(callable);
}

export function checkName(kind: string, name: unknown): asserts name is string {
  if (isName(name)) return;
  throw new DefinitionError(
    `${JSON.stringify(name) ?? String(name)} is not a name for a ${kind}: use letters, digits and _, not starting with a digit, at most ${MAX_NAME_LENGTH} characters`,
  );
}

export function checkFn(what: string, fn: unknown): void {
  if (typeof fn !== 'function') throw new DefinitionError(`${what} needs fn, a function`);
}

export function checkSchemas(
  what: string,
  definition: { inputSchema?: unknown; outputSchema?: unknown },
): void {
  for (const key of ['inputSchema', 'outputSchema'] as const) {
    const schema = definition[key];
    if (schema !== undefined && !isSchema(schema)) {
      throw new DefinitionError(
        `${key} of ${what} is not a schema: pass a zod schema or another Standard Schema`,
      );
    }
  }
}

export function checkDeclarations(
  what: string,
  kind: string,
  declarations: HandlerDeclarations | undefined,
): void {
  for (const [name, declaration] of Object.entries(declarations ?? {})) {
    if (typeof declaration !== 'object' || declaration === null) {
      throw new DefinitionError(
        `${kind} "${name}" of ${what} is declared as ${String(declaration)}: use { description?, inputSchema?, outputSchema? }`,
      );
    }
    checkSchemas(`${kind} "${name}" of ${what}`, declaration);
  }
}

const CANCELLATION_TYPES: readonly unknown[] = ['TRY_CANCEL', 'WAIT_CANCELLATION_COMPLETED', 'ABANDON'];
const TIMEOUTS = {
  startToCloseTimeout: 'startToCloseTimeoutMs',
  scheduleToCloseTimeout: 'scheduleToCloseTimeoutMs',
  scheduleToStartTimeout: 'scheduleToStartTimeoutMs',
  heartbeatTimeout: 'heartbeatTimeoutMs',
} as const;

/** Options with durations in milliseconds; what the author left out stays out, so that wider defaults can fill it. */
export function resolveStepOptions(what: string, options: StepOptions | undefined): StepDefaults {
  const resolved: StepDefaults = {};
  if (options === undefined) return resolved;
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (key in TIMEOUTS) {
      const ms = toMs(value as Duration, `${key} of ${what}`);
      if (ms === 0) throw new DefinitionError(`${key} of ${what} is 0: nothing could ever finish in time`);
      resolved[TIMEOUTS[key as keyof typeof TIMEOUTS]] = ms;
    } else if (key === 'retry') {
      resolved.retry = resolveRetry(what, value as RetryOptions);
    } else if (key === 'cancellationType') {
      if (!CANCELLATION_TYPES.includes(value)) {
        throw new DefinitionError(
          `cancellationType of ${what} is ${JSON.stringify(value)}: use one of ${CANCELLATION_TYPES.join(', ')}`,
        );
      }
      resolved.cancellationType = value as CancellationType;
    } else {
      throw new DefinitionError(`${what} has an unknown option "${key}"`);
    }
  }
  return resolved;
}

export function resolveRetry(what: string, retry: RetryOptions): Partial<RetryPolicy> {
  const resolved: Partial<RetryPolicy> = {};
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
        if (!Array.isArray(value) || value.some((type) => typeof type !== 'string')) {
          throw new DefinitionError(`${label} must be a list of error names`);
        }
        resolved.nonRetryableErrorTypes = [...(value as string[])];
        break;
      default:
        throw new DefinitionError(`${what} has an unknown retry option "${key}"`);
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
