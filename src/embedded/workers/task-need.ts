/** What a task needs of the worker that gets it. */
import type { Need } from './fair-queue.js';

export interface TaskNeed extends Need {
  readonly workflowType: string;
  /** Of a step; a turn or a query needs the workflow alone. */
  readonly stepName?: string;
  /**
   * Of a step: the code whose turn has asked for it, by the id of its version. That code knows what it hands over, and another
   * version of the step may want something else; so a step goes to it while it is there and has slots.
   */
  readonly codeId?: string;
  /** Code that the run's history, or the input of the step, does not fit, by the ids of its versions. */
  readonly misfits: readonly string[];
}

const NONE: readonly string[] = [];

export function turnNeed(
  workflowType: string,
  misfits: Iterable<string> & { readonly size: number },
): TaskNeed {
  if (misfits.size === 0) return { key: workflowType, workflowType, misfits: NONE };
  const ids = [...misfits].sort();
  return { key: `${workflowType}!${ids.join('!')}`, workflowType, misfits: ids };
}

export function stepNeed(
  workflowType: string,
  stepName: string,
  codeId = '',
  refusedBy: readonly string[] = NONE,
): TaskNeed {
  const sought = `${workflowType}#${stepName}@${codeId}`;
  const key = refusedBy.length === 0 ? sought : `${sought}!${refusedBy.join('!')}`;
  return { key, workflowType, stepName, codeId, misfits: refusedBy };
}
