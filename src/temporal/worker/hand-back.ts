/**
 * Steps that this worker's code does not have. The cluster gives a step to any worker that polls the task queue of the
 * catalog, so one of another version may get it: it is handed back, to be given to somebody else.
 *
 * Temporal has no word for that but a failed attempt. So the step is allowed one attempt more where its attempts are
 * counted, and is due again soon.
 */
import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Log } from '../../core/log.js';
import type { Cluster } from '../cluster/connection.js';
import { STEP_NOT_REGISTERED, stepNameOf } from '../cluster/conventions.js';

export type HandBack = (info: Info) => Promise<ApplicationFailure>;

/** Soon, since another worker may have it; ever later while nobody seems to. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
/** Between two lines in the log that say the same. */
const REMIND_MS = 60_000;

export function handBack(cluster: () => Cluster | undefined, identity: string, log: Log): HandBack {
  let saidAt = Number.NEGATIVE_INFINITY;
  return async (info) => {
    const { activityType, attempt } = info;
    try {
      await allowOneMore(cluster(), info, identity);
    } catch (error) {
      if (performance.now() - saidAt >= REMIND_MS) {
        saidAt = performance.now();
        const why = (error as Error).message;
        log.warn(
          { step: activityType },
          `step "${activityType}" is not in this worker's code and is handed back; the cluster counts that as an attempt (${why})`,
        );
      }
    }
    return ApplicationFailure.create({
      type: STEP_NOT_REGISTERED,
      message: `the code of worker ${identity} has no step "${stepNameOf(activityType)}" for workflow "${info.workflowType}"; the step is handed back, and waits for a worker whose code has it`,
      nextRetryDelay: Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 10), MAX_DELAY_MS),
    });
  };
}

/** Where its attempts are counted, so that this one is not. */
export async function allowOneMore(
  cluster: Cluster | undefined,
  { retryPolicy, workflowExecution, activityId }: Info,
  identity: string,
): Promise<void> {
  const maximumAttempts = retryPolicy?.maximumAttempts ?? 0;
  if (maximumAttempts === 0 || maximumAttempts === Number.POSITIVE_INFINITY || !workflowExecution || !cluster)
    return;
  const { namespace } = cluster;
  await cluster.call((service) =>
    service.updateActivityOptions({
      namespace,
      identity,
      execution: workflowExecution,
      id: activityId,
      activityOptions: { retryPolicy: { maximumAttempts: maximumAttempts + 1 } },
      updateMask: { paths: ['retry_policy.maximum_attempts'] },
    }),
  );
}
