/**
 * Further attempts of steps whose run is paused. The server that pauses a run pauses in the cluster those of its steps that
 * no worker has; a step that was under way then may fail and be due again, and is paused by the worker that gets it.
 *
 * First attempts are not asked about, which would cost every step a call: a paused run asks for no step.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Log } from '../../core/log.js';
import { RUN_PAUSED } from '../../core/run/pause.js';
import type { RunRef } from '../../engine.js';
import { isPausedWithItsRun, pauseStep, unpauseStep } from '../acting/pausing.js';
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
    // Whoever has let the run go on meanwhile may have found nothing paused of it yet.
    const now = await runs.lookAny(execution);
    if (now && !(await runs.paused(now)))
      await Promise.allSettled([unpauseStep(known, { workflowId, runId }, activityId)]);
    return ApplicationFailure.create({
      type: RUN_PAUSED,
      message: 'the run is paused: this attempt was not begun',
      nextRetryDelay: ASK_AGAIN_MS,
    });
  };
}

/** How long a run that goes on is looked at, and how soon at first. */
const LOOK_FOR_MS = 60_000;
const FIRST_LOOK_MS = 20;

/**
 * Lets the steps of a run go on that is paused no more, and still wants them. Whoever resumes a run or asks it to stop does
 * that too; but it is the cluster itself that asks the child of a parent that has ended.
 */
export function goesOn(cluster: () => Cluster | undefined, log: Log): (run: RunRef) => Promise<void> {
  return async ({ workflowId, runId }) => {
    const known = cluster();
    if (!known) return;
    const runs = new Runs(known);
    const until = performance.now() + LOOK_FOR_MS;
    try {
      for (let waitMs = FIRST_LOOK_MS; performance.now() < until; waitMs *= 2) {
        const run = await runs.lookAny({ workflowId, runId });
        if (run?.status !== 'running') return;
        // Until the turn that has told of it is recorded, steps are there that it has cancelled, and workers that look at
        // the run still find it paused and pause its steps.
        if (!run.pendingTurn && !(await runs.paused(run))) {
          const steps = run.pendingSteps.filter(isPausedWithItsRun);
          await Promise.allSettled(steps.map(({ activityId }) => unpauseStep(known, run, activityId ?? '')));
          return;
        }
        await sleep(waitMs);
      }
    } catch (error) {
      log.warn({ err: error, workflowId, runId }, 'the steps of a run that goes on may still be paused');
    }
  };
}
