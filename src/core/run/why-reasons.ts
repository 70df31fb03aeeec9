/**
 * The reasons in words. What an engine has found is said here, so that all of them say the same, and of a failure no more
 * than fits into a sentence.
 */

import { type Budget, budgetReason, isMet } from '../cost/budget.js';
import type { Failure } from '../history/failure.js';
import { serializeError } from '../history/serialized-error.js';
import { segmentOfId } from '../values/id-segment.js';
import { cut } from '../values/text.js';
import { CALLBACK_SIGNAL, FEEDBACK_SIGNAL, isOwnSignal } from './callback.js';
import type { Paused } from './pause.js';
import type { ClosedStatus } from './run.js';
import type { WhyReason } from './why.js';

export type ReasonOf<C extends WhyReason['code']> = Extract<WhyReason, { code: C }>;

export interface RunName {
  workflowId: string;
  runId: string;
}

export const iso = (at: number): string => new Date(at).toISOString();

/** Of what an error says, in a sentence. */
const MAX_SAID = 300;

export const pathOf = ({ workflowId }: { workflowId: string }): string =>
  `/workflow/${segmentOfId(workflowId)}`;

const SUMMARY: Record<ClosedStatus, string> = {
  completed: 'It has completed.',
  failed: 'It has failed',
  cancelled: 'It was cancelled.',
  terminated: 'It was terminated',
  timed_out: 'It took longer than its executionTimeout.',
  continued_as_new: 'It goes on as another run.',
};

/** `failure` as the result has it; `successor` the run that it led to by itself, `resetTo` the one that a reset has made of it. */
export function closedReason(
  run: RunName,
  status: ClosedStatus,
  failure: Failure | undefined,
  { successor, resetTo }: { successor?: string; resetTo?: string },
): ReasonOf<'closed'> {
  const newRunId = successor ?? resetTo;
  const words = SUMMARY[status];
  const said = withoutFullStop(cut(failure?.message || 'no reason given', MAX_SAID));
  const message = words.endsWith('.') ? words : `${words}: ${said}.`;
  const next =
    successor !== undefined && status === 'failed'
      ? ' It is tried again.'
      : newRunId !== undefined && newRunId === resetTo
        ? ' It was reset.'
        : '';
  const reset = `When the cause is gone, reset it to a step that completed: POST ${pathOf(run)}/runs/${run.runId}/reset`;
  return {
    code: 'closed',
    message: `${message}${next}`,
    action:
      newRunId !== undefined
        ? `Look at run ${newRunId}, which goes on in its place`
        : status === 'failed'
          ? reset
          : null,
    status,
    error: failure ? serializeError(failure) : null,
    ...(newRunId !== undefined && { newRunId }),
  };
}

/** `budget` as it is by now, where that has paused it: what it said when it did may be less than was spent in the end. */
export function pausedReason(
  run: RunName,
  { reason: recorded, since, by }: Paused,
  budget?: Budget & { spent: string },
): ReasonOf<'paused'> {
  const isPaid = budget !== undefined && !isMet(budget.amount, budget.spent);
  const reason = by === 'budget' && budget && !isPaid ? budgetReason(budget, budget.spent) : recorded;
  const path = `${pathOf(run)}/runs/${run.runId}`;
  const said = withoutFullStop(cut(reason, MAX_SAID));
  return {
    code: 'paused',
    ...(by === 'budget' && isPaid
      ? { message: 'It is paused by its budget, which suffices now: it goes on in a moment.', action: null }
      : by === 'budget'
        ? {
            message: `It is paused by its budget: ${said}.`,
            action: `Raise it: PATCH ${path}/budget with { "amount": … }, or perdure budget ID AMOUNT`,
          }
        : { message: `It is paused: ${said}.`, action: `Resume it: POST ${path}/resume` }),
    reason,
    since: iso(since),
    by,
  };
}

export function heldBackReason(given: {
  reason: string;
  since: number;
  attempts: number;
  retryAt: number | undefined;
}): ReasonOf<'heldBack'> {
  const { reason, since, attempts, retryAt } = given;
  return {
    code: 'heldBack',
    message: `Its last turn failed: ${withoutFullStop(cut(reason, MAX_SAID))}.`,
    action:
      'Deploy code that fits its history; it is tried again by itself, and at once when new code is deployed',
    reason,
    since: iso(since),
    attempts,
    retryAt: retryAt === undefined ? null : iso(retryAt),
  };
}

