/**
 * The module `perdure/output`: the names that authors of Output projects know, so that a project moves by changing its
 * import. What has the same name and meaning in perdure is perdure's own, and all else of perdure is here as well.
 */

export type { JobResult as ParallelJobResult } from '../sdk/index.js';
export * from '../sdk/index.js';
export {
  continueAsNew,
  evaluator,
  type OutputWorkflowOptions as WorkflowOptions,
  step,
  workflow,
} from './define.js';
export { hasErrorType, TransparentFatalError } from './errors.js';
export {
  EvaluationBooleanResult,
  EvaluationFeedback,
  EvaluationNumberResult,
  EvaluationResult,
  type EvaluationResultArgs,
  EvaluationStringResult,
  EvaluationVerdictResult,
} from './evaluation.js';
export {
  type HttpMethod,
  type OutputHttpRequest as HttpRequest,
  type SerializedFetchResponse,
  sendHttpRequest,
  sendPostRequestAndAwaitWebhook,
} from './http.js';
export { Logger } from './logger.js';
export type { ActivityOptionsHolder as StepOptions } from './options.js';
