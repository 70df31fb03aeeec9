/**
 * Reset: a new run that has the history up to the completion of a step and goes on from there.
 *
 * Temporal makes the new run, terminates an open one and delivers later signals again. What it needs to be told is the
 * turn at which the two histories part: the first one that began after the completion, since that is the one that
 * saw it. It is found by reading through the history, of which only the numbers of the step's events are kept.
 */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../core/errors.js';
import { invariant } from '../core/invariant.js';
import type { RunRef, RunSelector } from '../engine.js';
import type { Cluster } from './connection.js';
import type { Control } from './control.js';
import { CODE, errorOfRun, isRefused } from './errors.js';
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

interface Found {
  execution: Execution;
  /** Of the history. */
  length: number;
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
    const ref = (await this.#part(base, point, reason)) ?? (await this.#partEnded(base, point, reason));
    invariant(ref, `the closed run ${base.runId} was neither reset nor was that refused`);
    return { made: { ...base, ...ref }, ...(latest.status === 'running' && { ended: latest }) };
  }

  /** Undefined when the history cannot be parted there as long as the run is open. */
  async #part(base: KnownRun, point: ResetPoint, reason: string): Promise<RunRef | undefined> {
    const isOpen = base.status === 'running';
    const places = placesToPart(await this.#find(base, point), isOpen);
    for (const [tries, place] of places.entries()) {
      try {
        return await this.#resetTo(base, place, reason);
      } catch (error) {
        const isLast = tries === places.length - 1;
        if (!isWrongPlace(error) || (isLast && !isOpen)) throw error;
      }
    }
    return undefined;
  }

  /** Should this server die between the two, the same reset of the closed run goes on from the same place. */
  async #partEnded(base: KnownRun, point: ResetPoint, reason: string): Promise<RunRef | undefined> {
    const { workflowId, runId } = base;
    await this.control.terminate({ workflowId, runId }, reason).catch(ignoreClosed);
    return this.#part({ ...base, status: 'terminated' }, point, reason);
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
  async #find({ workflowId, runId }: RunRef, { stepName, occurrence }: ResetPoint): Promise<Found> {
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

/**
 * The first event that the new run does not have, as candidates: Temporal parts histories only while a turn is due or
 * under way, and only between events that it has written one after the other. Most turns are written as due, as begun
 * and as done. One that follows another at once is written as due and begun together with what came before; one that
 * is tried again is written as a whole once it has succeeded.
 */
function placesToPart({ execution, length }: Found, isOpen: boolean): number[] {
  const { turnStartedEventId: begun, completedEventId: completed = 0 } = execution;
  // No turn has seen the completion: the history ends behind it, once it does.
  if (begun === undefined) return isOpen ? [] : [length];
  return [begun, begun + 1, begun - 1].filter((place) => place > completed && place <= length);
}

function isWrongPlace(error: unknown): boolean {
  return (
    isRefused(error, CODE.INVALID_ARGUMENT) &&
    /must be at the boundary|finish event id|can only reset/i.test(error.reason)
  );
}

function ignoreClosed(error: unknown): void {
  if (!(error instanceof PerdureError) || error.name !== 'WorkflowAlreadyClosedError') throw error;
}
