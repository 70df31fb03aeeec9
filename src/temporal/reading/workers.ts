/** Who polls the task queues of the registered catalogs, as the cluster tells. */
import type { WorkerDescription } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CATALOG_WORKFLOW_TYPE } from '../cluster/conventions.js';
import { versionOfBuild } from '../translate/build-id.js';
import { instant } from '../translate/proto.js';

/** Numbers of Temporal's enum of task queue types. */
const QUEUE_TYPES = [1, 2];
/** A poll lasts a minute; the cluster lists its poller for some minutes more. */
const POLLS_WITHIN_MS = 75_000;
/** Catalogs whose task queues are looked at. */
const MAX_CATALOGS = 200;

export class Workers {
  constructor(private readonly cluster: Cluster) {}

  async describe(): Promise<WorkerDescription[]> {
    const catalogs = await this.catalogs();
    const workers = await Promise.all(catalogs.map((catalog) => this.ofCatalog(catalog)));
    return workers.flat();
  }

  /** A registration stays when its workers go. */
  async catalogs(): Promise<string[]> {
    const { namespace } = this.cluster;
    const query = `WorkflowType = '${CATALOG_WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
    const { executions } = await this.cluster.call((service) =>
      service.listWorkflowExecutions({ namespace, query, pageSize: MAX_CATALOGS }),
    );
    const ids = (executions ?? []).map(({ execution }) => execution?.workflowId ?? '');
    return [...new Set(ids)].sort();
  }

  async ofCatalog(catalog: string): Promise<WorkerDescription[]> {
    const { namespace } = this.cluster;
    const byIdentity = new Map<string, WorkerDescription>();
    for (const taskQueueType of QUEUE_TYPES) {
      const { pollers } = await this.cluster.call((service) =>
        service.describeTaskQueue({ namespace, taskQueue: { name: catalog }, taskQueueType }),
      );
      for (const { identity, lastAccessTime, deploymentOptions } of pollers ?? []) {
        const lastSeenAt = instant(lastAccessTime);
        if (!identity || lastSeenAt < Date.now() - POLLS_WITHIN_MS) continue;
        const known = byIdentity.get(identity);
        byIdentity.set(identity, {
          id: identity,
          catalog,
          ...placeOf(identity),
          connectedAt: null,
          lastSeenAt: Math.max(lastSeenAt, known?.lastSeenAt ?? 0),
          workflows: null,
          turns: null,
          steps: null,
          version: versionOfBuild(deploymentOptions?.buildId) ?? known?.version ?? null,
          state: null,
        });
      }
    }
    return [...byIdentity.values()];
  }
}

/** Our workers name themselves `pid@host`, as Temporal's own do; others may do as they like. */
function placeOf(identity: string): { host: string | null; pid: number | null } {
  const match = /^(\d{1,10})@(.+)$/.exec(identity);
  return match ? { host: match[2]!, pid: Number(match[1]) } : { host: null, pid: null };
}
