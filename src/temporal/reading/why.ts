/**
 * Why a run is where it is: what the cluster says of its turn, its steps and its children, what its history says of its
 * timers, and where nothing of all that is left, which handlers the run has, which only its code knows.
 */
import type { temporal } from '@temporalio/proto';
import { PerdureError } from '../../core/errors.js';
import { failureOfClose } from '../../core/history/close-failure.js';
import { RUN_PAUSED } from '../../core/run/pause.js';
import type { ClosedStatus } from '../../core/run/run.js';
import { type StuckRun, stuckAt, type Why, type WhyReason, whyAnswer } from '../../core/run/why.js';
import { childReasons, LooksBelow } from '../../core/run/why-children.js';
import {
  closedReason,
  HANDLERS_WITHIN_MS,
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
import type { RunRef, RunSelector } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { STEP_NOT_REGISTERED, stepNameOf } from '../cluster/conventions.js';
import type { Catalogs } from '../kept/catalogs.js';
import type { Purses } from '../kept/purses.js';
import { failureFromProto } from '../translate/failure.js';
import { fromSingle } from '../translate/payload.js';
import { durationMs, instant, int } from '../translate/proto.js';
import { METADATA_QUERY } from '../translate/queries.js';
import { type Outcomes, successorOf } from './outcome.js';
import type { KnownRun, PendingStep, Runs } from './runs.js';
import type { Workers } from './workers.js';

/** Of Temporal's PendingActivityState enum. */
const STARTED = 2;
const CANCEL_REQUESTED = 3;
const PAUSE_REQUESTED = 5;
const HAS_WORKER: ReadonlySet<number> = new Set([STARTED, CANCEL_REQUESTED, PAUSE_REQUESTED]);

/** How far back timers are looked for. Older ones that still run are left out where nothing else says why either. */
const MAX_EVENTS = 10_000;

type Timers = { since: number | undefined; firesAt: number[] };

export class Reasons {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly outcomes: Outcomes,
    private readonly catalogs: Catalogs,
    private readonly workers: Workers,
    private readonly purses: Purses,
  ) {}

  async why(selector: RunSelector): Promise<Why> {
    const run = await this.runs.look(selector);
    const { workflowId, runId, status } = run;
    const asOf = iso(Date.now());
    if (status !== 'running') {
      const since = run.completedAt === null ? null : iso(run.completedAt);
      const reasons = [await this.#closed(run, status)];
      return whyAnswer({ workflowId, runId, status, since, reasons, asOf });
    }
    const [reasons, timers] = await Promise.all([this.#pending(run, new LooksBelow()), this.#timers(run)]);
    if (reasons.length > 0) reasons.push(...timers.firesAt.map((firesAt) => timerReason(firesAt)));
    else reasons.push(...waitingReasons({ workflowId, runId }, timers.firesAt, await this.#handlers(run)));
    const since = timers.since === undefined ? null : iso(timers.since);
    return whyAnswer({ workflowId, runId, status, since, reasons, asOf });
  }

  async #closed(run: KnownRun, status: ClosedStatus): Promise<WhyReason> {
    const { workflowId, runId } = run;
    const last = await this.outcomes.lastClose({ workflowId, runId }, { followChain: false });
    const known = last && (await this.outcomes.outcome({ workflowId, runId }, { followChain: false }));
    const failure = known?.outcome.failure ?? (last && failureOfClose(last.close.event));
    const successor = last && successorOf(last.close.event);
    return closedReason({ workflowId, runId }, status, failure, { successor, resetTo: run.resetRunId });
  }

  /** All but timers and waiting for a message. */
  async #pending(run: KnownRun, looks: LooksBelow): Promise<WhyReason[]> {
    const { workflowId, runId, catalog, workflowType, pendingTurn, pendingSteps } = run;
    const [paused, heldBack] = await Promise.all([this.runs.paused(run), this.runs.heldBack(run)]);
    const reasons: WhyReason[] = [];
    if (paused) {
      const budget = paused.by === 'budget' ? await this.purses.stateOf(run) : undefined;
      reasons.push(pausedReason({ workflowId, runId }, paused, budget));
    }
    if (heldBack) {
      // A turn that is tried again later is due at that moment.
      const dueAt = pendingTurn?.scheduledAt ?? 0;
      const retryAt = dueAt > Date.now() ? dueAt : undefined;
      reasons.push(heldBackReason({ ...heldBack, attempts: (pendingTurn?.attempt ?? 2) - 1, retryAt }));
    }
    const steps = pendingSteps.map((step) => reasonOfStep(step, paused !== undefined));
    const needsWorker =
      (pendingTurn && pendingTurn.startedAt === undefined) || (!paused && steps.some(isQueued));
    if (needsWorker && !(await this.#isAttended(run))) reasons.push(noWorkerReason(catalog, workflowType));
    else {
      const lacking = new Set(paused ? [] : pendingSteps.filter(isHandedBack).map(nameOf));
      for (const stepName of lacking) reasons.push(noWorkerReason(catalog, workflowType, stepName));
    }
    if (pendingTurn && !heldBack) {
      const { startedAt, scheduledAt } = pendingTurn;
      reasons.push(
        startedAt === undefined
          ? turnReason('turnQueued', scheduledAt)
          : turnReason('turnRunning', startedAt),
      );
    }
    const children = await Promise.all(run.pendingChildren.map((child) => this.#lookedAt(child, looks)));
    reasons.push(...steps, ...childReasons(children));
    if (run.firstTurnAt > Date.now()) reasons.push(timerReason(run.firstTurnAt));
    return reasons;
  }

  async #lookedAt(pending: temporal.api.workflow.v1.IPendingChildExecutionInfo, looks: LooksBelow) {
    const { workflowId, runId, workflowTypeName } = pending;
    const child = {
      workflowId: workflowId ?? '',
      runId: runId ?? '',
      workflowType: workflowTypeName ?? '',
      // One that has closed is not pending any more.
      status: 'running' as const,
    };
    const hasBegun = child.runId !== '';
    return { child, stuck: hasBegun ? await this.#stuckBelow(child.workflowId, looks) : undefined };
  }

  /** In passing: nothing is asked of its code, and one that cannot be looked at is taken to go on. */
  async #stuckBelow(workflowId: string, looks: LooksBelow): Promise<StuckRun | undefined> {
    if (!looks.take()) return undefined;
    try {
      const run = await this.runs.look({ workflowId });
      if (run.status !== 'running') return undefined;
      const { runId, workflowType } = run;
      const [reasons, { firesAt }] = await Promise.all([this.#pending(run, looks), this.#timers(run)]);
      if (reasons.length === 0) reasons.push(...waitingReasonsInPassing(run, firesAt));
      else reasons.push(...firesAt.map((at) => timerReason(at)));
      return stuckAt({ workflowId, runId, workflowType }, reasons);
    } catch (error) {
      if (error instanceof PerdureError) return undefined;
      throw error;
    }
  }

  /** Whether somebody polls for it whose code has the workflow, as far as that is registered. */
  async #isAttended({ catalog, workflowType }: KnownRun): Promise<boolean> {
    const [workers, registered] = await Promise.all([
      this.workers.ofCatalog(catalog),
      this.catalogs.get(catalog),
    ]);
    if (workers.length === 0) return false;
    const names = registered?.workflows.map(({ entry }) => entry.name);
    return names === undefined || names.length === 0 || names.includes(workflowType);
  }

  /** Those that have not fired, the earliest first, and when something last happened to the run. */
  async #timers(run: RunRef): Promise<Timers> {
    let since: number | undefined;
    let looked = 0;
    const over = new Set<string>();
    const firesAt: number[] = [];
    for await (const event of this.runs.eventsBackwards(run)) {
      since ??= instant(event.eventTime);
      if (++looked > MAX_EVENTS) break;
      const end = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
      if (end) over.add(String(int(end.startedEventId)));
      const started = event.timerStartedEventAttributes;
      if (!started || over.has(String(int(event.eventId)))) continue;
      firesAt.push(instant(event.eventTime) + (durationMs(started.startToFireTimeout) ?? 0));
    }
    return { since, firesAt: firesAt.sort((one, other) => one - other) };
  }

  /** The run is asked; where nobody can ask it, what its definition declares is all that is known. */
  async #handlers({ workflowId, runId, catalog, workflowType }: KnownRun): Promise<RegisteredHandlers> {
    const { namespace } = this.cluster;
    const names = (handlers: { name?: string | null }[] = []) =>
      handlers.map(({ name }) => name ?? '').filter((name) => name !== '');
    try {
      const { queryResult } = await this.cluster.call(
        (service) =>
          service.queryWorkflow({
            namespace,
            execution: { workflowId, runId },
            query: { queryType: METADATA_QUERY },
          }),
        { timeoutMs: HANDLERS_WITHIN_MS, isPoll: true },
      );
      const { definition } = JSON.parse(fromSingle(queryResult) ?? '{}') as {
        definition?: Pick<temporal.api.sdk.v1.IWorkflowDefinition, 'signalDefinitions' | 'updateDefinitions'>;
      };
      return {
        signals: names(definition?.signalDefinitions ?? []),
        updates: names(definition?.updateDefinitions ?? []),
      };
    } catch {
      const entry = (await this.catalogs.workflow(catalog, workflowType))?.entry;
      const unasked = 'no worker that fits it has answered';
      return { signals: names(entry?.signals), updates: names(entry?.updates), unasked };
    }
  }
}

const isQueued = ({ code }: WhyReason): boolean => code === 'stepQueued';

const nameOf = ({ activityType }: PendingStep): string => stepNameOf(activityType?.name ?? '');

/** No worker has it, and the last that was given it has no code for it. */
const isHandedBack = ({ state, lastFailure }: PendingStep): boolean =>
  !HAS_WORKER.has(state ?? 0) && lastFailure?.applicationFailureInfo?.type === STEP_NOT_REGISTERED;

function reasonOfStep(step: PendingStep, isPaused: boolean): WhyReason {
  const { activityId, state, scheduledTime, lastStartedTime, lastHeartbeatTime } = step;
  const name = { stepName: nameOf(step), activityId: activityId ?? '' };
  const attempt = step.attempt ?? 1;
  if (HAS_WORKER.has(state ?? 0)) {
    const startedAt = instant(lastStartedTime);
    const limitMs = durationMs(step.activityOptions?.startToCloseTimeout);
    const deadlines = [
      ...(limitMs ? [startedAt + limitMs] : []),
      ...(step.expirationTime ? [instant(step.expirationTime)] : []),
    ];
    return stepRunningReason(name, {
      attempt,
      startedAt,
      timeoutAt: deadlines.length === 0 ? undefined : Math.min(...deadlines),
      lastHeartbeatAt: lastHeartbeatTime ? instant(lastHeartbeatTime) : undefined,
      worker: step.lastWorkerIdentity || undefined,
    });
  }
  const nextAttemptAt = instant(step.nextAttemptScheduleTime ?? scheduledTime);
  // One that was handed back or held back was not begun: it waits for a worker, or for its run.
  const type = step.lastFailure?.applicationFailureInfo?.type ?? '';
  const wasBegun = type !== STEP_NOT_REGISTERED && type !== RUN_PAUSED;
  if (attempt > 1 && nextAttemptAt > Date.now() && !step.paused && wasBegun) {
    const failure = step.lastFailure ? failureFromProto(step.lastFailure) : undefined;
    const maximumAttempts = step.maximumAttempts ?? 0;
    return stepBackingOffReason(name, { attempt, maximumAttempts, nextAttemptAt, failure }, isPaused);
  }
  return stepQueuedReason(name, instant(scheduledTime), isPaused, undefined);
}
