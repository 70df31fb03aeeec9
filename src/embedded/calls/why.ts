/**
 * Why a run is where it is, as far as the engine itself knows: what is queued, with a worker, pending, held back or paused.
 * Which handlers the run has registered only its code knows; whoever asks gets to say how to find that out.
 */

import { PerdureError } from '../../core/errors.js';
import { failureOfClose } from '../../core/history/close-failure.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { ClosedStatus } from '../../core/run/run.js';
import { type StuckRun, stuckAt, type Why, type WhyReason, whyAnswer } from '../../core/run/why.js';
import { childReasons, LooksBelow } from '../../core/run/why-children.js';
import {
  closedReason,
  heldBackReason,
  iso,
  noWorkerReason,
  pausedReason,
  type RegisteredHandlers,
  stepBackingOffReason,
  stepQueuedReason,
  stepRunningReason,
  timerReason,
  turnReason,
  waitingReasons,
  waitingReasonsInPassing,
} from '../../core/run/why-reasons.js';
import type { RunSelector } from '../../engine.js';
import { needOf } from '../delivery/step-queue.js';
import type { Kernel } from '../kernel.js';
import { firstTurnDueAt, type PendingChild, type PendingStep, treeOf } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import { DamagedRunError } from '../store/damage.js';
import type { RunRow } from '../store/tables/run-row.js';
import { turnNeed } from '../workers/task-need.js';
import { successorOf } from './outcome.js';

const NO_MISFITS: ReadonlySet<string> = new Set();

type WorkerOf = (run: ActiveRun, step: PendingStep) => string | undefined;

export async function whyOf(
  kernel: Kernel,
  selector: RunSelector,
  workerOf: WorkerOf,
  handlersOf: (run: ActiveRun) => Promise<RegisteredHandlers>,
): Promise<Why> {
  const row = kernel.runs.selectRow(selector);
  const { workflow_id: workflowId, run_id: runId } = row;
  const asOf = iso(kernel.clock.now());
  if (row.closed_at !== null) {
    const since = iso(row.closed_at);
    const reasons = [reasonOfClosed(kernel, row)];
    return whyAnswer({ workflowId, runId, status: row.status, since, reasons, asOf });
  }
  const run = kernel.runs.select({ workflowId, runId });
  // What it says is about this moment, and asking the run takes one.
  const since = iso(run.state.lastAt);
  const reasons = reasonsOf(kernel, run, workerOf, new LooksBelow());
  const timers = timersOf(run);
  if (reasons.length > 0) reasons.push(...timers.map((firesAt) => timerReason(firesAt)));
  else reasons.push(...waitingReasons({ workflowId, runId }, timers, await handlersOf(run)));
  return whyAnswer({ workflowId, runId, status: 'running', since, reasons, asOf });
}

function reasonOfClosed(kernel: Kernel, row: RunRow): WhyReason {
  const close = kernel.tables.history.last(row.key);
  const run = { workflowId: row.workflow_id, runId: row.run_id };
  const successor = successorOf(close);
  const next = successor === undefined ? { resetTo: resetTo(kernel, row, close) } : { successor };
  return closedReason(run, row.status as ClosedStatus, failureOfClose(close), next);
}

/** Later runs of the id in which the one is looked for that a reset has made of a run. */
const LATER_RUNS = 20;

/** One that was open ended by it and says so; of one that was closed before only the run knows that was made of it. */
function resetTo({ tables, runs }: Kernel, row: RunRow, close: HistoryEvent): string | undefined {
  if (close.type === 'WORKFLOW_EXECUTION_TERMINATED' && close.attributes.newExecutionRunId !== undefined) {
    return close.attributes.newExecutionRunId;
  }
  for (const later of tables.runs.later(row, LATER_RUNS)) {
    try {
      if (runs.originOf(later.run_id) === later.run_id) continue;
      if (tables.history.baseOf(later.key, later.run_id) === row.run_id) return later.run_id;
    } catch (error) {
      if (!(error instanceof DamagedRunError)) throw error;
    }
  }
  return undefined;
}

