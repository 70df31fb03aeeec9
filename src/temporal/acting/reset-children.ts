/**
 * The children that a reset cuts off: the new run starts them again, so they are terminated before it begins. Temporal would
 * leave them open, and in the way of their ids.
 */
import type { RunRef } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, isRefused } from '../cluster/errors.js';

const REASON = 'the parent was reset';

/** Whichever run of its chain each of them is by now. */
export async function terminateChildren(cluster: Cluster, children: readonly RunRef[]): Promise<void> {
  await Promise.all(children.map((child) => terminate(cluster, child)));
}

async function terminate(cluster: Cluster, { workflowId, runId }: RunRef): Promise<void> {
  const { namespace, identity } = cluster;
  try {
    await cluster.call((service) =>
      service.terminateWorkflowExecution({
        namespace,
        identity,
        workflowExecution: { workflowId },
        firstExecutionRunId: runId,
        reason: REASON,
      }),
    );
  } catch (error) {
    // It has ended by itself.
    if (!isRefused(error, CODE.NOT_FOUND)) throw error;
  }
}
