/**
 * Further attempts of steps whose run is paused. The server that pauses a run pauses in the cluster those of its steps that
 * no worker has; a step that was under way then may fail and be due again, and is paused by the worker that gets it.
 *
 * First attempts are not asked about, which would cost every step a call: a paused run asks for no step.
 */
import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { RUN_PAUSED } from '../../core/run/pause.js';
import { pauseStep } from '../acting/pausing.js';
import type { Cluster } from '../cluster/connection.js';
import { Runs } from '../reading/runs.js';
import { allowOneMore } from './hand-back.js';

/** What the attempt ends with when its run is paused; undefined when it may begin. */
export type WhilePaused = (info: Info) => Promise<ApplicationFailure | undefined>;

/** Where the cluster does not pause steps, this is how soon it is asked again whether the run still is. */
const ASK_AGAIN_MS = 2_000;

export function whilePaused(cluster: () => Cluster | undefined, identity: string): WhilePaused {
  return async (info) => {
    const { attempt, activityId, workflowExecution: execution } = info;
    const known = cluster();
    if (attempt <= 1 || !known || !execution) return undefined;
    const runs = new Runs(known);
    const run = await runs.lookAny(execution);
    if (!run || !(await runs.paused(run))) return undefined;
    const { workflowId, runId } = run;
    // Should one of the two fail, the attempt is counted, or the step asks again later.
    await Promise.allSettled([
      allowOneMore(known, info, identity),
      pauseStep(known, { workflowId, runId }, activityId),
    ]);
    return ApplicationFailure.create({
      type: RUN_PAUSED,
      message: 'the run is paused: this attempt was not begun',
      nextRetryDelay: ASK_AGAIN_MS,
    });
  };
}
