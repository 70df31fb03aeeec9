/**
 * Reset: a new run that has the history up to the completion of a step, or to its start, and goes on from there.
 *
 * Temporal makes the new run, terminates an open one and delivers later signals again. What it needs to be told is the
 * turn at which the two histories part: the first one that began after the completion, since that is the one that
 * saw it.
 *
 * Children from before the point stay with the new run, which also hears how they end, from the cluster or from its worker
 * (worker/ended-children.ts); those from after it, which the new run starts again, are terminated.
 */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../../core/errors.js';
import { resetReason } from '../../core/run/run.js';
import type { ResetPoint, RunRef, RunSelector } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, errorOfRun, isRefused } from '../cluster/errors.js';
import type { Histories } from '../reading/history.js';
import type { KnownRun, Runs } from '../reading/runs.js';
import type { Control } from './control.js';
import { terminateChildren } from './reset-children.js';
import { type Found, findPoint, type OpenChild, openChildren } from './reset-point.js';

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
    const ended = latest.status === 'running' ? latest : undefined;
    const reason = resetReason(point);
    const found = await findPoint(this.histories, base, point);
    // Nothing to go back to, not even once the run has ended: it must not be ended for that.
    if (!found.hasTurns) throw cannotPart(base, point);
    const { kept, cut } = childrenOf(found);
    const lost = [...cut, ...(await this.#ofOther(base, ended, kept))];
    // Where no turn has seen the completion, the reset may still be refused, and then nothing must have changed.
    const isCertain = found.turnStartedEventId !== undefined;
    if (isCertain) await terminateChildren(this.cluster, lost);
    const ref = (await this.#part(base, found, reason)) ?? (await this.#partEnded(base, point, reason));
    if (!ref) throw cannotPart(base, point);
    if (!isCertain) await terminateChildren(this.cluster, lost);
    return { made: { ...base, ...ref }, ...(ended && { ended }) };
  }

  /** Undefined when the history cannot be parted there, or not as long as the run is open. */
  async #part(base: KnownRun, found: Found, reason: string): Promise<RunRef | undefined> {
    for (const place of placesToPart(found, base.status === 'running')) {
      try {
        return await this.#resetTo(base, place, reason);
      } catch (error) {
        if (!isWrongPlace(error)) throw error;
      }
    }
    return undefined;
  }

  /**
   * The history of an open run may end where it would have to part; once the run has ended, it does not. Should this
   * server die between the two, the same reset of the closed run goes on from the same place.
   */
  async #partEnded(base: KnownRun, point: ResetPoint, reason: string): Promise<RunRef | undefined> {
    if (base.status !== 'running') return undefined;
    const { workflowId, runId } = base;
    await this.control.terminate({ workflowId, runId }, reason).catch(ignoreClosed);
    const found = await findPoint(this.histories, base, point);
    return this.#part({ ...base, status: 'terminated' }, found, reason);
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

  /** Children of another run of the id, which ends by this reset: nobody is left who would. */
  async #ofOther(base: RunRef, ended: RunRef | undefined, kept: readonly RunRef[]): Promise<RunRef[]> {
    if (!ended || ended.runId === base.runId) return [];
    const isKept = ({ runId }: RunRef) => kept.some((child) => child.runId === runId);
    return (await openChildren(this.histories, ended)).filter((child) => !isKept(child));
  }
}

/** Those that the new run has, and those of the part that it does not have. */
function childrenOf({ children, completedEventId }: Found): { kept: RunRef[]; cut: RunRef[] } {
  const isKept = ({ initiatedEventId }: OpenChild) => initiatedEventId <= completedEventId;
  return { kept: children.filter(isKept), cut: children.filter((child) => !isKept(child)) };
}

/**
 * The first event that the new run does not have, as candidates: Temporal parts histories only while a turn is due or
 * under way, and only between events that it has written one after the other. Most turns are written as due, as begun
 * and as done. One that follows another at once is written as due and begun together with what came before; one that
 * is tried again is written as a whole once it has succeeded.
 */
function placesToPart(found: Found, isOpen: boolean): number[] {
  const { turnStartedEventId: begun, completedEventId: completed, length } = found;
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

/** The completion was written together with the end of the run, as when a turn was under way at that moment. */
function cannotPart({ workflowId, runId, status }: KnownRun, { stepName }: ResetPoint): PerdureError {
  const why =
    stepName === undefined
      ? status === 'running'
        ? 'the run waits for its retry and has not begun, so the Temporal cluster has nothing to go back to; reset the run before it'
        : 'the run was ended before its first turn, so the Temporal cluster has nothing to go back to; start it anew'
      : `step "${stepName}" completed as its run was ended and no turn has seen it, so the Temporal cluster cannot go back there; reset to an earlier step`;
  return new PerdureError('StepNotCompletedError', why, { workflowId, runId });
}

function ignoreClosed(error: unknown): void {
  if (!(error instanceof PerdureError) || error.name !== 'WorkflowAlreadyClosedError') throw error;
}
