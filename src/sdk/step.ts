/** `step({…})`: a durable step when a workflow calls it, a plain function anywhere else. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { StepSettings } from '../core/history/event.js';
import { invariant } from '../core/invariant.js';
import { DEFAULT_START_TO_CLOSE_MS, DEFAULT_STEP_RETRY } from '../core/run/retry.js';
import { rememberStep } from './defined-steps.js';
import {
  brandStep,
  checkDefinition,
  checkDescription,
  checkFn,
  checkName,
  checkSchemas,
  type StepDefinition,
} from './definition.js';
import { UsageError } from './errors.js';
import type { CallInput, Exact, Fitting, Later, Result } from './inference.js';
import { checkOptions } from './options.js';
import { currentRuntime, hasRuntime, type StepDefaults } from './runtime.js';
import { parse, type Schema } from './schema.js';
import { inCurrentScope } from './scope.js';
import { runAsPlainFunction } from './step-context.js';
import { overridden, resolveStepOptions, type StepOptions } from './step-options.js';

/** Call it inside a workflow's `fn`, and it runs durably in a worker; call it in a plain test, and it just runs. */
export interface Step<Input = unknown, Output = unknown> {
  (...args: CallInput<Input>): Promise<Output>;
  /** The same step with other options, which win over its own: `charge.with({ startToCloseTimeout: '5m' })(input)`. */
  readonly with: (options: StepOptions) => Step<Input, Output>;
}

interface StepBase<Input, Parsed> {
  name: string;
  description?: string;
  inputSchema?: StandardSchemaV1<Input, Parsed>;
  options?: StepOptions;
}
type Fn<Parsed, Returned> = (input: Parsed) => Returned;

/** `fn` takes what comes out of the input's schema and returns what goes into that of the output. */
export function step<
  Parsed = unknown,
  Input = Parsed,
  Plain = unknown,
  Output = Plain,
  Wanted = unknown,
  const Returned extends Exact = never,
>(
  definition: StepBase<Input, Parsed> &
    (
      | ({ outputSchema: StandardSchemaV1<Wanted, Output>; fn: Fn<Parsed, Later<Returned>> } & Fitting<
          Wanted,
          Returned,
          Fn<Parsed, Promise<Wanted>>
        >)
      | { outputSchema?: undefined; fn: never }
    ),
): Step<Input, Output>;
export function step<
  Parsed = unknown,
  Input = Parsed,
  Plain = unknown,
  Output = Plain,
  Wanted = unknown,
  const Returned extends Exact = never,
>(
  definition: StepBase<Input, Parsed> &
    (
      | ({ outputSchema: StandardSchemaV1<Wanted, Output>; fn: Fn<Parsed, Result<Returned>> } & Fitting<
          Wanted,
          Returned,
          Fn<Parsed, Result<Wanted>>
        >)
      | { outputSchema?: undefined; fn: Fn<Parsed, Result<Plain>> }
    ),
): Step<Input, Output>;
export function step(
  definition: StepBase<unknown, unknown> & { outputSchema?: Schema; fn: (input: never) => unknown },
): Step {
  checkDefinition('step', definition);
  const { name, description, inputSchema, outputSchema, fn } = definition;
  checkName('a step', name);
  const what = `step "${name}"`;
  checkOptions(what, definition, DEFINITION);
  checkFn(what, fn);
  checkDescription(what, description);
  checkSchemas(what, definition);
  const options = resolveStepOptions(what, definition.options);
  const made: StepDefinition = { name, description, inputSchema, outputSchema, options, fn };
  rememberStep(made);
  return callable(made);
}

const DEFINITION = ['name', 'description', 'inputSchema', 'outputSchema', 'options', 'fn'];

/** The workflow side of a step: its name and options, without the code that workers run. */
export function stepReference(reference: { name: string; options?: StepOptions }): Step {
  checkName('a step', reference.name);
  return callable({
    name: reference.name,
    options: resolveStepOptions(`step "${reference.name}"`, reference.options),
  });
}

function callable(definition: StepDefinition): Step {
  let settings: StepSettings | undefined;
  let defaults: StepDefaults | undefined;
  const call = (input?: unknown): Promise<unknown> => {
    if (!hasRuntime() && !definition.fn) {
      throw new UsageError(
        `step "${definition.name}" was called while a workflow's file was being loaded: call it inside the workflow's fn`,
      );
    }
    if (!hasRuntime()) return runAsPlainFunction(definition.name, () => executeStep(definition, input));
    const runtime = currentRuntime(definition.name);
    // A workflow's steps share its defaults, so the merge is done once rather than with every call.
    if (settings === undefined || defaults !== runtime.stepDefaults) {
      defaults = runtime.stepDefaults;
      settings = mergeSettings(definition.options, defaults);
    }
    return scheduleStep(definition.name, input, settings, definition.options, defaults);
  };
  const withOptions = (options: StepOptions): Step => {
    const resolved = resolveStepOptions(`step "${definition.name}"`, options);
    return callable({ ...definition, options: overridden(definition.options, resolved) });
  };
  return brandStep(Object.assign(call, { with: withOptions }), definition);
}

function scheduleStep(
  name: string,
  input: unknown,
  settings: StepSettings,
  options: StepDefaults,
  defaults: StepDefaults,
): Promise<unknown> {
  const cancellationType = options.cancellationType ?? defaults.cancellationType ?? 'TRY_CANCEL';
  return inCurrentScope(`step "${name}"`, (settle) =>
    currentRuntime(name).scheduleStep({ name, input, settings, cancellationType }, settle),
  );
}

/** Schedules a step that the worker brings along, under the defaults of the calling workflow. */
export function callBuiltInStep(name: string, input: unknown, options: StepDefaults = {}): Promise<unknown> {
  const defaults = currentRuntime(`${name}()`).stepDefaults;
  return scheduleStep(name, input, mergeSettings(options, defaults), options, defaults);
}

/** The step's own options over its workflow's over the service's. */
export function mergeSettings(own: StepDefaults, workflow: StepDefaults): StepSettings {
  const { cancellationType: _, retry, ...timeouts } = { ...workflow, ...own };
  const merged = { ...DEFAULT_STEP_RETRY, ...workflow.retry, ...own.retry };
  // An author who only raises the first interval does not mean a policy that contradicts itself.
  merged.maximumIntervalMs = Math.max(merged.maximumIntervalMs, merged.initialIntervalMs);
  return { startToCloseTimeoutMs: DEFAULT_START_TO_CLOSE_MS, ...timeouts, retry: merged };
}

/**
 * Runs a step's code: parses its input, calls it, parses what it returns. For workers and plain tests.
 * @throws ValidationError, and whatever the step throws
 */
export async function executeStep(definition: StepDefinition, input: unknown): Promise<unknown> {
  return await executeParsed(definition, await parseStepInput(definition, input));
}

/** @throws ValidationError */
export async function parseStepInput(
  { name, inputSchema }: StepDefinition,
  input: unknown,
): Promise<unknown> {
  return await parse(inputSchema, input, `input of step "${name}"`);
}

/** Runs a step's code on what its schema has made of the input. @throws as `executeStep` */
export async function executeParsed(definition: StepDefinition, parsed: unknown): Promise<unknown> {
  invariant(definition.fn, `step "${definition.name}" is a reference, which has no code`);
  const output: unknown = await definition.fn(parsed as never);
  return await parse(definition.outputSchema, output, `output of step "${definition.name}"`);
}