/** `stepName` where workers have the workflow, and none of them the step: their code is another. */
export function noWorkerReason(
  catalog: string,
  workflowType: string,
  stepName?: string,
): ReasonOf<'noWorker'> {
  const what = `${stepName === undefined ? '' : `step "${stepName}" of `}workflow "${workflowType}"`;
  return {
    code: 'noWorker',
    message: `No worker is connected that serves catalog "${catalog}" and has ${what}.`,
    action: `Start one that has it: perdure worker DIR --catalog ${catalog}`,
    catalog,
    workflowType,
    ...(stepName !== undefined && { stepName }),
  };
}

export function turnReason(code: 'turnQueued' | 'turnRunning', since: number): WhyReason {
  const message = code === 'turnRunning' ? 'A worker is running its code.' : 'Its code waits for a worker.';
  return { code, message, action: null, since: iso(since) };
}

interface StepName {
  stepName: string;
  activityId: string;
}

export function stepQueuedReason(
  { stepName, activityId }: StepName,
  since: number,
  isPaused: boolean,
  queuedBehind: number | undefined,
): ReasonOf<'stepQueued'> {
  const behind = queuedBehind ? `, behind ${queuedBehind} ${queuedBehind === 1 ? 'other' : 'others'}` : '';
  const message = isPaused
    ? `Step "${stepName}" is not started while the run is paused.`
    : `Step "${stepName}" waits for a worker${behind}.`;
  return {
    ...{ code: 'stepQueued', message, action: null, stepName, activityId, since: iso(since) },
    ...(queuedBehind !== undefined && { queuedBehind }),
  };
}

export function stepRunningReason(
  { stepName, activityId }: StepName,
  given: {
    attempt: number;
    startedAt: number;
    timeoutAt: number | undefined;
    lastHeartbeatAt: number | undefined;
    worker: string | undefined;
  },
): ReasonOf<'stepRunning'> {
  const { attempt, startedAt, timeoutAt, lastHeartbeatAt, worker } = given;
  return {
    code: 'stepRunning',
    message: `Step "${stepName}" is running${attempt > 1 ? ` (attempt ${attempt})` : ''}.`,
    action: null,
    stepName,
    activityId,
    attempt,
    startedAt: iso(startedAt),
    timeoutAt: timeoutAt === undefined ? null : iso(timeoutAt),
    lastHeartbeatAt: lastHeartbeatAt === undefined ? null : iso(lastHeartbeatAt),
    worker: worker ?? null,
  };
}

export function stepBackingOffReason(
  { stepName, activityId }: StepName,
  given: { attempt: number; maximumAttempts: number; nextAttemptAt: number; failure: Failure | undefined },
  isPaused: boolean,
): ReasonOf<'stepBackingOff'> {
  const { attempt, maximumAttempts, nextAttemptAt, failure } = given;
  const { type: name = 'Error', message = '' } = failure ?? {};
  const of = maximumAttempts === 0 ? '' : ` of ${maximumAttempts}`;
  const when = isPaused
    ? `when the run is resumed, not before ${iso(nextAttemptAt)}`
    : `at ${iso(nextAttemptAt)}`;
  return {
    code: 'stepBackingOff',
    message: `Step "${stepName}" has failed (${name}: ${cut(message, MAX_SAID)}) and is tried again ${when}, attempt ${attempt}${of}.`,
    action: null,
    stepName,
    activityId,
    attempt,
    maximumAttempts,
    nextAttemptAt: iso(nextAttemptAt),
    lastError: { name, message },
  };
}

/** A run that does not answer by then is not waited for: what its definition declares is known without it. */
export const HANDLERS_WITHIN_MS = 2_000;

/** The names of the handlers that a run has registered. */
export interface RegisteredHandlers {
  signals: string[];
  updates: string[];
  /** Why the run could not be asked, where these are only what its definition declares: it may have others. */
  unasked?: string;
}

