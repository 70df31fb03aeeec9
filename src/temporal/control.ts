/** Ending runs from outside. */
import { randomUUID } from 'node:crypto';
import type { RunRef, RunSelector } from '../engine.js';
import type { Cluster } from './connection.js';
import { CODE, errorOfRun, isRefused } from './errors.js';
import type { InOrder } from './in-order.js';
import { closed, type KnownRun, type Runs } from './runs.js';

export class Control {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly inOrder: InOrder,
  ) {}

  cancel(selector: RunSelector): Promise<RunRef> {
    return this.inOrder.with(selector.workflowId, () => this.#cancel(selector));
  }

  /** Temporal takes the request for a closed run without a word, hence the look. */
  async #cancel(selector: RunSelector): Promise<RunRef> {
    const { workflowId, runId } = await this.runs.lookOpen(selector, 'the request to stop');
    const { namespace, identity } = this.cluster;
    const requestId = randomUUID();
    try {
      await this.cluster.call((service) =>
        service.requestCancelWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowExecution: { workflowId, runId: selector.runId },
          reason: 'requested by a caller',
        }),
      );
    } catch (error) {
      // It was asked before, and is on its way.
      if (!isRefused(error, CODE.ALREADY_EXISTS)) throw errorOfRun(error, selector);
    }
    return { workflowId, runId };
  }

  /** The run that was open. */
  terminate(selector: RunSelector, reason: string): Promise<KnownRun> {
    return this.inOrder.with(selector.workflowId, () => this.#terminate(selector, reason));
  }

  async #terminate(selector: RunSelector, reason: string): Promise<KnownRun> {
    const what = 'the request to terminate';
    const open = await this.runs.lookOpen(selector, what);
    const { workflowId, runId } = open;
    const { namespace, identity } = this.cluster;
    let tries = 0;
    try {
      await this.cluster.call((service) => {
        tries++;
        return service.terminateWorkflowExecution({
          namespace,
          identity,
          workflowExecution: { workflowId, runId: selector.runId },
          reason,
        });
      });
    } catch (error) {
      if (!isRefused(error, CODE.NOT_FOUND)) throw errorOfRun(error, selector);
      const run = await this.runs.look({ workflowId, runId });
      // The first request came through, only its answer did not.
      if (tries === 1 || run.status !== 'terminated') throw closed(run, what);
    }
    return open;
  }
}
