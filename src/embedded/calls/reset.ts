/**
 * Reset: a new run that has the history up to the completion of a step, or to its start, and goes on from there.
 *
 * 1. The old history is only read. The new run has the events before the turn that saw that, then a
 *    failed turn that marks the reset (from there on random values differ), then what came later and was not the code's
 *    own doing: the outcomes of children that it waits for, and signals. It is not paused, whatever the old one was:
 *    whoever resets a run wants it to go on.
 * 2. Whether it can be done is known before anything changes.
 * 3. Children that were asked for in the part that is not kept end with it, unless they are detached: the new run will
 *    ask for them again, under the same ids where the code gives them.
 */

import { ownEvents } from '../../core/cost/sums.js';
import { faultPoint } from '../../core/fault-point.js';
import type { EventOf, HistoryEvent, NewEvent } from '../../core/history/event.js';
import { isPauseSignal, RESUME_SIGNAL } from '../../core/run/pause.js';
import { resetReason } from '../../core/run/run.js';
import { versionFromText } from '../../core/run/version.js';
import type { ResetPoint, RunRef, RunSelector } from '../../engine.js';
import type { StepQueue } from '../delivery/step-queue.js';
import type { Kernel } from '../kernel.js';
import type { Closings } from '../life/closings.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { Outbox, Sender } from '../life/outbox.js';
import type { Piece } from '../life/piecemeal.js';
import type { Relations } from '../life/relations.js';
import { childrenAskedFor, keptEvents } from '../state/reset-point.js';
import { applyEvent, initialState, type PendingStep, type RunState } from '../state/run-state.js';
import { ActiveRun } from '../store/active-run.js';
import type { RunRow } from '../store/tables/run-row.js';

type Message =
  | EventOf<'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>
  | EventOf<'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>;