/**
 * `handlers` where a timer is all that is known of what it waits for: whether its code sleeps or waits for a message with a
 * time limit only the code knows, so both are said.
 */
export function timerReason(
  firesAt: number,
  waits?: { run: RunName; handlers: RegisteredHandlers },
): ReasonOf<'timer'> {
  const at = iso(firesAt);
  const { takes, ways } = waits ? waysInto(waits.run, waits.handlers) : NO_WAYS;
  return {
    code: 'timer',
    ...(ways.length === 0
      ? { message: `It waits until ${at}.`, action: null }
      : {
          message: `It waits until ${at}; meanwhile it takes ${takes}.`,
          action: `If it waits for a message, send it before then, such as ${ways[0]}`,
        }),
    firesAt: at,
    ...(waits && namesOf(waits.handlers)),
  };
}

const namesOf = ({ signals, updates }: RegisteredHandlers) => ({ signals, updates });

const NO_WAYS: { takes: string; ways: string[] } = { takes: '', ways: [] };

/** What a run takes, in words, and the calls that send it. */
function waysInto(run: RunName, { signals, updates }: RegisteredHandlers): { takes: string; ways: string[] } {
  const path = `POST ${pathOf(run)}`;
  const named = signals.filter((name) => !isOwnSignal(name));
  const isCalledBack = signals.includes(CALLBACK_SIGNAL) || signals.includes(FEEDBACK_SIGNAL);
  const takes = [
    ...(isCalledBack ? ['callbacks'] : []),
    ...(named.length > 0 ? [theNamed('signal', named)] : []),
    ...(updates.length > 0 ? [theNamed('update', updates)] : []),
  ];
  const ways = [
    ...(isCalledBack ? [`${path}/feedback`] : []),
    ...named.map((name) => `${path}/signal/${encodeURIComponent(name)}`),
    ...updates.map((name) => `${path}/update/${encodeURIComponent(name)}`),
  ];
  return { takes: takes.join(' and '), ways };
}

const theNamed = (kind: string, names: readonly string[]) =>
  `the ${kind}${names.length > 1 ? 's' : ''} ${names.join(', ')}`;

function messageReason(run: RunName, handlers: RegisteredHandlers): ReasonOf<'message'> {
  return { code: 'message', ...waitForMessage(run, handlers), ...namesOf(handlers) };
}

function waitForMessage(run: RunName, handlers: RegisteredHandlers): { message: string; action: string } {
  const { takes, ways } = waysInto(run, handlers);
  if (ways.length > 0) {
    const action = `Send it what it waits for, such as ${ways[0]}`;
    return { message: `It waits for a message; it takes ${takes}.`, action };
  }
  if (handlers.unasked !== undefined) {
    const because = withoutFullStop(cut(handlers.unasked, MAX_SAID));
    return {
      message: `It waits for a message; which ones it takes cannot be asked: ${because}.`,
      action: `Ask again once that has changed: GET ${pathOf(run)}/why`,
    };
  }
  return {
    message: 'It waits for a message and has no handler that could take one, so nothing can make it go on.',
    action: `Stop or terminate it (POST ${pathOf(run)}/runs/${run.runId}/terminate) and look at its code`,
  };
}

/** Of a run whose code nobody asks for its handlers, since another was asked about. */
export function waitingReasonsInPassing(run: RunName, timers: readonly number[]): WhyReason[] {
  if (timers.length > 0) return timers.map((firesAt) => timerReason(firesAt));
  const action = `Ask what it takes: GET ${pathOf(run)}/why`;
  return [{ code: 'message', message: 'It waits for a message.', action, signals: [], updates: [] }];
}

/** Of a run of which nothing is under way: it waits for its timers, the next one first, for a message, or for either. */
export function waitingReasons(
  run: RunName,
  timers: readonly number[],
  handlers: RegisteredHandlers,
): WhyReason[] {
  const [next, ...later] = timers;
  if (next === undefined) return [messageReason(run, handlers)];
  return [timerReason(next, { run, handlers }), ...later.map((firesAt) => timerReason(firesAt))];
}

const withoutFullStop = (text: string): string => text.replace(/\.$/, '');
