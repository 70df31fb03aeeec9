/**
 * Reset: a new run that has the history up to the completion of a step and goes on from there.
 *
 * The old history is only read. The new run has the events before the turn that saw the step's completion, then a
 * failed turn that marks the reset (from there on random values differ), then the signals that came later.
 */
import { PerdureError } from '../core/errors.js';
import type { HistoryEvent } from '../core/event.js';
import { newRunId } from '../core/id.js';
import { invariant } from '../core/invariant.js';
import type { RunRef, RunSelector } from '../engine.js';
import { ActiveRun } from './active-run.js';
import type { Machine } from './machine.js';
import { applyEvent, initialState } from './state.js';

export function resetRun(
  machine: Machine,
  selector: RunSelector,
  point: { stepName: string; occurrence?: number; reason?: string },
): RunRef {
  const { lifecycle, tables } = machine;
  // What was decided so far goes to disk first, so that the history can be read from one place.
  machine.commit.flush(true);
  const base = machine.runs.selectRow(selector);
  const history = tables.readEvents(base.key, 0);
  const completion = completionOf(history, point, selector);
  const keep = lastEventBeforeTurn(history, completion);
  const { workflow_id: workflowId } = base;
  const newId = newRunId(machine.clock.now());

  const current = machine.runs.latest(workflowId);
  if (current && !current.isClosed) {
    const reason = `reset after step ${point.stepName}${point.reason ? `: ${point.reason}` : ''}`;
    lifecycle.endFromOutside(
      current,
      { type: 'WORKFLOW_EXECUTION_TERMINATED', attributes: { reason, newExecutionRunId: newId } },
      true,
    );
  }
  // Ending the base run may have brought signals out of its inbox.
  const later =
    current?.key === base.key
      ? [...history.slice(keep), ...current.unsaved.filter((event) => event.id > history.length)]
      : history.slice(keep);

  const now = machine.clock.now();
  const run = new ActiveRun(machine.runs.nextKey(), initialState(newId, history[0]!));
  for (const event of history.slice(1, keep)) applyEvent(run.state, event);
  run.isNew = true;
  run.startedAt = now;
  run.unsaved = history.slice(0, keep);
  run.format = base.format ?? undefined;
  machine.runs.add(run);

  const scheduledEventId = run.state.turnScheduledEventId;
  invariant(scheduledEventId !== undefined, `run ${base.run_id}: no turn before event ${keep + 1}`);
  const started = lifecycle.append(
    run,
    { type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId } },
    now,
  );
  lifecycle.append(
    run,
    {
      type: 'WORKFLOW_TASK_FAILED',
      attributes: {
        scheduledEventId,
        startedEventId: started.id,
        cause: 'RESET_WORKFLOW',
        failure: { kind: 'application', type: 'ResetWorkflow', message: point.reason ?? 'reset' },
        baseRunId: base.run_id,
        newRunId: newId,
      },
    },
    now,
  );
  for (const event of later) {
    if (event.type === 'WORKFLOW_EXECUTION_SIGNALED') {
      lifecycle.append(run, { type: event.type, attributes: event.attributes }, now);
    }
  }
  for (const step of run.state.steps.values()) machine.steps.enqueue(run, step);
  lifecycle.scheduleTurn(run);
  // Steps of the kept history must not be marked there as handed out: the reset comes after their scheduled event.
  machine.commit.flush();
  return { workflowId, runId: newId };
}

/** The event that completed the wanted execution of the step. */
function completionOf(
  history: readonly HistoryEvent[],
  { stepName, occurrence }: { stepName: string; occurrence?: number },
  selector: RunSelector,
): number {
  const executions = new Map<number, number | undefined>();
  for (const event of history) {
    if (event.type === 'ACTIVITY_TASK_SCHEDULED' && event.attributes.stepName === stepName) {
      executions.set(event.id, undefined);
    }
    if (event.type === 'ACTIVITY_TASK_COMPLETED' && executions.has(event.attributes.scheduledEventId)) {
      executions.set(event.attributes.scheduledEventId, event.id);
    }
  }
  const ends = [...executions.values()];
  if (ends.length === 0 || (occurrence !== undefined && occurrence > ends.length)) {
    const found =
      ends.length === 0 ? 'is not in the history' : `was executed ${ends.length} times, not ${occurrence}`;
    throw new PerdureError('StepNotFoundError', `step "${stepName}" ${found}`, selector);
  }
  const chosen =
    occurrence !== undefined ? ends[occurrence - 1] : ends.filter((end) => end !== undefined).at(-1);
  if (chosen === undefined) {
    throw new PerdureError('StepNotCompletedError', `step "${stepName}" has not completed`, selector);
  }
  return chosen;
}

/** How many events to keep: all up to the start of the turn that saw event `eventId`. */
function lastEventBeforeTurn(history: readonly HistoryEvent[], eventId: number): number {
  for (let index = eventId; index < history.length - 1; index++) {
    if (
      history[index]!.type === 'WORKFLOW_TASK_STARTED' &&
      history[index + 1]!.type === 'WORKFLOW_TASK_COMPLETED'
    ) {
      return index;
    }
  }
  // No turn has seen it yet: the scheduled one is the last turn event, and nothing of a close must be kept.
  let end = history.length;
  while (end > eventId && isAfterTurn(history[end - 1]!)) end--;
  return end;
}

function isAfterTurn(event: HistoryEvent): boolean {
  return (
    event.type === 'WORKFLOW_EXECUTION_TERMINATED' ||
    event.type === 'WORKFLOW_EXECUTION_TIMED_OUT' ||
    event.type === 'WORKFLOW_EXECUTION_FAILED'
  );
}
