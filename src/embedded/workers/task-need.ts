/** What a task needs of the worker that gets it. */
import type { Need } from './fair-queue.js';

export interface TaskNeed extends Need {
  readonly workflowType: string;
  /** Of a step; a turn or a query needs the workflow alone. */
  readonly stepName?: string;
  /** Code that the run's history does not fit, by the ids of its versions. */
  readonly misfits: readonly string[];
}

const NONE: readonly string[] = [];

export function turnNeed(workflowType: string, misfits: ReadonlySet<string>): TaskNeed {
  if (misfits.size === 0) return { key: workflowType, workflowType, misfits: NONE };
  const ids = [...misfits].sort();
  return { key: `${workflowType}!${ids.join('!')}`, workflowType, misfits: ids };
}

export function stepNeed(workflowType: string, stepName: string): TaskNeed {
  return { key: `${workflowType}#${stepName}`, workflowType, stepName, misfits: NONE };
}
