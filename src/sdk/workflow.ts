/** `workflow({…})`: the definition that workers run, callable inside another workflow as a child. */
import type { RetryOptions } from '../core/catalog.js';
import { type Duration, toMs } from '../core/duration.js';
import { isCatalogName, isWorkflowId } from '../core/names.js';
import { DEFAULT_STEP_RETRY } from '../core/retry.js';
import {
  brandWorkflow,
  checkDeclarations,
  checkFn,
  checkName,
  checkSchemas,
  type HandlerDeclarations,
  resolveRetry,
  resolveStepOptions,
  type StepOptions,
  type WorkflowDefinition,
} from './definition.js';
import { DefinitionError, UsageError } from './errors.js';
import { currentRuntime, type WorkflowInfo } from './runtime.js';
import { type InputOf, isPromise, type OutputOf, parse, type Schema } from './schema.js';
import { inCurrentScope } from './scope.js';

export interface WorkflowOptions {
  /** For all steps of the workflow; a step's own options win. */
  stepOptions?: StepOptions;
  /** The whole workflow may take this long, over retries and continue-as-new. */
  executionTimeout?: Duration;
  /** Starts the workflow again when it fails. Default: it is not. */
  retry?: RetryOptions;
  disableTrace?: boolean;
}

export interface WorkflowContext<Input = unknown> {
  readonly info: WorkflowInfo;
  readonly control: {
    /** Return what this gives: the run ends and a new one starts with `input` and an empty history. */
    continueAsNew(input: Input): never;
    /** Whether the history has become so long that continuing as new is a good idea. */
    isContinueAsNewSuggested(): boolean;
  };
}

export interface ChildOptions {
  /** Generated when absent. */
  workflowId?: string;
  /** The child outlives its parent; otherwise it is cancelled with it. */
  detached?: boolean;
  /** Where the child runs; the parent's own catalog when absent. */
  catalog?: string;
}

type ChildCall<Input> = unknown extends Input
  ? [input?: Input, options?: ChildOptions]
  : undefined extends Input
    ? [input?: Input, options?: ChildOptions]
    : [input: Input, options?: ChildOptions];

/** Call it inside another workflow's `fn` to run it as a child. */
export type Workflow<Input = unknown, Output = unknown> = (...args: ChildCall<Input>) => Promise<Output>;

interface WorkflowBase {
  name: string;
  description?: string;
  /** Other names that a caller may start it by. */
  aliases?: string[];
  signals?: HandlerDeclarations;
  queries?: HandlerDeclarations;
  updates?: HandlerDeclarations;
  options?: WorkflowOptions;
}
type Result<T> = T | Promise<T>;
type Given = WorkflowBase & {
  inputSchema?: Schema;
  outputSchema?: Schema;
  fn: (input: never, context: never) => unknown;
};

export function workflow<I extends Schema, O extends Schema>(
  definition: WorkflowBase & {
    inputSchema: I;
    outputSchema: O;
    fn: (input: OutputOf<I>, context: WorkflowContext<InputOf<I>>) => Result<InputOf<O>>;
  },
): Workflow<InputOf<I>, OutputOf<O>>;
export function workflow<I extends Schema, Output>(
  definition: WorkflowBase & {
    inputSchema: I;
    outputSchema?: undefined;
    fn: (input: OutputOf<I>, context: WorkflowContext<InputOf<I>>) => Result<Output>;
  },
): Workflow<InputOf<I>, Output>;
export function workflow<O extends Schema, Input = unknown>(
  definition: WorkflowBase & {
    inputSchema?: undefined;
    outputSchema: O;
    fn: (input: Input, context: WorkflowContext<Input>) => Result<InputOf<O>>;
  },
): Workflow<Input, OutputOf<O>>;
export function workflow<Input, Output>(
  definition: WorkflowBase & {
    inputSchema?: undefined;
    outputSchema?: undefined;
    fn: (input: Input, context: WorkflowContext<Input>) => Result<Output>;
  },
): Workflow<Input, Output>;
export function workflow(given: Given): Workflow<never, unknown> {
  if (typeof given !== 'object' || given === null) {
    throw new DefinitionError('workflow() needs its definition: workflow({ name, fn })');
  }
  const definition = define(given);
  const call = (input?: unknown, options: ChildOptions = {}) => startChild(definition.name, input, options);
  return brandWorkflow(call as Workflow<never, unknown>, definition);
}

