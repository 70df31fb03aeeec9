/** `workflow({…})`: the definition that workers run, callable inside another workflow as a child. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { RetryOptions } from '../core/catalog.js';
import { DEFAULT_STEP_RETRY, type RetryPolicy } from '../core/run/retry.js';
import { type Duration, toMs } from '../core/values/duration.js';
import { isCatalogName, isWorkflowId, WORKFLOW_ID_RULE } from '../core/values/names.js';
import {
  brandWorkflow,
  checkDeclarations,
  checkDefinition,
  checkDescription,
  checkFn,
  checkName,
  checkSchemas,
  checkSwitch,
  type HandlerDeclarations,
  type WorkflowDefinition,
} from './definition.js';
import { DefinitionError, UsageError } from './errors.js';
import type { CallInput, Exact, Fitting, Later, Result } from './inference.js';
import { LiveProperty } from './live-property.js';
import { checkOptions } from './options.js';
import { currentRuntime, hasRuntime, type WorkflowInfo } from './runtime.js';
import { checkValue, isPromise, parse, type Schema } from './schema.js';
import { inCurrentScope } from './scope.js';
import { resolveRetry, resolveStepOptions, type StepOptions } from './step-options.js';

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
    readonly continueAsNew: (input: Input) => never;
    /** Whether the history has become so long that continuing as new is a good idea. */
    readonly isContinueAsNewSuggested: () => boolean;
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

type ChildCall<Input> = [...CallInput<Input>, options?: ChildOptions];

/** The messages that a definition declares: what callers and `defineSignal(workflow, name)` know of them. */
export interface DeclaredMessages {
  readonly signals: HandlerDeclarations;
  readonly queries: HandlerDeclarations;
  readonly updates: HandlerDeclarations;
}

/** Call it inside another workflow's `fn` to run it as a child. */
export interface Workflow<
  Input = unknown,
  Output = unknown,
  Messages extends DeclaredMessages = DeclaredMessages,
> {
  (...args: ChildCall<Input>): Promise<Output>;
  /** For the type checker only. */
  readonly '~messages'?: Messages;
}

interface WorkflowBase<Input, Parsed, S, Q, U> {
  name: string;
  description?: string;
  inputSchema?: StandardSchemaV1<Input, Parsed>;
  /** Other names that a caller may start it by. */
  aliases?: string[];
  signals?: S;
  queries?: Q;
  updates?: U;
  options?: WorkflowOptions;
}
type Fn<Input, Parsed, Returned> = (input: Parsed, context: WorkflowContext<Input>) => Returned;
type Given = WorkflowBase<unknown, unknown, HandlerDeclarations, HandlerDeclarations, HandlerDeclarations> & {
  outputSchema?: Schema;
  fn: (input: never, context: never) => unknown;
};

/** `fn` takes what comes out of the input's schema and returns what goes into that of the output. */
export function workflow<
  Parsed = unknown,
  Input = Parsed,
  Plain = unknown,
  Output = Plain,
  Wanted = unknown,
  const Returned extends Exact = never,
  S extends HandlerDeclarations = HandlerDeclarations,
  Q extends HandlerDeclarations = HandlerDeclarations,
  U extends HandlerDeclarations = HandlerDeclarations,
>(
  definition: WorkflowBase<Input, Parsed, S, Q, U> &
    (
      | ({ outputSchema: StandardSchemaV1<Wanted, Output>; fn: Fn<Input, Parsed, Later<Returned>> } & Fitting<
          Wanted,
          Returned,
          Fn<Input, Parsed, Promise<Wanted>>
        >)
      | { outputSchema?: undefined; fn: never }
    ),
): Workflow<Input, Output, { signals: S; queries: Q; updates: U }>;
export function workflow<
  Parsed = unknown,
  Input = Parsed,
  Plain = unknown,
  Output = Plain,
  Wanted = unknown,
  const Returned extends Exact = never,
  S extends HandlerDeclarations = HandlerDeclarations,
  Q extends HandlerDeclarations = HandlerDeclarations,
  U extends HandlerDeclarations = HandlerDeclarations,
>(
  definition: WorkflowBase<Input, Parsed, S, Q, U> &
    (
      | ({
          outputSchema: StandardSchemaV1<Wanted, Output>;
          fn: Fn<Input, Parsed, Result<Returned>>;
        } & Fitting<Wanted, Returned, Fn<Input, Parsed, Result<Wanted>>>)
      | { outputSchema?: undefined; fn: Fn<Input, Parsed, Result<Plain>> }
    ),
): Workflow<Input, Output, { signals: S; queries: Q; updates: U }>;
export function workflow(given: Given): Workflow<never, unknown> {
  checkDefinition('workflow', given);
  const definition = define(given);
  const call = (input?: unknown, options: ChildOptions = {}) => {
    if (!hasRuntime()) {
      throw new UsageError(
        `workflow "${definition.name}" was called outside a workflow: only another workflow's fn can call it, as its child. In a test use createTestEnvironment() of "perdure/testing" (env.run(${definition.name}, input)); in a program start it over the API`,
      );
    }
    return startChild(definition.name, input, options);
  };
  return brandWorkflow(call as Workflow<never, unknown>, definition);
}

