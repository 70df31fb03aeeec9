/** What a closed run came to, read from its last event. */
import { failureOfClose } from '../../core/history/close-failure.js';
import type { HistoryEvent } from '../../core/history/event.js';
import { invariant } from '../../core/invariant.js';
import { type ResultFormat, STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { Payload } from '../../core/values/json.js';
import type { RunOutcome, TraceInfo } from '../../engine.js';
import type { ActiveRun } from '../store/active-run.js';

export interface ClosedRun {
  workflowId: string;
  runId: string;
  firstRunId: string;
  format: ResultFormat;
  input: Payload | undefined;
  close: HistoryEvent;
  trace: TraceInfo | null;
}

export function closedRunOf({ state, format, closeEvent }: ActiveRun): ClosedRun {
  invariant(closeEvent, `run ${state.runId} is closed without a closing event`);
  return {
    workflowId: state.workflowId,
    runId: state.runId,
    firstRunId: state.started.firstExecutionRunId,
    format: format ?? 'current',
    input: state.started.input[0],
    close: closeEvent,
    trace: null,
  };
}

export function outcomeOf(
  { workflowId, runId, format, close, trace }: ClosedRun,
  input: Payload | undefined,
): RunOutcome {
  const status = STATUS_OF_CLOSE_EVENT[close.type];
  invariant(status, `run ${runId} is closed but its last event is ${close.type}`);
  return {
    workflowId,
    runId,
    status,
    input,
    output: outputOf(close),
    failure: failureOfClose(close),
    format,
    trace,
  };
}

/** The run that a closing event leads to by itself. */
export function successorOf(close: HistoryEvent): string | undefined {
  switch (close.type) {
    case 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW':
    case 'WORKFLOW_EXECUTION_FAILED':
      return close.attributes.newExecutionRunId;
    default:
      return undefined;
  }
}

function outputOf(close: HistoryEvent): Payload | undefined {
  return close.type === 'WORKFLOW_EXECUTION_COMPLETED' ? close.attributes.result : undefined;
}
