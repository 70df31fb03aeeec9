/**
 * The children of a run that is reset. Those that the new run starts again are terminated before it begins: Temporal
 * would leave them open, and in the way of their ids. Those that it keeps report to it when they end; but of one that
 * has ended while its parent was closed nobody would tell it, so this does, by a signal that the turns understand.
 */
import { randomUUID } from 'node:crypto';
import type { temporal } from '@temporalio/proto';
import { failureOfClose } from '../../core/history/close-failure.js';
import type { HistoryEvent } from '../../core/history/event.js';
import { STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { RunRef } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CHILD_ENDED_HEADER, CHILD_ENDED_SIGNAL, type EndedChild } from '../cluster/conventions.js';
import { CODE, isRefused } from '../cluster/errors.js';
import type { Outcomes } from '../reading/outcome.js';
import { toPayload, toPayloads } from '../translate/payload.js';

type Signal = Pick<
  temporal.api.workflowservice.v1.ISignalWorkflowExecutionRequest,
  'signalName' | 'input' | 'header'
>;

const REASON = 'the parent was reset';

export class ResetChildren {
  constructor(
    private readonly cluster: Cluster,
    private readonly outcomes: Outcomes,
  ) {}

  /** Whichever run of its chain each of them is by now. */
  async terminate(children: readonly RunRef[]): Promise<void> {
    await Promise.all(children.map((child) => this.#terminate(child)));
  }

  async #terminate({ workflowId, runId }: RunRef): Promise<void> {
    const { namespace, identity } = this.cluster;
    try {
      await this.cluster.call((service) =>
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

  /** Of those that have ended; to a run that has heard of it already, it means nothing. */
  async tell(run: RunRef, children: readonly RunRef[]): Promise<void> {
    await Promise.all(children.map((child) => this.#tell(run, child)));
  }

  async #tell(run: RunRef, child: RunRef): Promise<void> {
    const { namespace, identity } = this.cluster;
    const last = await this.outcomes.lastClose(child, { followChain: true });
    if (!last) return;
    const signal = signalOf(child, last.close.event);
    const requestId = randomUUID();
    await this.cluster.call((service) =>
      service.signalWorkflowExecution({ namespace, identity, requestId, workflowExecution: run, ...signal }),
    );
  }
}

function signalOf({ workflowId }: RunRef, close: HistoryEvent): Signal {
  const failure = failureOfClose(close);
  const told: EndedChild = {
    workflowId,
    end: STATUS_OF_CLOSE_EVENT[close.type] as EndedChild['end'],
    ...(failure && { failure }),
  };
  const result = close.type === 'WORKFLOW_EXECUTION_COMPLETED' ? close.attributes.result : undefined;
  return {
    signalName: CHILD_ENDED_SIGNAL,
    input: toPayloads([JSON.stringify(told), ...(result === undefined ? [] : [result])]),
    header: { fields: { [CHILD_ENDED_HEADER]: toPayload('true') } },
  };
}
