/** The package `perdure`: what authors of workflows and steps import. The list is explicit; what is not here is private. */

export { z } from 'zod';
export type { RetryOptions } from '../core/catalog.js';
export type { CostInput } from '../core/cost/cost.js';
export type { CancellationType } from '../core/history/event.js';
export { type Duration, DurationError } from '../core/values/duration.js';
export { PayloadError } from '../core/values/json.js';
export { type Callback, type CallbackOptions, createCallback } from './callback.js';
export type { HandlerDeclaration, HandlerDeclarations } from './definition.js';
export {
  CancelledError,
  ChildWorkflowError,
  DefinitionError,
  DeterminismError,
  ExternalWorkflowError,
  FatalError,
  isCancellation,
  RetryAfterError,
  type SchemaIssue,
  StepError,
  TerminatedError,
  TimeoutError,
  UsageError,
  ValidationError,
} from './errors.js';
export {
  type HttpRequest,
  type HttpResponse,
  type ResponseOptions,
  sendHttpRequest,
  sendPostRequestAndAwaitWebhook,
  type WebhookRequest,
} from './http.js';
export {
  deprecatePatch,
  type ExternalWorkflowHandle,
  getExternalWorkflowHandle,
  log,
  patched,
  uuid4,
  workflowInfo,
} from './info.js';
export {
  allHandlersFinished,
  defineQuery,
  defineSignal,
  defineUpdate,
  type QueryDefinition,
  type SetHandlerOptions,
  type SetUpdateHandlerOptions,
  type SignalDefinition,
  setHandler,
  type UpdateDefinition,
} from './messages.js';
export { executeInParallel, type JobResult, type ParallelOptions } from './parallel.js';
export type { LogLevel, WorkflowInfo } from './runtime.js';
export type { Schema } from './schema.js';
export { CancellationScope, type CancellationScopeOptions } from './scope.js';
export { type Step, step } from './step.js';
export { type Logger, type StepContext, stepContext } from './step-context.js';
export type { StepOptions } from './step-options.js';
export { condition, sleep } from './waiting.js';
export {
  type ChildOptions,
  type DeclaredMessages,
  type Workflow,
  type WorkflowContext,
  type WorkflowOptions,
  workflow,
} from './workflow.js';