export class Reset {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly relations: Relations,
    private readonly stepQueue: StepQueue,
    private readonly outbox: Outbox,
    private readonly closings: Closings,
  ) {}

  /** All that was decided before is on disk. @throws WorkflowNotFoundError, StepNotFoundError, StepNotCompletedError */
  reset(selector: RunSelector, point: ResetPoint): RunRef {
    const { clock, commit, runs, tables } = this.kernel;
    const base = runs.selectRow(selector);
    const { workflow_id: workflowId } = base;
    const history = tables.history.read(base.key, 0);
    const kept = keptEvents(history, point, selector);
    const runId = this.kernel.ids.newRunId(clock.now());
    const state = initialState(runId, kept[0]!);
    for (const event of kept.slice(1)) applyEvent(state, event);

    const current = runs.select({ workflowId });
    // All that has to be read is read before anything changes: it may turn out to be damaged.
    const later = this.#signalsOfLaterRuns(base);
    const currentHistory = current.key === base.key ? [] : tables.history.read(current.key, 0);
    const outcomes = this.#childOutcomes(state.children);
    const askers = current.key === base.key ? askersOf(current) : NOBODY;
    if (!current.isClosed) this.#end(current, runId, point);
    const baseEnd = current.key === base.key ? current.unsaved : [];
    const cutOff = [...history, ...baseEnd].slice(kept.length);
    const keptChildren = new Set([...state.children.values()].map((child) => child.runId));
    const baseRef = { key: base.key, runId: base.run_id, workflowId };
    const currentRef = { key: current.key, runId: current.state.runId, workflowId };
    const piece = this.outbox.piece();
    const endChildren = (of: Sender, events: readonly HistoryEvent[]) =>
      this.#endChildren(current, of, events, keptChildren, piece);
    const cutOffChildren = new Set<string>();
    this.closings.gather(() => {
      for (const id of endChildren(baseRef, cutOff)) cutOffChildren.add(id);
      for (const id of endChildren(currentRef, currentHistory)) cutOffChildren.add(id);
    });
    for (const id of cutOffEarlier([...cutOff, ...currentHistory], kept)) cutOffChildren.add(id);

    const now = clock.now();
    const run = new ActiveRun(runs.nextKey(), state);
    run.beginsWith(kept);
    run.format = base.format ?? undefined;
    run.version = base.version === null ? undefined : versionFromText(base.version);
    runs.add(run);
    this.kernel.trees.started(state);
    this.kernel.observer.runStarted?.(state.started.workflowType);
    commit.together(run, current);
    const append = (event: NewEvent): HistoryEvent => this.lifecycle.append(run, event, now);
    // A completion that came while only an update had the run at work stands there without a turn behind it.
    if (state.turnScheduledEventId === undefined) {
      append({ type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } });
    }
    const scheduledEventId = state.turnScheduledEventId!;
    const started = append({ type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId } });
    append({
      type: 'WORKFLOW_TASK_FAILED',
      attributes: {
        scheduledEventId,
        startedEventId: started.id,
        cause: 'RESET_WORKFLOW',
        failure: { kind: 'application', type: 'ResetWorkflow', message: point.reason ?? 'reset' },
        baseRunId: base.run_id,
        newRunId: runId,
        ...(cutOffChildren.size > 0 && { cutOffChildren: [...cutOffChildren] }),
      },
    });
    for (const step of state.steps.values()) keepCode(run, step, askers.get(step.scheduledEventId));
    if (state.paused) {
      append({ type: 'WORKFLOW_EXECUTION_SIGNALED', attributes: { signalName: RESUME_SIGNAL, input: [] } });
    }
    for (const event of childEvents(state.children, cutOff, outcomes)) append(event);
    for (const event of this.#answersTo(kept)) append(event);
    // Ending it may have brought signals out of its inbox.
    const isLater =
      current.key !== base.key && current.state.started.firstExecutionRunId === base.first_run_id;
    const ofCurrent = isLater ? current.unsaved : [];
    for (const signal of [...signalsIn(cutOff), ...later, ...signalsIn(ofCurrent)]) append(signal);
    for (const step of state.steps.values()) this.stepQueue.enqueue(run, step);
    this.lifecycle.scheduleTurn(run);
    faultPoint('reset');
    // Steps of the kept history must not be marked there as handed out: the reset comes after their scheduled event.
    commit.flush();
    return { workflowId, runId };
  }

  #end(run: ActiveRun, newExecutionRunId: string, point: ResetPoint): void {
    const attributes = { reason: resetReason(point), newExecutionRunId };
    this.lifecycle.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_TERMINATED', attributes }, true);
  }

  /** Ends what is still open of the children that the events of a run ask for; answers with the ids of all of them. */
  #endChildren(
    current: ActiveRun,
    parent: Sender,
    events: readonly HistoryEvent[],
    kept: ReadonlySet<string | undefined>,
    piece: Piece,
  ): string[] {
    const ids: string[] = [];
    const started = runsOfChildren(events);
    for (const event of childrenAskedFor(events)) {
      const { workflowId, parentClosePolicy } = event.attributes;
      const child = this.kernel.runs.glance(workflowId);
      // Somebody else may have the id.
      if (!child || child.firstRunId !== started.get(event.id) || kept.has(child.firstRunId)) continue;
      ids.push(workflowId);
      if (!child.isClosed && parentClosePolicy !== 'ABANDON') this.outbox.send(current, event, piece, parent);
    }
    return ids;
  }

  /**
   * What became of messages that were on their way when the old run closed, so that it could not hear of it. They have arrived by
   * now, where there was anybody.
   */
  #answersTo(kept: readonly HistoryEvent[]): NewEvent[] {
    const unanswered = new Map<number, NewEvent>();
    for (const event of kept) {
      switch (event.type) {
        case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
          unanswered.set(event.id, this.#answerTo(event));
          break;
        case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
        case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
        case 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
          unanswered.delete(event.attributes.initiatedEventId);
          break;
        default:
      }
    }
    return [...unanswered.values()];
  }

  #answerTo({ id: initiatedEventId, type, attributes }: Message): NewEvent {
    const { workflowId } = attributes;
    const runId = this.kernel.runs.glance(workflowId)?.runId;
    const isSignal = type === 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED';
    return runId === undefined
      ? {
          type: isSignal
            ? 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED'
            : 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
          attributes: { initiatedEventId, workflowId, cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND' },
        }
      : {
          type: isSignal
            ? 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED'
            : 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
          attributes: { initiatedEventId, workflowExecution: { workflowId, runId } },
        };
  }

  /** What has become of children that have closed, by the events that asked for them. */
  #childOutcomes(children: RunState['children']): ReadonlyMap<number, NewEvent> {
    const outcomes = new Map<number, NewEvent>();
    for (const [id, child] of children) {
      const event = this.relations.closedSince(child);
      if (event) outcomes.set(id, event);
    }
    return outcomes;
  }

  /** The signals that came to the runs which this one went on as: by continue-as-new, by a retry, by another reset. */
  #signalsOfLaterRuns({ key, first_run_id: firstRunId }: RunRow): NewEvent[] {
    const { tables } = this.kernel;
    return tables.runs
      .chainKeys(firstRunId)
      .filter((later) => later > key)
      .flatMap((later) => signalsIn(cameToItself(tables.history.read(later, 0))));
  }
}

