/**
 * The children that a reset cuts off: the new run starts them again, so they are terminated before it begins. Temporal would
 * leave them open, and in the way of their ids.
 */
import type { RunRef } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { terminateIfOpen } from '../cluster/terminate.js';

const REASON = 'the parent was reset';

/** Whichever run of its chain each of them is by now. */
export async function terminateChildren(cluster: Cluster, children: readonly RunRef[]): Promise<void> {
  await Promise.all(
    children.map(({ workflowId, runId }) =>
      terminateIfOpen(cluster, {
        workflowExecution: { workflowId },
        firstExecutionRunId: runId,
        reason: REASON,
      }),
    ),
  );
}
