/** The message that asks a worker for a turn: what it must know of the run, and the events it lacks. */
import type { HistoryEvent, StepSettings } from '../core/event.js';
import type { TurnTask } from '../core/task.js';
import type { ActiveRun, WaitingQuery } from './active-run.js';
import type { Machine } from './machine.js';
import type { WorkerConnection } from './workers.js';

type Wanted = Pick<TurnTask, 'turnId' | 'startedAt' | 'historyLength' | 'events' | 'updates' | 'readOnly'>;

export function turnTask(
  machine: Machine,
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
    continueAsNewSuggested: suggestsContinueAsNew(machine, state.lastEventId),
    updates: wanted.updates,
    queries: queries.map(({ queryId, name, input }) => ({ queryId, name, input })),
    readOnly: wanted.readOnly,
  };
}

/** A turn matches what it asked for with what was scheduled by number and name; the rest would only cost time to send. */
function forWorker(event: HistoryEvent): HistoryEvent {
  if (event.type !== 'ACTIVITY_TASK_SCHEDULED') return event;
  const { activityId, activityType, stepName } = event.attributes;
  return { ...event, attributes: { activityId, activityType, stepName, input: [], settings: NO_SETTINGS } };
}

const NO_SETTINGS = {} as StepSettings;

export function suggestsContinueAsNew({ limits }: Machine, historyLength: number): boolean {
  return historyLength >= limits.historyEventsSuggestContinue;
}

/** What the worker has not been sent yet: all events when it does not have the run cached. */
export function eventsFor(machine: Machine, run: ActiveRun, worker: WorkerConnection): HistoryEvent[] {
  const sentUpTo = worker.cached.get(run.state.runId) ?? 0;
  const first = run.unsent[0];
  if (first ? first.id === sentUpTo + 1 : sentUpTo === run.state.lastEventId) return run.unsent;
  return eventsAfter(machine, run, sentUpTo);
}

export function eventsAfter({ tables }: Machine, run: ActiveRun, afterEventId: number): HistoryEvent[] {
  const unsaved = run.unsaved.filter((event) => event.id > afterEventId);
  if (unsaved[0]?.id === afterEventId + 1) return unsaved;
  return [...tables.readEvents(run.key, afterEventId), ...unsaved];
}