function define(given: Given): WorkflowDefinition {
  const { name, description, signals, queries, updates, options = {} } = given;
  checkName('workflow', name);
  const what = `workflow "${name}"`;
  checkFn(what, given.fn);
  checkSchemas(what, given);
  const aliases = [...(given.aliases ?? [])];
  for (const alias of aliases) checkName(`alias of ${what}`, alias);
  const twice = [name, ...aliases].find((alias, at, all) => all.indexOf(alias) !== at);
  if (twice !== undefined)
    throw new DefinitionError(`${what} has the alias "${twice}" twice, or as its own name`);
  checkDeclarations(what, 'signal', signals);
  checkDeclarations(what, 'query', queries);
  checkDeclarations(what, 'update', updates);
  const executionTimeoutMs =
    options.executionTimeout === undefined
      ? undefined
      : toMs(options.executionTimeout, `executionTimeout of ${what}`);
  if (executionTimeoutMs === 0)
    throw new DefinitionError(`executionTimeout of ${what} is 0: nothing could finish`);
  return {
    name,
    description,
    inputSchema: given.inputSchema,
    outputSchema: given.outputSchema,
    aliases,
    signals,
    queries,
    updates,
    stepDefaults: resolveStepOptions(`stepOptions of ${what}`, options.stepOptions),
    executionTimeoutMs,
    // A workflow's attempts are unlimited unless the author bounds them, as everywhere in the field.
    retry: options.retry && {
      ...DEFAULT_STEP_RETRY,
      maximumAttempts: 0,
      ...resolveRetry(what, options.retry),
    },
    disableTrace: options.disableTrace === true,
    fn: given.fn,
  };
}

function startChild(workflowType: string, input: unknown, options: ChildOptions): Promise<unknown> {
  const { workflowId, catalog, detached = false } = options;
  const what = `workflow "${workflowType}"`;
  if (workflowId !== undefined && !isWorkflowId(workflowId)) {
    throw new UsageError(`${JSON.stringify(workflowId)} is not an id for ${what}: use 1 to 255 characters`);
  }
  if (catalog !== undefined && !isCatalogName(catalog)) {
    throw new UsageError(`${JSON.stringify(catalog)} is not a name of a catalog`);
  }
  const result = inCurrentScope(`calling ${what}`, (settle) =>
    currentRuntime(what).startChild({ workflowType, workflowId, catalog, input, detached }, settle),
  );
  // Nobody has to wait for a child that goes its own way.
  if (detached) result.catch(() => {});
  return result;
}

/** What `continueAsNew` gives to return; engines look for it in what `fn` returned. */
export class ContinueAsNew {
  constructor(readonly input: unknown) {}
}

/** The second argument of a workflow's `fn`. */
export function contextOf(definition: WorkflowDefinition): WorkflowContext {
  const runtime = currentRuntime('a workflow');
  return {
    get info() {
      return runtime.info();
    },
    control: {
      continueAsNew(input: unknown): never {
        // Only checked: the new run parses the input itself, and transforms must not be applied twice.
        const checked = parse(definition.inputSchema, input, `input of workflow "${definition.name}"`);
        if (isPromise(checked)) checked.catch(() => {});
        return new ContinueAsNew(input) as never;
      },
      isContinueAsNewSuggested: () => runtime.isContinueAsNewSuggested(),
    },
  };
}

/** The parsed input of a workflow, or a promise of it. @throws ValidationError */
export function parseInput(definition: WorkflowDefinition, input: unknown): unknown {
  return parse(definition.inputSchema, input, `input of workflow "${definition.name}"`);
}

/** The parsed output of a workflow, or a promise of it. @throws ValidationError */
export function parseOutput(definition: WorkflowDefinition, output: unknown): unknown {
  return parse(definition.outputSchema, output, `output of workflow "${definition.name}"`);
}
