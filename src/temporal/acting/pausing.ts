/**
 * Pausing and resuming.
 *
 * The run itself holds back what it would do (worker/sandbox/run/pausing.ts); the message that makes it do so is a signal. Of
 * the steps that it waits for the cluster decides: those that no worker has yet are paused there, one by one, once the run
 * has taken the message and asks for no more of them, or while no worker is there to take it. One that a worker has goes on, and should it fail, the worker that
 * gets its next attempt gives that back (worker/paused-runs.ts).
 *
 * 1. Steps are let go on before the run is: a server that dies in between leaves a run that is paused and can be resumed,
 *    and never one that goes on and waits for a step that does not.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isStopping,
  PAUSE_SIGNAL,
  type PausedBy,
  pauseArguments,
  RESUME_SIGNAL,
  resumeArguments,
  takesOver,
} from '../../core/run/pause.js';
import type { PauseRequest, RunRef, RunSelector } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, isRefused } from '../cluster/errors.js';
import type { InOrder } from '../cluster/in-order.js';
import { type KnownRun, mayHaveMessages, type PendingStep, type Runs } from '../reading/runs.js';
import type { Messages } from './messages.js';

/** Of Temporal's PendingActivityState enum: no worker has it. */
const SCHEDULED = 1;
/** What a step is paused for, by which those that somebody else has paused are told from ours. */
export const PAUSED_WITH_ITS_RUN = 'perdure: its run is paused';
/** How long a caller waits for the run to take the message: it is answered then in any case, since the message is there. */
const TAKEN_WITHIN_MS = 1_500;
const FIRST_LOOK_MS = 10;

export class Pauses {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly messages: Messages,
    private readonly inOrder: InOrder,
  ) {}

  pause(selector: RunSelector, { reason, by }: PauseRequest): Promise<RunRef> {
    return this.inOrder.with(selector.workflowId, 'other', async () => {
      const requestId = randomUUID();
      const input = pauseArguments({ reason, by, at: Date.now() });
      const run = await this.runs.onOpen(selector, 'a pause', async (open) => {
        if (open.isStopping) throw isStopping({ workflowId: open.workflowId, runId: open.runId });
        const paused = await this.runs.paused(open);
        if (!paused || takesOver(paused, by) || mayHaveMessages(open))
          await this.messages.send(open, PAUSE_SIGNAL, input, { requestId });
        return open;
      });
      // Also while nobody takes the message, or the first worker that comes would begin them; and on a repeat, since the
      // server that was asked before may not have come that far.
      const now = await this.#taken(run, ({ paused }) => paused !== undefined);
      if (now) await this.#each(now, (step) => step.state === SCHEDULED && !step.paused, this.#pauseStep);
      return { workflowId: run.workflowId, runId: run.runId };
    });
  }

  /** With `isAwaited` false it is done when the run was told, whether or not a worker is there that makes its turn. */
  resume(
    selector: RunSelector,
    { onlyBy, isAwaited = true }: { onlyBy?: PausedBy; isAwaited?: boolean } = {},
  ): Promise<RunRef> {
    return this.inOrder.with(selector.workflowId, 'other', async () => {
      const requestId = randomUUID();
      const run = await this.runs.onOpen(selector, 'the request to resume', async (open) => {
        const paused = await this.runs.paused(open);
        const isMeant = paused ? onlyBy === undefined || paused.by === onlyBy : mayHaveMessages(open);
        if (paused && !isMeant) return undefined;
        // Also those of a run that is not paused: a worker may have held one back as the run was let go on for another.
        await this.letStepsGoOn(open);
        if (isMeant) await this.messages.send(open, RESUME_SIGNAL, resumeArguments(onlyBy), { requestId });
        return open;
      });
      const { workflowId, runId } = run ?? (await this.runs.look(selector));
      if (run && isAwaited) await this.#taken(run, (now) => now.paused === undefined);
      return { workflowId, runId };
    });
  }

  /** A run that a reset has made goes on, whatever the old one was: its messages of pausing came along. */
  async resumeAfterReset(made: RunRef): Promise<void> {
    const run = await this.runs.look(made);
    if (await this.runs.paused(run)) await this.resume(made);
  }

  /** Those that were paused with the run. */
  async letStepsGoOn(run: KnownRun): Promise<void> {
    await this.#each(run, isPausedWithItsRun, this.#unpauseStep);
  }

  /**
   * The request to stop has ended the pause, and steps that the cleanup waits for must not be left behind in it. Before the
   * run has taken the request it may still have some that it no longer wants, and a spent budget would hold them up again.
   */
  async endWithStop(run: KnownRun): Promise<void> {
    if (!run.pendingSteps.some(isPausedWithItsRun)) return;
    const now = await this.#taken(run, ({ isStopping, pendingTurn }) => isStopping && !pendingTurn);
    if (now) await this.letStepsGoOn(now);
  }

  /** The run once it is as wanted, or as it is when that takes too long; undefined when it has closed. */
  async #taken(run: RunRef, isWanted: (run: KnownRun) => boolean): Promise<KnownRun | undefined> {
    const until = performance.now() + TAKEN_WITHIN_MS;
    for (let waitMs = FIRST_LOOK_MS; ; waitMs *= 2) {
      const now = await this.runs.look(run);
      if (now.status !== 'running') return undefined;
      if (isWanted(now) || performance.now() >= until) return now;
      await sleep(waitMs);
    }
  }

  async #each(
    run: KnownRun,
    isMeant: (step: PendingStep) => boolean,
    act: (run: RunRef, activityId: string) => Promise<unknown>,
  ): Promise<void> {
    const steps = run.pendingSteps.filter(isMeant);
    await Promise.all(
      steps.map(async ({ activityId }) => {
        try {
          await act(run, activityId ?? '');
        } catch (error) {
          // It has ended meanwhile, or the cluster is too old to do that: then its worker does it.
          const isPassing = [CODE.NOT_FOUND, CODE.UNIMPLEMENTED, CODE.FAILED_PRECONDITION].some((code) =>
            isRefused(error, code),
          );
          if (!isPassing) throw error;
        }
      }),
    );
  }

  readonly #pauseStep = (run: RunRef, activityId: string): Promise<unknown> =>
    pauseStep(this.cluster, run, activityId);

  readonly #unpauseStep = (run: RunRef, activityId: string): Promise<unknown> =>
    unpauseStep(this.cluster, run, activityId);
}

export function unpauseStep(
  cluster: Cluster,
  { workflowId, runId }: RunRef,
  activityId: string,
): Promise<unknown> {
  const { namespace, identity } = cluster;
  return cluster.call((service) =>
    service.unpauseActivity({ namespace, identity, execution: { workflowId, runId }, id: activityId }),
  );
}

export function pauseStep(
  cluster: Cluster,
  { workflowId, runId }: RunRef,
  activityId: string,
): Promise<unknown> {
  const { namespace, identity } = cluster;
  return cluster.call((service) =>
    service.pauseActivity({
      namespace,
      identity,
      execution: { workflowId, runId },
      id: activityId,
      reason: PAUSED_WITH_ITS_RUN,
    }),
  );
}

/** Clusters that do not say why a step is paused leave no choice. */
export const isPausedWithItsRun = ({ paused, pauseInfo }: PendingStep): boolean =>
  paused === true && (pauseInfo?.manual?.reason ?? PAUSED_WITH_ITS_RUN) === PAUSED_WITH_ITS_RUN;
