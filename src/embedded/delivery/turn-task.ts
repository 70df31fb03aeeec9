/** The message that asks a worker for a turn: what it must know of the run, and the events it lacks. */
import type { HistoryEvent, StepSettings } from '../../core/history/event.js';
import type { TurnTask } from '../../core/task.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { Kernel } from '../kernel.js';
import type { ActiveRun, AdmittedUpdate, TurnUnderWay, WaitingQuery } from '../store/active-run.js';
import type { WorkerConnection } from '../workers/worker-connection.js';

type Wanted = Pick<TurnTask, 'turnId' | 'startedAt' | 'historyLength' | 'events' | 'updates' | 'readOnly'>;

export function turnTask(
  kernel: Kernel,
  { state }: ActiveRun,
  wanted: Wanted,
  queries: readonly WaitingQuery[],
): TurnTask {
  return {
    kind: 'turn',
    turnId: wanted.turnId,
    runId: state.runId,
    workflowId: state.workflowId,
    workflowType: state.started.workflowType,
    catalog: state.started.catalog,
    startedAt: wanted.startedAt,
    events: wanted.events.map(forWorker),
    historyLength: wanted.historyLength,
    continueAsNewSuggested: suggestsContinueAsNew(kernel, state.lastEventId),
    updates: wanted.updates,
    queries: queries.map(({ queryId, name, input }) => ({ queryId, name, input })),
    readOnly: wanted.readOnly,
  };
}

/** A turn matches what it asked for with what was scheduled by number and name; the rest would only cost time to send. */
function forWorker(event: HistoryEvent): HistoryEvent {
  if (event.type !== 'ACTIVITY_TASK_SCHEDULED') return event;
  const { id, at, type } = event;
  const { activityId, activityType, stepName } = event.attributes;
  return {
    id,
    at,
    type,
    attributes: { activityId, activityType, stepName, input: [], settings: NO_SETTINGS },
  };
}

const NO_SETTINGS = {} as StepSettings;

export function suggestsContinueAsNew({ limits }: Kernel, historyLength: number): boolean {
  return historyLength >= limits.historyEventsSuggestContinue;
}

/** What the worker has not been sent yet: all events when it does not have the run cached. */
export function eventsFor(kernel: Kernel, run: ActiveRun, worker: WorkerConnection): HistoryEvent[] {
  const sentUpTo = worker.cached.get(run.state.runId) ?? 0;
  const first = run.unsent[0];
  if (first ? first.id === sentUpTo + 1 : sentUpTo === run.state.lastEventId) return run.unsent;
  return eventsAfter(kernel, run, sentUpTo);
}

export function eventsAfter({ tables }: Kernel, run: ActiveRun, afterEventId: number): HistoryEvent[] {
  const unsaved = run.unsaved.filter((event) => event.id > afterEventId);
  if (unsaved[0]?.id === afterEventId + 1) return unsaved;
  return [...tables.history.read(run.key, afterEventId), ...unsaved];
}

/** The traces of the callers whose messages have come since the last turn. */
export function causesOf(
  events: readonly HistoryEvent[],
  updates: readonly AdmittedUpdate[],
): TraceContext[] | undefined {
  const causes: TraceContext[] = [];
  for (let i = events.length - 1; i >= 0 && events[i]!.type !== 'WORKFLOW_TASK_COMPLETED'; i--) {
    const { type, attributes } = events[i]!;
    if (type === 'WORKFLOW_EXECUTION_SIGNALED' && attributes.traceContext)
      causes.push(attributes.traceContext);
  }
  for (const { request } of updates) if (request.traceContext) causes.push(request.traceContext);
  return causes.length === 0 ? undefined : causes;
}

/** The worker has all events up to the turn's last one, and keeps the run in its cache. */
export function turnIsSent(kernel: Kernel, run: ActiveRun, { worker, upTo }: TurnUnderWay): void {
  kernel.dispatcher.remember(run.state.runId, worker, upTo);
  run.unsent = [];
}
