/**
 * What workers and API servers agree on when they meet on a Temporal cluster.
 *
 * The names of the first group are those of the wire contract: workers and servers of other makers keep them as well.
 * Those of the second are perdure's own, and everything works without them as far as it can.
 */
import type { RegisteredWorkflow } from '../../core/catalog.js';
import type { Budget } from '../../core/cost/budget.js';
import type { Failure } from '../../core/history/failure.js';
import type { SerializedError } from '../../core/history/serialized-error.js';
import type { ResultFormat } from '../../core/run/run.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { TracePlan } from '../../engine.js';

/** A catalog's registration is the workflow whose id is the catalog's name, on the task queue of that name. */
export const CATALOG_QUERY = 'get';
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
  /** Of a run, perdure's own: JSON of Paused while it is paused, and null once it is not any more. */
  paused: 'perdurePaused',
  /** Of the registration, perdure's own: a hash of what it says, by which it is known as one of ours. */
  registration: 'perdureRegistration',
  /** Of a run that keeps an Idempotency-Key, perdure's own: the body that the key stands for and the run it made. */
  idempotency: 'perdureIdempotency',
  /** Of a run that has a budget, perdure's own: the id of the workflow that is its purse. */
  purse: 'perdurePurse',
  /** Of the run that keeps it, perdure's own: what tokens of callbacks are signed with. */
  callbackKey: 'perdureCallbackKey',
} as const;
export const CURRENT_PAYLOAD_VERSION = '2';

/** Names of workflows never contain `$`, so these never clash with one. */
export const CATALOG_WORKFLOW_TYPE = '$catalog';
export const IDEMPOTENCY_WORKFLOW_TYPE = '$idempotency';
export const CALLBACK_KEY_WORKFLOW_TYPE = '$callbacks';
export const PURSE_WORKFLOW_TYPE = '$purse';
/** What callers do not see: to Temporal these are workflows like any other. */
export const HIDDEN_WORKFLOW_TYPES: readonly string[] = [
  CATALOG_WORKFLOW_TYPE,
  IDEMPOTENCY_WORKFLOW_TYPE,
  CALLBACK_KEY_WORKFLOW_TYPE,
  PURSE_WORKFLOW_TYPE,
];

/**
 * The input of perdure's registration workflow. It is in the first event of its history, so it can be read while no
 * worker is there to answer a query. A memo would be the natural place, but holds 40 KB at most.
 */
export interface Registration {
  /** The union of what the workers have, each of the newest code that has it, with the version of that. */
  workflows: RegisteredWorkflow[];
  /** What older code has under the same names: it counts again when the newer code has left. */
  hidden?: RegisteredWorkflow[];
  /** The versions of the code, oldest first; those that nobody runs any more are kept for their age. */
  versions?: RegisteredVersion[];
  /** Who runs which of them: groups of worker processes that are started and stopped together. */
  members?: { pool: string; version: string }[];
  /** The form in which the workers of this catalog record results: what starts a run puts it into the memo. */
  resultFormat: ResultFormat;
  /** Which runs its workers write traces of: what starts a run puts that into the memo too. */
  traces?: TracePlan['runs'];
}

export interface RegisteredVersion extends CodeVersion {
  resultFormat: ResultFormat;
  traces?: TracePlan['runs'];
}

/** The memo of a registration under `MEMO.registration`, by which one of ours is told from those of other makers. */
export interface RegistrationMemo {
  /** Of all that it says. */
  codeId: string;
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
  /** What callers see of it. Workers and servers of other makers say and read it there as well. */
  error?: SerializedError;
  /** Of a failed run of the older form. */
  trace?: unknown;
}

/** On a step whose author has set no heartbeatTimeout: its worker gives the signs of life, the step need not. */
export const LIVENESS_HEADER = 'perdureLiveness';

/** On a step of a run that has a budget: the purse, as in its memo. */
export const PURSE_HEADER = 'perdurePurse';

/** What a purse is told and asked. */
export const PURSE = {
  query: 'get',
  spent: 'spent',
  set: 'set',
  waits: 'waits',
  woken: 'woken',
  /** A step of its own: whether there is anybody left who could spend. */
  isInUse: 'isInUse',
  /** Another: lets runs go on that wait for a budget which suffices. */
  wake: 'wake',
} as const;

export interface Waiting {
  workflowId: string;
  runId: string;
  /** Which of the times that the run waits. */
  id?: string;
}

/** The input of the workflow that is a purse, and what it answers. */
export interface Purse extends Budget {
  spent: string;
  /** The workflow at the root of its tree. */
  root: string;
  /** Runs that are paused until there is more. */
  waiting: Waiting[];
  /** The last that it heard to be spent, by their ids. The cluster knows those of one run, and a purse goes on as others. */
  heard?: string[];
}

export interface Spending {
  /** Of what one attempt has said at once; the same when that is told again. */
  id: string;
  costs: { currency: string; amount: string }[];
}

/** On a run: how many parents it has above it; absent when there is none. */
export const DEPTH_HEADER = 'perdureDepth';

/** A signal with this header tells a run that was made by a reset how a child of it has ended; see worker/ended-children.ts. */
export const CHILD_ENDED_HEADER = 'perdureChildEnded';
export const CHILD_ENDED_SIGNAL = '$childEnded';

/** The first argument of that signal; the second is the result of a child that has completed. */
export interface EndedChild {
  workflowId: string;
  end: 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed_out';
  failure?: Failure;
}

/** The type of the failure with which a worker hands back a step that its code does not have. */
export const STEP_NOT_REGISTERED = 'StepNotRegistered';
