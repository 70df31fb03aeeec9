/**
 * `workflow`, `step` and `evaluator` as Output's authors write them. They make the definitions of perdure, so everything
 * that knows those works with them.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { brandWorkflow, checkDefinition, checkFn, workflowDefinition } from '../sdk/definition.js';
import {
  type ChildOptions,
  type HandlerDeclarations,
  type Schema,
  type Step,
  type StepOptions,
  step as sdkStep,
  workflow as sdkWorkflow,
  UsageError,
  type Workflow,
  type WorkflowContext,
  type WorkflowOptions,
} from '../sdk/index.js';
import type { Exact, Fitting, Later } from '../sdk/inference.js';
import { ContinueAsNew } from '../sdk/workflow.js';
import { throughTransparent } from './errors.js';
import { checkResult, type EvaluationResult } from './evaluation.js';
import { type ActivityOptionsHolder, stepOptionsOf } from './options.js';

// biome-ignore lint/suspicious/noExplicitAny: without a schema the input is what the author says it is
type Unchecked = any;

/** The options of a workflow: those of all its steps under `activityOptions`. Perdure's own work as well. */
export interface OutputWorkflowOptions extends WorkflowOptions {
  activityOptions?: StepOptions;
}

interface Defined<Input, Parsed, Options> {
  name: string;
  description?: string;
  inputSchema?: StandardSchemaV1<Input, Parsed>;
  options?: Options;
}

interface WorkflowBase<Input, Parsed, S, Q, U> extends Defined<Input, Parsed, OutputWorkflowOptions> {
  aliases?: string[];
  signals?: S;
  queries?: Q;
  updates?: U;
}

type WorkflowFn<Input, Parsed, Returned> = (input: Parsed, context: WorkflowContext<Input>) => Returned;

interface Given
  extends WorkflowBase<unknown, unknown, HandlerDeclarations, HandlerDeclarations, HandlerDeclarations> {
  outputSchema?: Schema;
  fn: (input: Unchecked, context: Unchecked) => unknown;
}

export function workflow<
  Parsed = Unchecked,
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
          fn: WorkflowFn<Input, Parsed, Later<Returned>>;
        } & Fitting<Wanted, Returned, WorkflowFn<Input, Parsed, Promise<Wanted>>>)
      | { outputSchema?: undefined; fn: WorkflowFn<Input, Parsed, Promise<Plain>> }
    ),
): Workflow<Input, Output, { signals: S; queries: Q; updates: U }>;
export function workflow(given: Given): Workflow<never, unknown> {
  checkDefinition('workflow', given);
  const { fn, options = {}, ...rest } = given;
  const { activityOptions, stepOptions, ...others } = options;
  const what = `workflow "${given.name}"`;
  const made = sdkWorkflow({
    ...rest,
    options: { ...others, stepOptions: stepOptionsOf(what, { ...stepOptions, activityOptions }) },
    fn: typeof fn === 'function' ? (input: unknown, context) => untilContinued(() => fn(input, context)) : fn,
  } as Parameters<typeof sdkWorkflow>[0]) as Workflow<unknown, unknown>;
  return brandWorkflow(asChild(what, made), workflowDefinition(made)!);
}

/** What `continueAsNew` throws is what perdure expects to be returned. */
async function untilContinued(fn: () => unknown): Promise<unknown> {
  try {
    return await throughTransparent(fn);
  } catch (error) {
    if (error instanceof ContinueAsNew) return error;
    throw error;
  }
}

/** Ends the run here, wherever it is called, and starts a new one of the same workflow with that input. */
export async function continueAsNew(input?: unknown): Promise<never> {
  throw new ContinueAsNew(input);
}

const REFUSED_BY_CHILDREN: Record<string, string> = {
  activityOptions:
    'set them in the options of that workflow or of its steps, which is where a child of perdure has them from',
  context: 'test workflows with perdure/testing, which runs them in the engine itself',
};

function asChild(what: string, call: Workflow<unknown, unknown>): Workflow<never, unknown> {
  return ((input?: unknown, options?: ChildOptions) => {
    for (const [name, why] of Object.entries(REFUSED_BY_CHILDREN)) {
      if (options && name in options) {
        throw new UsageError(`a call of ${what} cannot be given ${name} here: ${why}`);
      }
    }
    return call(input, options);
  }) as Workflow<never, unknown>;
}

type StepFn<Parsed, Returned> = (input: Parsed) => Returned;

export type DefineStep = <
  Parsed = Unchecked,
  Input = Parsed,
  Plain = unknown,
  Output = Plain,
  Wanted = unknown,
  const Returned extends Exact = never,
>(
  definition: Defined<Input, Parsed, ActivityOptionsHolder> &
    (
      | ({ outputSchema: StandardSchemaV1<Wanted, Output>; fn: StepFn<Parsed, Later<Returned>> } & Fitting<
          Wanted,
          Returned,
          StepFn<Parsed, Promise<Wanted>>
        >)
      | { outputSchema?: undefined; fn: StepFn<Parsed, Promise<Plain>> }
    ),
) => Step<Input, Output>;

export type DefineEvaluator = <
  Parsed = Unchecked,
  Input = Parsed,
  R extends EvaluationResult = EvaluationResult,
>(
  definition: Defined<Input, Parsed, ActivityOptionsHolder> & { fn: StepFn<Parsed, Promise<R>> },
) => Step<Input, R>;

interface GivenStep extends Defined<unknown, unknown, ActivityOptionsHolder> {
  outputSchema?: Schema;
  fn: (input: Unchecked) => unknown;
}

type MakeStep = (definition: never) => Step;

/** `make` is perdure's `step`, or that of a loader which wants to know what a file defines. */
export function stepMaker(make: MakeStep): DefineStep {
  return ((given: GivenStep) => made(make, 'step', given, given?.fn)) as DefineStep;
}

export function evaluatorMaker(make: MakeStep): DefineEvaluator {
  return ((given: GivenStep) =>
    made(make, 'evaluator', given, async (input) => {
      const returned = await given.fn(input);
      checkResult(given.name, returned);
      return returned;
    })) as DefineEvaluator;
}

function made(make: MakeStep, kind: string, given: GivenStep, fn: GivenStep['fn']): Step {
  checkDefinition(kind, given);
  const what = `${kind} "${given.name}"`;
  checkFn(what, given.fn);
  const options = stepOptionsOf(what, given.options);
  return make({ ...given, options, fn: (input: unknown) => throughTransparent(() => fn(input)) } as never);
}

export const step: DefineStep = stepMaker(sdkStep as MakeStep);

/** A step that judges what it is given; it must return an `EvaluationResult`. */
export const evaluator: DefineEvaluator = evaluatorMaker(sdkStep as MakeStep);
