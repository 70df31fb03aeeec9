/**
 * What workers and API servers agree on when they meet on a Temporal cluster.
 *
 * The names of the first group are those of the wire contract: workers and servers of other makers keep them as well.
 * Those of the second are perdure's own, and everything works without them as far as it can.
 */
import type { RegisteredWorkflow } from '../core/catalog.js';
import type { Failure } from '../core/failure.js';
import type { ResultFormat } from '../core/run.js';
import type { TracePlan } from '../engine.js';

/** A catalog's registration is the workflow whose id is the catalog's name, on the task queue of that name. */
export const CATALOG_QUERY = 'get';
export const FEEDBACK_SIGNAL = 'resume';
export const MEMO = {
  /** Of the registration: every name and alias, to the name of its workflow. */
  workflowNames: 'workflowNames',
  /** Of a run: '2' for results of the current form; anything else is the older one. */
  payloadVersion: 'payloadVersion',
  /** Of a run: `{ local?, remote? }`. */
  trace: 'trace',
  /**
   * Of a run, perdure's own: `all` or `failed`, which of its ends have a trace. Decided at the start, so that a replay
   * says where the trace is if and only if the run did.
   */
  traces: 'perdureTraces',
  /** Of the registration, perdure's own: which code it stands for, so that a repeat of the same changes nothing. */
  registration: 'perdureRegistration',
  /** Of a run that keeps an Idempotency-Key, perdure's own: the body that the key stands for and the run it made. */
  idempotency: 'perdureIdempotency',
} as const;
export const CURRENT_PAYLOAD_VERSION = '2';

/** Names of workflows never contain `$`, so these never clash with one. */
export const CATALOG_WORKFLOW_TYPE = '$catalog';
export const IDEMPOTENCY_WORKFLOW_TYPE = '$idempotency';

/**
 * The input of perdure's registration workflow. It is in the first event of its history, so it can be read while no
 * worker is there to answer a query. A memo would be the natural place, but holds 40 KB at most.
 */
export interface Registration {
  workflows: RegisteredWorkflow[];
  codeId: string;
  /** The form in which the workers of this catalog record results: what starts a run puts it into the memo. */
  resultFormat: ResultFormat;
  /** Which runs its workers write traces of: what starts a run puts that into the memo too. */
  traces?: TracePlan['runs'];
}

/** The memo of a registration under `MEMO.registration`. */
export interface RegistrationMemo {
  codeId: string;
  resultFormat: ResultFormat;
  traces?: TracePlan['runs'];
}

/** A step as an activity's type. */
export function activityTypeOf(workflowType: string, stepName: string): string {
  return `${workflowType}#${stepName}`;
}

/** Steps of other makers may be named otherwise; then the whole type is the name. */
export function stepNameOf(activityType: string): string {
  return activityType.slice(activityType.indexOf('#') + 1);
}

/** First element of an application failure's details: what Temporal's failure has no field for. */
export interface FailureDetails
  extends Partial<Pick<Failure, 'kind' | 'activityType' | 'attempt' | 'timeoutType' | 'properties'>> {
  /** Of a failed run of the older form. */
  trace?: unknown;
}

/** On a step whose author has set no heartbeatTimeout: its worker gives the signs of life, the step need not. */
export const LIVENESS_HEADER = 'perdureLiveness';

/** On a run: how many parents it has above it; absent when there is none. */
export const DEPTH_HEADER = 'perdureDepth';