function define(given: Given): WorkflowDefinition {
  const { name, description, signals, queries, updates, options = {} } = given;
  checkName('a workflow', name);
  const what = `workflow "${name}"`;
  checkOptions(what, given, DEFINITION);
  checkOptions(`options of ${what}`, options, OPTIONS);
  checkFn(what, given.fn);
  checkSchemas(what, given);
  checkDescription(what, description);
  checkSwitch(`disableTrace of ${what}`, options.disableTrace);
  const aliases = aliasesOf(what, given.aliases);
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
    retry: options.retry && retryOf(resolveRetry(what, options.retry)),
    disableTrace: options.disableTrace === true,
    fn: given.fn,
  };
}

function aliasesOf(what: string, given: unknown = []): readonly string[] {
  if (!Array.isArray(given)) throw new DefinitionError(`aliases of ${what} must be a list of names`);
  for (const alias of given) checkName(`an alias of ${what}`, alias);
  return [...given];
}

function retryOf(given: Partial<RetryPolicy>): RetryPolicy {
  const retry = { ...DEFAULT_STEP_RETRY, maximumAttempts: 0, ...given };
  // As with steps: an author who only raises the first interval does not mean a policy that contradicts itself.
  return { ...retry, maximumIntervalMs: Math.max(retry.maximumIntervalMs, retry.initialIntervalMs) };
}

const DEFINITION = [
  'name',
  'description',
  'inputSchema',
  'outputSchema',
  'aliases',
  'signals',
  'queries',
  'updates',
  'options',
  'fn',
];
const OPTIONS = ['stepOptions', 'executionTimeout', 'retry', 'disableTrace'];
const CHILD_OPTIONS = ['workflowId', 'detached', 'catalog'];

function startChild(workflowType: string, input: unknown, options: ChildOptions): Promise<unknown> {
  const what = `workflow "${workflowType}"`;
  checkOptions(`the call of ${what}`, options, CHILD_OPTIONS);
  const { workflowId, catalog, detached = false } = options;
  checkSwitch(`detached of the call of ${what}`, detached);
  if (workflowId !== undefined && !isWorkflowId(workflowId)) {
    throw new UsageError(`${JSON.stringify(workflowId)} is not an id for ${what}: use ${WORKFLOW_ID_RULE}`);
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

export const CONTEXT_INFO = new LiveProperty<'info', WorkflowInfo>('info');

/** The second argument of a workflow's `fn`. */
export function contextOf({ name, inputSchema }: WorkflowDefinition): WorkflowContext {
  const runtime = currentRuntime('a workflow');
  const control = {
    continueAsNew(input: unknown): never {
      // Only checked: the new run parses the input itself, and transforms must not be applied twice.
      checkValue(inputSchema, input, `input of workflow "${name}"`);
      return new ContinueAsNew(input) as never;
    },
    isContinueAsNewSuggested: () => runtime.isContinueAsNewSuggested(),
  };
  return Object.assign(
    CONTEXT_INFO.addTo({}, () => runtime.info()),
    { control },
  );
}

/**
 * The parsed input of a workflow, or a promise of it. A caller of the API cannot leave it out, and gives null: that is none where
 * the schema takes none, and not null. @throws ValidationError
 */
export function parseInput({ name, inputSchema }: WorkflowDefinition, input: unknown): unknown {
  const parsed = (value: unknown) => parse(inputSchema, value, `input of workflow "${name}"`);
  if (input !== null) return parsed(input);
  return orElse(
    () => parsed(null),
    (error) =>
      orElse(
        () => parsed(undefined),
        () => {
          throw error;
        },
      ),
  );
}

/** What the work gives or, where it fails, what `instead` does; at once where the work does. */
function orElse(work: () => unknown, instead: (error: unknown) => unknown): unknown {
  try {
    const given = work();
    return isPromise(given) ? given.catch(instead) : given;
  } catch (error) {
    return instead(error);
  }
}

/** The parsed output of a workflow, or a promise of it. @throws ValidationError */
export function parseOutput(definition: WorkflowDefinition, output: unknown): unknown {
  return parse(definition.outputSchema, output, `output of workflow "${definition.name}"`);
}
