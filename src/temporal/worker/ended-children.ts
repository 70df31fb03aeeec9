/**
 * Children that have ended while their parent was closed, and that a reset has given a parent again. The cluster tells a run
 * only of children that end while it is open, so the worker that makes the first turn of the new run looks how they are, and
 * tells it by a signal that the turns understand.
 *
 * 1. The turn is over when the run was told. A worker that dies before leaves the turn to another one, which does it anew:
 *    whoever has made the reset, and whatever became of him, the run does not wait in vain.
 * 2. The cluster takes it once for each child, and to a run that has heard of it otherwise it means nothing.
 * 3. A child that retention has removed has ended too; since nobody knows how, it has failed.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { temporal } from '@temporalio/proto';
import { PerdureError } from '../../core/errors.js';
import { failureOfClose } from '../../core/history/close-failure.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { Log } from '../../core/log.js';
import { STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { Payload } from '../../core/values/json.js';
import type { RunRef } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CHILD_ENDED_HEADER, CHILD_ENDED_SIGNAL, type EndedChild } from '../cluster/conventions.js';
import { CODE, isRefused } from '../cluster/errors.js';
import { StartedRuns } from '../cluster/started.js';
import { Outcomes } from '../reading/outcome.js';
import { Runs } from '../reading/runs.js';
import { toPayload, toPayloads } from '../translate/payload.js';

type Signal = Pick<
  temporal.api.workflowservice.v1.ISignalWorkflowExecutionRequest,
  'signalName' | 'input' | 'header'
>;

interface End extends Omit<EndedChild, 'workflowId'> {
  /** Of one that has completed. */
  result?: Payload | undefined;
}

/** After so long the cluster has given the turn to somebody else, however often it was tried. */
const TRY_FOR_MS = 60_000;
const TRY_AGAIN_MS = 500;

export function tellsOfEndedChildren(
  cluster: () => Cluster | undefined,
  log: Log,
): (run: RunRef, children: readonly string[]) => Promise<void> {
  return async ({ workflowId, runId }, children) => {
    const known = cluster();
    if (!known) return;
    const until = performance.now() + TRY_FOR_MS;
    for (;;) {
      try {
        return await tellOfEnded(known, { workflowId, runId }, new Set(children));
      } catch (error) {
        const isAway = error instanceof PerdureError && error.name === 'EngineUnavailableError';
        if (!isAway || performance.now() >= until) {
          const message = 'a run that was reset may wait for a child that has ended: reset it again';
          log.error({ err: error, workflowId, runId }, message);
          return;
        }
      }
      await sleep(TRY_AGAIN_MS);
    }
  };
}

async function tellOfEnded(cluster: Cluster, ref: RunRef, wanted: ReadonlySet<string>): Promise<void> {
  const runs = new Runs(cluster);
  const run = await runs.lookAny(ref);
  const outcomes = new Outcomes(cluster, runs, new StartedRuns());
  const children = (run?.pendingChildren ?? []).flatMap(({ workflowId, runId }) =>
    workflowId && runId && wanted.has(workflowId) ? [{ workflowId, runId }] : [],
  );
  await Promise.all(
    children.map(async (child) => {
      const end = await endOf(outcomes, child);
      if (end) await tell(cluster, ref, child, end);
    }),
  );
}

/** Undefined while it is under way. */
async function endOf(outcomes: Outcomes, child: RunRef): Promise<End | undefined> {
  try {
    const last = await outcomes.lastClose(child, { followChain: true });
    return last && endBy(last.close.event);
  } catch (error) {
    if (!(error instanceof PerdureError) || error.name !== 'WorkflowNotFoundError') throw error;
    const message = `the child "${child.workflowId}" has ended, and its run was removed since: how it ended is not known`;
    return { end: 'failed', failure: { kind: 'application', type: error.name, message } };
  }
}

function endBy(close: HistoryEvent): End {
  const failure = failureOfClose(close);
  return {
    end: STATUS_OF_CLOSE_EVENT[close.type] as EndedChild['end'],
    ...(failure && { failure }),
    ...(close.type === 'WORKFLOW_EXECUTION_COMPLETED' && { result: close.attributes.result }),
  };
}

async function tell(cluster: Cluster, run: RunRef, child: RunRef, end: End): Promise<void> {
  const { namespace, identity } = cluster;
  const requestId = createHash('sha256').update(`${CHILD_ENDED_SIGNAL} ${child.runId}`).digest('hex');
  const signal = signalOf(child, end);
  try {
    await cluster.call((service) =>
      service.signalWorkflowExecution({ namespace, identity, requestId, workflowExecution: run, ...signal }),
    );
  } catch (error) {
    // The run has been ended meanwhile.
    if (!isRefused(error, CODE.NOT_FOUND)) throw error;
  }
}

function signalOf({ workflowId }: RunRef, { result, ...end }: End): Signal {
  const told: EndedChild = { workflowId, ...end };
  return {
    signalName: CHILD_ENDED_SIGNAL,
    input: toPayloads([JSON.stringify(told), ...(result === undefined ? [] : [result])]),
    header: { fields: { [CHILD_ENDED_HEADER]: toPayload('true') } },
  };
}