const NOBODY: ReadonlyMap<number, string> = new Map();

/** The code that has asked for each of the steps that are open, by the ids of its versions. */
function askersOf({ state, version }: ActiveRun): ReadonlyMap<number, string> {
  const askers = new Map<number, string>();
  for (const { scheduledEventId, delivery } of state.steps.values()) {
    const codeId = delivery.codeId ?? version?.id;
    if (codeId !== undefined) askers.set(scheduledEventId, codeId);
  }
  return askers;
}

/** A step that the new run takes over stays with the code that asked for it; where nobody knows, that of the last turn may have. */
function keepCode(
  run: ActiveRun,
  { scheduledEventId, delivery }: PendingStep,
  asker: string | undefined,
): void {
  const ofLastTurn = run.version?.id;
  if (ofLastTurn === undefined || asker === ofLastTurn) return;
  delivery.codeId = asker ?? ofLastTurn;
  if (asker === undefined) delivery.isCodeGuessed = true;
  run.changedSteps.add(scheduledEventId);
}

/** Without what a reset has handed on to the run, which stands before the first turn that follows. */
function cameToItself(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const own = ownEvents(events);
  if (own.length === events.length) return events;
  const turn = own.findIndex(({ type }) => type === 'WORKFLOW_TASK_SCHEDULED');
  return turn < 0 ? [] : own.slice(turn);
}

/** The first runs of the children that were started, by the events that asked for them. */
function runsOfChildren(events: readonly HistoryEvent[]): ReadonlyMap<number, string> {
  const runs = new Map<number, string>();
  for (const event of events) {
    if (event.type !== 'CHILD_WORKFLOW_EXECUTION_STARTED') continue;
    runs.set(event.attributes.initiatedEventId, event.attributes.workflowExecution.runId);
  }
  return runs;
}

/** The children that resets within these events had cut off: a run that never came to start them again hands them on. */
function cutOffEarlier(events: readonly HistoryEvent[], kept: readonly HistoryEvent[]): string[] {
  const startedByKept = new Set(childrenAskedFor(kept).map(({ attributes }) => attributes.workflowId));
  return events
    .flatMap((event) =>
      event.type === 'WORKFLOW_TASK_FAILED' ? (event.attributes.cutOffChildren ?? []) : [],
    )
    .filter((workflowId) => !startedByKept.has(workflowId));
}

function signalsIn(events: readonly HistoryEvent[]): NewEvent[] {
  const signals: NewEvent[] = [];
  for (const { type, attributes } of events) {
    if (type !== 'WORKFLOW_EXECUTION_SIGNALED' || isPauseSignal(attributes.signalName)) continue;
    signals.push({ type, attributes });
  }
  return signals;
}

/**
 * What has become, after the point, of the children that the new run waits for: as the old run has recorded it, else, where
 * that had closed before, as it turned out.
 */
function childEvents(
  children: RunState['children'],
  cutOff: readonly HistoryEvent[],
  outcomes: ReadonlyMap<number, NewEvent>,
): NewEvent[] {
  const events: NewEvent[] = [];
  const closed = new Set<number>();
  for (const event of cutOff) {
    switch (event.type) {
      case 'CHILD_WORKFLOW_EXECUTION_STARTED':
        break;
      case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
      case 'CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
        closed.add(event.attributes.initiatedEventId);
        break;
      default:
        continue;
    }
    if (!children.has(event.attributes.initiatedEventId)) continue;
    const { type, attributes } = event;
    events.push({ type, attributes } as NewEvent);
  }
  for (const [id, event] of outcomes) if (!closed.has(id)) events.push(event);
  return events;
}
