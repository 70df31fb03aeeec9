/** What an event says, in words that are the same on every engine. What is left out or made equal here is named with its reason. */
import type { CostRecord } from '../../src/core/cost/cost.js';
import type { Execution, HistoryEvent, StepSettings } from '../../src/core/history/event.js';
import type { Failure } from '../../src/core/history/failure.js';
import { PAUSE_SIGNAL } from '../../src/core/run/pause.js';

/** References and made-up ids, which `site`, `number` and the names stand for. */
const LEFT_OUT = new Set([
  'scheduledEventId',
  'startedEventId',
  'initiatedEventId',
  'childInitiatedEventId',
  'acceptedEventId',
  'latestCancelRequestedEventId',
  'updateId',
  'activityId',
  'timerId',
  'childSeq',
  'signalSeq',
  'cancelSeq',
  // Temporal lets a chain go on once a second at most, by continue-as-new or by retry.
  'firstTurnBackoffMs',
  // Where on the way an attempt was handed out, and when the chain's time ends.
  'handedOut',
  'executionExpiresAt',
  // By which the embedded engine knows a repeat; a cluster keeps it to itself.
  'requestId',
  // Kept with the run that begins on the embedded engine, and beside it on a cluster.
  'budget',
]);

/** An attempt that a cluster has held back for the budget has a number and a failure of its own. */
const OF_ATTEMPTS = new Set(['attempt', 'lastFailure']);

export function meaningOf(event: HistoryEvent, isBudgeted: boolean): Record<string, unknown> {
  const meaning: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(event.attributes)) {
    if (LEFT_OUT.has(key) || value === undefined) continue;
    if (isBudgeted && OF_ATTEMPTS.has(key)) continue;
    // Of steps that the end of the run left under way: a cluster forgets them.
    if (key === 'costs' && event.type.startsWith('WORKFLOW_EXECUTION_')) continue;
    // Temporal tells who was reached, not which run of it.
    if (key === 'workflowExecution' && event.type.startsWith('EXTERNAL_')) {
      meaning[key] = (value as Execution).workflowId;
      continue;
    }
    meaning[key] = isBudgeted ? withoutAttempts(meant(key, value)) : meant(key, value);
    // When it was paused.
    if (key === 'input' && isPause(event)) meaning[key] = withoutInstant(meaning[key] as [{ at: number }]);
  }
  return meaning;
}

export function withoutAttempts(value: unknown): unknown {
  const text = JSON.stringify(value, (key, each: unknown) => {
    if (key === 'attempt') return undefined;
    // Its cause is the failure of the attempt before, which a cluster forgets of a step that it has held back.
    return isTimeout(each) ? { ...each, cause: undefined } : each;
  });
  return text === undefined ? value : JSON.parse(text);
}

function isTimeout(value: unknown): value is object {
  const { kind, name } = Object(value) as Record<string, unknown>;
  return kind === 'timeout' || name === 'TimeoutError';
}

const isPause = (event: HistoryEvent): boolean =>
  event.type === 'WORKFLOW_EXECUTION_SIGNALED' && event.attributes.signalName === PAUSE_SIGNAL;

const withoutInstant = ([{ at: _, ...said }]: [{ at: number }]): unknown => [said];

function meant(key: string, value: unknown): unknown {
  switch (key) {
    case 'input':
      return (value as string[]).map((text) => JSON.parse(text) as unknown);
    case 'result':
    case 'details':
      return typeof value === 'string' ? JSON.parse(value) : value;
    case 'failure':
    case 'lastFailure':
    case 'continuedFailure':
      return withoutStacks(value as Failure);
    case 'settings':
      return followed(value as StepSettings);
    case 'costs':
      return (value as CostRecord[]).map(({ at: _, activityId: __, ...said }) => said);
    case 'cause':
      return typeof value === 'string' ? value.replace(...PARENTS_REQUEST) : value;
    case 'parent': {
      // By the tree the embedded engine shares out its workers and counts descendants; a cluster does neither.
      const { initiatedEventId: _, tree: __, hasBudget: ___, ...parent } = value as Record<string, unknown>;
      return parent;
    }
    default:
      return value;
  }
}

/** A closing parent may ask its child twice, by its cancellation and by its end: which comes first is a matter of time. */
const PARENTS_REQUEST = [
  /^the parent closed$|^requested by workflow .*$/,
  'requested by another workflow',
] as const;

/** Temporal writes down the timeouts that follow from others. */
function followed(settings: StepSettings): StepSettings {
  const { scheduleToCloseTimeoutMs: whole, startToCloseTimeoutMs, scheduleToStartTimeoutMs } = settings;
  if (whole === undefined) return settings;
  return {
    ...settings,
    startToCloseTimeoutMs: Math.min(startToCloseTimeoutMs, whole),
    scheduleToStartTimeoutMs: Math.min(scheduleToStartTimeoutMs ?? whole, whole),
  };
}

function withoutStacks({ stackTrace: _, cause, ...failure }: Failure): Failure {
  return cause ? { ...failure, cause: withoutStacks(cause) } : failure;
}

/** The number that the run gave to the step or timer. Temporal keeps none of those of children and messages. */
export function numberOf(event: HistoryEvent): string | undefined {
  const { activityId, timerId } = event.attributes as Record<string, string>;
  return activityId ?? timerId;
}
