/**
 * Why a run is where it is: what it waits for, in words that a person can act on. Engines find the reasons; what they say
 * together is the same for all of them, and decided here.
 */

import type { SerializedError } from '../history/serialized-error.js';
import { invariant } from '../invariant.js';
import type { PausedBy } from './pause.js';
import type { ClosedStatus, RunStatus } from './run.js';

interface Reason {
  /** One sentence for a person. */
  message: string;
  /** What to do about it, with the command or call; null where there is nothing to do. */
  action: string | null;
}

/** A run that does not go on unless somebody acts, and what it says of that. */
export interface StuckRun {
  workflowId: string;
  runId: string;
  workflowType: string;
  /** One sentence for a person. */
  summary: string;
}

/** Times are ISO 8601 in UTC. */
export type WhyReason = Reason &
  (
    | { code: 'closed'; status: ClosedStatus; error: SerializedError | null; newRunId?: string }
    | { code: 'turnQueued' | 'turnRunning'; since: string }
    | { code: 'heldBack'; reason: string; since: string; attempts: number; retryAt: string | null }
    | { code: 'noWorker'; catalog: string; workflowType: string; stepName?: string }
    | { code: 'stepQueued'; stepName: string; activityId: string; since: string; queuedBehind?: number }
    | {
        code: 'stepRunning';
        stepName: string;
        activityId: string;
        attempt: number;
        startedAt: string;
        timeoutAt: string | null;
        lastHeartbeatAt: string | null;
        worker: string | null;
      }
    | {
        code: 'stepBackingOff';
        stepName: string;
        activityId: string;
        /** The next one. */
        attempt: number;
        /** 0: no limit. */
        maximumAttempts: number;
        nextAttemptAt: string;
        lastError: { name: string; message: string };
      }
    /** With the handlers it has, where the timer may be the limit of a wait for a message. */
    | { code: 'timer'; firesAt: string; signals?: string[]; updates?: string[] }
    | {
        code: 'child';
        workflowId: string;
        runId: string;
        workflowType: string;
        status: RunStatus;
        /** The run that somebody has to act on: the child itself, or one further down. */
        stuckAt?: StuckRun;
      }
    | { code: 'message'; signals: string[]; updates: string[] }
    | { code: 'paused'; reason: string; since: string; by: PausedBy }
  );

export interface Why {
  workflowId: string;
  runId: string;
  status: RunStatus;
  /** One sentence for a person. */
  summary: string;
  /** Nothing will happen unless somebody acts. */
  isStuck: boolean;
  /** Since when it is so; null where nobody knows. */
  since: string | null;
  /** Never empty. */
  reasons: WhyReason[];
  asOf: string;
}

/** @throws when there is no reason, which nothing can be where it is for */
export function whyAnswer(given: Omit<Why, 'summary' | 'isStuck'>): Why {
  const { workflowId, runId, status, since, reasons, asOf } = given;
  invariant(reasons.length > 0, `run ${runId} is where it is for no reason`);
  return {
    ...{ workflowId, runId, status, summary: summaryOf(reasons), isStuck: isStuck(reasons) },
    ...{ since, reasons, asOf },
  };
}

/** Those that need somebody to act. What stands beside them may go on, but leads nowhere by itself. */
const NEED_SOMEBODY: ReadonlySet<WhyReason['code']> = new Set(['heldBack', 'noWorker', 'message', 'paused']);

/** Waiting for what is stuck is being stuck, unless something else will happen: a timer that limits the wait, another child. */
function isStuck(reasons: readonly WhyReason[]): boolean {
  return reasons.some(({ code }) => NEED_SOMEBODY.has(code)) || reasons.every(isOfStuckChild);
}

const isOfStuckChild = (reason: WhyReason): boolean =>
  reason.code === 'child' && reason.stuckAt !== undefined;

/** Where somebody has to act so that a run with these reasons goes on: on itself or further down. Undefined if nowhere. */
export function stuckAt(run: Omit<StuckRun, 'summary'>, reasons: readonly WhyReason[]): StuckRun | undefined {
  if (!isStuck(reasons)) return undefined;
  const own = reasons.find(({ code }) => NEED_SOMEBODY.has(code));
  if (own) return { ...run, summary: own.message };
  const below = reasons.find((reason) => reason.code === 'child');
  return below?.stuckAt;
}

/** The first reason, and how many more there are. */
function summaryOf(reasons: readonly WhyReason[]): string {
  const [first, ...others] = reasons;
  if (!first) return '';
  return others.length === 0
    ? first.message
    : `${first.message.replace(/\.$/, '')}, and ${others.length} more ${others.length === 1 ? 'thing' : 'things'}.`;
}
