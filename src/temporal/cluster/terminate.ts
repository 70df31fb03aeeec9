/** Ends runs of the service's own making. */
import type { temporal } from '@temporalio/proto';
import type { Cluster } from './connection.js';
import { CODE, isRefused } from './errors.js';

type Request = temporal.api.workflowservice.v1.ITerminateWorkflowExecutionRequest;

/** Nothing is wrong where there is nothing left to end: it has ended by itself, or somebody else was faster. */
export async function terminateIfOpen(
  cluster: Cluster,
  request: Required<Pick<Request, 'workflowExecution' | 'reason'>> & Request,
): Promise<void> {
  const { namespace, identity } = cluster;
  try {
    await cluster.call((service) => service.terminateWorkflowExecution({ namespace, identity, ...request }));
  } catch (error) {
    if (!isRefused(error, CODE.NOT_FOUND)) throw error;
  }
}
