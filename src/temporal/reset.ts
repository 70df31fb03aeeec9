/**
 * Reset: a new run that has the history up to the completion of a step and goes on from there.
 *
 * Temporal makes the new run, terminates an open one and delivers later signals again. What it needs to be told is the
 * turn at which the two histories part: the first one that began after the completion, since that is the one that
 * saw it. It is found by reading through the history, of which only the numbers of the step's events are kept.
 */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../core/errors.js';
import type { RunRef, RunSelector } from '../engine.js';
import type { Cluster } from './connection.js';
import type { Control } from './control.js';
import { errorOfRun } from './errors.js';
import type { Histories } from './history.js';
import type { KnownRun, Runs } from './runs.js';

export interface ResetPoint {
  stepName: string;
  occurrence?: number;
  reason?: string;
}

interface Execution {
  completedEventId?: number;
  /** The first turn that saw the completion. */
  turnStartedEventId?: number;
}

const PAGE_EVENTS = 256;
/** Of Temporal's ResetReapplyType enum. */
const REAPPLY_SIGNALS = 1;

export class Resets {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly histories: Histories,
    private readonly control: Control,
  ) {}

  /** The run that was made, and the one that was open until then. */
  async reset(selector: RunSelector, point: ResetPoint): Promise<{ made: KnownRun; ended?: KnownRun }> {
    const base = await this.runs.look(selector);
    const latest = await this.runs.look({ workflowId: base.workflowId });
    const reason = `reset after step ${point.stepName}${point.reason ? `: ${point.reason}` : ''}`;
    let { execution, length } = await this.#find(base, point);
    if (execution.turnStartedEventId === undefined && base.status === 'running') {
      // No turn has begun since, and Temporal parts histories only within a turn or before a later event. So the run
      // is ended here; should this server die now, the same reset of the closed run goes on from the same place.
      const { workflowId, runId } = base;
      await this.control.terminate({ workflowId, runId }, reason).catch(ignoreClosed);
      ({ execution, length } = await this.#find(base, point));
    }
    const ref = await this.#resetTo(base, execution.turnStartedEventId ?? length, reason);
    return { made: { ...base, ...ref }, ...(latest.status === 'running' && { ended: latest }) };
  }

  async #resetTo(
    { workflowId, runId }: RunRef,
    workflowTaskFinishEventId: number,
    reason: string,
  ): Promise<RunRef> {
    const { namespace, identity } = this.cluster;
    const requestId = randomUUID();
    try {
      const { runId: newRunId } = await this.cluster.call((service) =>
        service.resetWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowExecution: { workflowId, runId },
          reason,
          workflowTaskFinishEventId: workflowTaskFinishEventId as never,
          resetReapplyType: REAPPLY_SIGNALS,
        }),
      );
      return { workflowId, runId: newRunId ?? '' };
    } catch (error) {
      throw errorOfRun(error, { workflowId, runId });
    }
  }

  /** The wanted execution of the step, and how long the history is. @throws StepNotFoundError, StepNotCompletedError */
  async #find(
    { workflowId, runId }: RunRef,
    { stepName, occurrence }: ResetPoint,
  ): Promise<{ execution: Execution; length: number }> {
    const executions = new Map<number, Execution>();
    const unseen = new Set<Execution>();
    let afterEventId = 0;
    for (;;) {
      const { events } = await this.histories.read(
        { workflowId, runId },
        { afterEventId, limit: PAGE_EVENTS },
      );
      for (const event of events) {
        afterEventId = event.id;
        switch (event.type) {
          case 'ACTIVITY_TASK_SCHEDULED':
            if (event.attributes.stepName === stepName) executions.set(event.id, {});
            break;
          case 'ACTIVITY_TASK_COMPLETED': {
            const execution = executions.get(event.attributes.scheduledEventId);
            if (!execution) break;
            execution.completedEventId = event.id;
            unseen.add(execution);
            break;
          }
          case 'WORKFLOW_TASK_STARTED':
            for (const execution of unseen) execution.turnStartedEventId = event.id;
            unseen.clear();
            break;
          default:
        }
      }
      if (events.length < PAGE_EVENTS) break;
    }
    const execution = chosen([...executions.values()], stepName, occurrence, { workflowId, runId });
    return { execution, length: afterEventId };
  }
}

function chosen(
  executions: readonly Execution[],
  stepName: string,
  occurrence: number | undefined,
  run: RunRef,
): Execution {
  const { length } = executions;
  if (length === 0 || (occurrence !== undefined && occurrence > length)) {
    const found = length === 0 ? 'is not in the history' : `was executed ${length} times, not ${occurrence}`;
    throw new PerdureError('StepNotFoundError', `step "${stepName}" ${found}`, run);
  }
  const isCompleted = ({ completedEventId }: Execution) => completedEventId !== undefined;
  const found = occurrence === undefined ? executions.filter(isCompleted).at(-1) : executions[occurrence - 1];
  if (!found || !isCompleted(found)) {
    throw new PerdureError('StepNotCompletedError', `step "${stepName}" has not completed`, run);
  }
  return found;
}

function ignoreClosed(error: unknown): void {
  if (!(error instanceof PerdureError) || error.name !== 'WorkflowAlreadyClosedError') throw error;
}
