/** Ending runs from outside. */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../../core/errors.js';
import type { RunRef, RunSelector, StoppedRun } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, isRefused } from '../cluster/errors.js';
import { InOrder } from '../cluster/in-order.js';
import type { KnownRun, Runs } from '../reading/runs.js';
import type { Pauses } from './pausing.js';

export class Control {
  /** The first of several ends the run. */
  readonly #terminations = new InOrder();

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly pauses: Pauses,
    private readonly inOrder: InOrder,
  ) {}

  cancel(selector: RunSelector): Promise<StoppedRun> {
    return this.inOrder.with(selector.workflowId, 'other', async () => {
      const { workflowId, runId, status } = await this.runs.look(selector);
      if (status !== 'running') return { workflowId, runId, status };
      try {
        return await this.runs.onOpen(selector, 'the request to stop', (run) => this.#cancel(run));
      } catch (error) {
        // It has closed meanwhile.
        if (!(error instanceof PerdureError) || error.name !== 'WorkflowAlreadyClosedError') throw error;
        const closed = await this.runs.look(selector);
        return { workflowId, runId: closed.runId, status: closed.status };
      }
    });
  }

  async #cancel(run: KnownRun): Promise<StoppedRun> {
    const { workflowId, runId, status } = run;
    const { namespace, identity } = this.cluster;
    const requestId = randomUUID();
    try {
      await this.cluster.call((service) =>
        service.requestCancelWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowExecution: { workflowId, runId },
          reason: 'requested by a caller',
        }),
      );
    } catch (error) {
      // It was asked before, and is on its way.
      if (!isRefused(error, CODE.ALREADY_EXISTS)) throw error;
    }
    await this.pauses.endWithStop(run);
    return { workflowId, runId, status };
  }

  /** The run that was open. No message on its way to the run holds this up: it is for runs that take nothing. */
  terminate(selector: RunSelector, reason: string): Promise<KnownRun> {
    return this.#terminations.with(selector.workflowId, 'other', () =>
      this.runs.onOpen(selector, 'the request to terminate', (run) => this.#terminate(run, reason)),
    );
  }

  async #terminate(run: KnownRun, reason: string): Promise<KnownRun> {
    const { workflowId, runId } = run;
    const { namespace, identity } = this.cluster;
    let tries = 0;
    try {
      await this.cluster.call((service) => {
        tries++;
        return service.terminateWorkflowExecution({
          namespace,
          identity,
          workflowExecution: { workflowId, runId },
          reason,
        });
      });
    } catch (error) {
      // The first request came through, only its answer did not.
      const isOurs = isRefused(error, CODE.NOT_FOUND) && tries > 1 && (await this.#isTerminated(run));
      if (!isOurs) throw error;
    }
    return run;
  }

  async #isTerminated({ workflowId, runId }: RunRef): Promise<boolean> {
    return (await this.runs.look({ workflowId, runId })).status === 'terminated';
  }
}
