/** The words for the state of a run, as the contract spells them. */
export type ClosedStatus =
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'terminated'
  | 'timed_out'
  | 'continued_as_new';
export type RunStatus = 'running' | ClosedStatus;

export const RUN_STATUSES = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
  'continued_as_new',
] as const satisfies readonly RunStatus[];

import type { EventTypeName } from '../history/event.js';

export const STATUS_OF_CLOSE_EVENT: Partial<Record<EventTypeName, ClosedStatus>> = {
  WORKFLOW_EXECUTION_COMPLETED: 'completed',
  WORKFLOW_EXECUTION_FAILED: 'failed',
  WORKFLOW_EXECUTION_CANCELED: 'cancelled',
  WORKFLOW_EXECUTION_TERMINATED: 'terminated',
  WORKFLOW_EXECUTION_TIMED_OUT: 'timed_out',
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: 'continued_as_new',
};

/** The form in which a run's result is answered: "2", or the older one without a version. */
export type ResultFormat = 'current' | 'legacy';

/** Why a run was terminated that was reset. */
export function resetReason({ stepName, reason }: { stepName?: string; reason?: string }): string {
  const what = stepName === undefined ? 'reset to the start' : `reset after step ${stepName}`;
  return reason ? `${what}: ${reason}` : what;
}