/** All but waiting for a time or a message. */
function reasonsOf(kernel: Kernel, run: ActiveRun, workerOf: WorkerOf, looks: LooksBelow): WhyReason[] {
  const { state, heldBack } = run;
  const { workflowId, runId } = state;
  const { catalog, workflowType } = state.started;
  const reasons: WhyReason[] = [];
  if (state.paused) {
    const purse = state.paused.by === 'budget' ? kernel.tables.purses.of(treeOf(state)) : undefined;
    reasons.push(pausedReason({ workflowId, runId }, state.paused, purse));
  }
  if (heldBack) {
    const { reason, since, attempt: attempts, retryAt } = heldBack;
    reasons.push(heldBackReason({ reason, since, attempts, retryAt }));
  }
  const steps = [...state.steps.values()].filter((step) => !step.closing);
  const queued = run.isPaused ? [] : steps.filter(({ delivery }) => delivery.status === 'queued');
  if (!kernel.dispatcher.isAttended(catalog, turnNeed(workflowType, NO_MISFITS))) {
    if (run.needsTurn || queued.length > 0) reasons.push(noWorkerReason(catalog, workflowType));
  } else {
    const lacks = (step: PendingStep) => !kernel.dispatcher.isAttended(catalog, needOf(run, step));
    const lacking = new Set(queued.filter(lacks).map(({ stepName }) => stepName));
    for (const stepName of lacking) reasons.push(noWorkerReason(catalog, workflowType, stepName));
  }
  if (run.turn || run.isClosed) {
    reasons.push(turnReason('turnRunning', run.turn ? run.turn.startedAt : state.lastAt));
  } else if (run.needsTurn && !heldBack) {
    reasons.push(turnReason('turnQueued', state.lastAt));
  }
  for (const step of steps) reasons.push(reasonOfStep(kernel, run, step, workerOf));
  const children = [...state.children.values()].filter(({ closing }) => !closing);
  reasons.push(...childReasons(children.map((child) => lookedAt(kernel, child, looks))));
  // Nothing of its code runs before then, so there is nothing to ask it.
  const firstTurnAt = firstTurnDueAt(state);
  if (firstTurnAt !== undefined) reasons.push(timerReason(firstTurnAt));
  return reasons;
}

/** When they fire, the next one first. */
function timersOf({ state }: ActiveRun): number[] {
  const timers = [...state.timers.values()].filter(({ firing }) => !firing);
  return timers.map(({ firesAt }) => firesAt).sort((one, other) => one - other);
}

function reasonOfStep(kernel: Kernel, run: ActiveRun, step: PendingStep, workerOf: WorkerOf): WhyReason {
  const { delivery, settings, scheduledAt, scheduledEventId } = step;
  const { attempt, startedAt, heartbeatAt, availableAt, lastFailure: failure } = delivery;
  switch (delivery.status) {
    case 'queued': {
      const { runId, started } = run.state;
      const behind = kernel.dispatcher.stepsBefore(started.catalog, run.tree, needOf(run, step), {
        runId,
        scheduledEventId,
      });
      return stepQueuedReason(step, scheduledAt, run.isPaused, run.isPaused ? undefined : behind);
    }
    case 'running': {
      const deadlines = [startedAt + settings.startToCloseTimeoutMs];
      if (settings.scheduleToCloseTimeoutMs !== undefined) {
        deadlines.push(scheduledAt + settings.scheduleToCloseTimeoutMs);
      }
      const timeoutAt = Math.min(...deadlines);
      const lastHeartbeatAt = heartbeatAt === 0 ? undefined : heartbeatAt;
      const worker = workerOf(run, step);
      return stepRunningReason(step, { attempt, startedAt, timeoutAt, lastHeartbeatAt, worker });
    }
    case 'backoff': {
      const { maximumAttempts } = settings.retry;
      const given = { attempt, maximumAttempts, nextAttemptAt: availableAt, failure };
      return stepBackingOffReason(step, given, run.isPaused);
    }
  }
}

function lookedAt(kernel: Kernel, child: PendingChild, looks: LooksBelow) {
  const { workflowId, workflowType, runId = '' } = child;
  try {
    const { status } = kernel.runs.selectRow({ workflowId });
    const isOpen = child.runId !== undefined && status === 'running';
    const stuck = isOpen ? stuckBelow(kernel, workflowId, looks) : undefined;
    return { child: { workflowId, runId, workflowType, status }, stuck };
  } catch (error) {
    // Asked for and not there yet, or set apart.
    if (!(error instanceof PerdureError)) throw error;
    return { child: { workflowId, runId, workflowType, status: 'running' as const }, stuck: undefined };
  }
}

/** In passing: nothing is asked of its code. @throws WorkflowNotFoundError, DataCorruptionError */
function stuckBelow(kernel: Kernel, workflowId: string, looks: LooksBelow): StuckRun | undefined {
  if (!looks.take()) return undefined;
  const run = kernel.runs.select({ workflowId });
  const { runId, started } = run.state;
  const reasons = reasonsOf(kernel, run, () => undefined, looks);
  if (reasons.length === 0) reasons.push(...waitingReasonsInPassing({ workflowId, runId }, timersOf(run)));
  else reasons.push(...timersOf(run).map((firesAt) => timerReason(firesAt)));
  return stuckAt({ workflowId, runId, workflowType: started.workflowType }, reasons);
}
