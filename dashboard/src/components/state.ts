/** What a run is, for people: its status, and whether it is kept from going on. */
import type { RunStatus } from 'perdure/client';

export type RunState = RunStatus | 'paused' | 'heldBack';

export const STATE_NAMES: Record<RunState, string> = {
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  terminated: 'Terminated',
  timed_out: 'Timed out',
  continued_as_new: 'Continued',
  paused: 'Paused',
  heldBack: 'Held back',
};

export function stateOf(run: { status: RunStatus; paused?: unknown; heldBack?: unknown }): RunState {
  if (run.status !== 'running') return run.status;
  if (run.paused) return 'paused';
  return run.heldBack ? 'heldBack' : 'running';
}
