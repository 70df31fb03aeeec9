/**
 * Budgets, on the side of those who spend. Before an attempt of a step begins, the purse of its run's tree is asked; where
 * that is empty the run is paused and the attempt given back, as if it had never been. What an attempt has spent the purse
 * hears before anybody hears of its outcome.
 *
 * 1. A purse may be filled while a run is on its way to be paused, and the run may be asked to stop. So both are asked
 *    again after that, and what was done is undone: a run never waits for a budget that suffices, nor one that cleans up.
 */
import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { budgetReason, isMet } from '../../core/cost/budget.js';
import type { Log } from '../../core/log.js';
import {
  PAUSE_SIGNAL,
  pauseArguments,
  RESUME_SIGNAL,
  RUN_PAUSED,
  resumeArguments,
} from '../../core/run/pause.js';
import type { Payload } from '../../core/values/json.js';
import type { RunRef } from '../../engine.js';
import { isPausedWithItsRun, pauseStep, unpauseStep } from '../acting/pausing.js';
import type { Cluster } from '../cluster/connection.js';
import { PURSE, type Purse, type Spending } from '../cluster/conventions.js';
import { CODE, isRefused, RefusedCall, unavailable } from '../cluster/errors.js';
import { readPurse, silentPurses, tellPurse } from '../kept/purses.js';
import { mayHaveMessages, Runs } from '../reading/runs.js';
import { toPayloads } from '../translate/payload.js';
import { int } from '../translate/proto.js';
import { allowOneMore } from './hand-back.js';
import { attemptTimeoutMs } from './step-deadline.js';

/** Where the cluster does not pause steps, this is how soon the purse is asked again. */
const ASK_AGAIN_MS = 2_000;
/** How long a purse that cannot be reached is told again before the outcome goes without it, and how often. */
const TELL_FOR_MS = 10 * 60_000;
const TELL_AGAIN_MS = 1_000;
/** Runs that are let go on at the same time. */
const AT_ONCE = 20;

export class Budgets {
  readonly #silent = silentPurses();

  constructor(
    private readonly cluster: () => Cluster | undefined,
    private readonly identity: string,
    private readonly log: Log,
  ) {}

  /** What the attempt ends with when nothing may be spent, or nobody knows; undefined when it may begin. */
  async refusal(info: Info, purseId: string): Promise<ApplicationFailure | undefined> {
    const cluster = this.cluster();
    if (!cluster) return undefined;
    try {
      return await this.#refusal(cluster, info, purseId);
    } catch (error) {
      this.log.warn(
        { err: error },
        `whether the budget "${purseId}" is spent is not known: a step waits for that`,
      );
      await Promise.allSettled([allowOneMore(cluster, info, this.identity)]);
      return notBegun(`whether the budget is spent is not known (${(error as Error).message})`);
    }
  }

  async #refusal(cluster: Cluster, info: Info, purseId: string): Promise<ApplicationFailure | undefined> {
    const { workflowExecution: run, activityId, attempt } = info;
    if (!run) return undefined;
    const withinMs = timeForAnswer(info);
    const purse = await this.#read(cluster, purseId, withinMs);
    if (!purse || !isEmpty(purse)) {
      // An attempt before this one may have ended half-way through pausing the run.
      if (attempt > 1) await this.#resume(cluster, run);
      return undefined;
    }
    const runs = new Runs(cluster);
    const known = await runs.lookAny(run);
    if (known?.status !== 'running' || known.isStopping) return undefined;
    const waits = (how: string) => {
      const id = `${run.runId}/${activityId}/${attempt}/${how}`;
      return tellPurse(cluster, purseId, PURSE.waits, { ...run, id }, id);
    };
    await waits('waits');
    const reason = budgetReason(purse, purse.spent);
    const pause = () =>
      signal(cluster, run, PAUSE_SIGNAL, pauseArguments({ reason, by: 'budget', at: Date.now() }));
    if (!(await runs.paused(known))) await pause();
    if (!(await this.#isStillEmpty(cluster, purseId, withinMs))) {
      await this.#resume(cluster, run);
      return undefined;
    }
    // Should one of the two fail, the attempt is counted, or the step asks again later.
    await Promise.allSettled([
      allowOneMore(cluster, info, this.identity),
      pauseStep(cluster, run, activityId),
    ]);
    // Whoever was waking it may have found nothing paused yet, and the purse has spent since what it was filled with.
    await waits('waitsPaused');
    if (!(await this.#isStillEmpty(cluster, purseId, withinMs))) {
      await this.#unpauseStep(cluster, run, activityId);
      await this.#resume(cluster, run);
    } else {
      const now = await runs.lookAny(run);
      if (now?.isStopping) await this.#unpauseStep(cluster, run, activityId);
      // It was let go on meanwhile, for another step. What a turn has not taken yet cannot be seen, and may pause it.
      else if (now?.status === 'running' && !mayHaveMessages(now) && !(await runs.paused(now))) await pause();
    }
    return notBegun(`the run is paused, ${reason}`);
  }

  /**
   * Resolves when the purse has heard of it. While it cannot be reached the outcome waits too, which could not be told
   * either: the cluster that has the one has the other. A purse that is no more needs to hear nothing.
   */
  async spent(purseId: string, said: Spending, keep?: KeepFirst): Promise<void> {
    for (const end = performance.now() + TELL_FOR_MS; ; ) {
      try {
        const cluster = this.cluster();
        if (cluster && keep) await this.#keep(cluster, keep);
        if (cluster) await tellPurse(cluster, purseId, PURSE.spent, said, said.id);
        return;
      } catch (error) {
        if (isRefused(error, CODE.NOT_FOUND)) return;
        if (error instanceof RefusedCall || performance.now() >= end) {
          this.log.error({ err: error }, `what was spent could not be told to the budget "${purseId}"`);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, TELL_AGAIN_MS));
      }
    }
  }

  /** An attempt that is over has no next one that could look. */
  async #keep(cluster: Cluster, { info: { taskToken }, details }: KeepFirst): Promise<void> {
    const { namespace } = cluster;
    const { identity } = this;
    try {
      await cluster.call((service) =>
        service.recordActivityTaskHeartbeat({
          ...{ namespace, identity, taskToken, details: toPayloads([details()]) },
        }),
      );
    } catch (error) {
      if (!(error instanceof RefusedCall)) throw error;
    }
  }

  /** Lets the runs go on that are paused by their budget. There may be thousands, so it says now and then that it is alive. */
  async wake(waiting: unknown, beat: () => void): Promise<void> {
    const cluster = this.cluster();
    if (!cluster) throw unavailable('this worker has no connection of its own yet', 1);
    const all = waiting as RunRef[];
    for (let from = 0; from < all.length; from += AT_ONCE) {
      beat();
      await Promise.all(all.slice(from, from + AT_ONCE).map((run) => this.#wake(cluster, run)));
    }
  }

  async #wake(cluster: Cluster, run: RunRef): Promise<void> {
    const runs = new Runs(cluster);
    const known = await runs.lookAny(run);
    if (known?.status !== 'running') return;
    const paused = await runs.paused(known);
    if (paused && paused.by !== 'budget') return;
    // Before the run, as a server does it: one that goes on must not wait for a step that does not.
    for (const { activityId } of known.pendingSteps.filter(isPausedWithItsRun)) {
      await this.#unpauseStep(cluster, run, activityId ?? '');
    }
    await this.#resume(cluster, run);
  }

  /** Whether the workflow at the root of a tree, or any below it, is open. */
  async isInUse(root: unknown): Promise<boolean> {
    const { workflowId } = root as { workflowId: string };
    const cluster = this.cluster();
    if (!cluster) return true;
    if ((await new Runs(cluster).lookAny({ workflowId }))?.status === 'running') return true;
    const { namespace } = cluster;
    const query = `RootWorkflowId = ${JSON.stringify(workflowId)} AND ExecutionStatus = "Running"`;
    try {
      const { count } = await cluster.call((service) =>
        service.countWorkflowExecutions({ namespace, query }),
      );
      return int(count) > 0;
    } catch (error) {
      // It cannot say so, such as an older one that does not know the roots of trees: then there may be somebody.
      if (error instanceof RefusedCall) return true;
      throw error;
    }
  }

  #read(cluster: Cluster, purseId: string, withinMs: number): Promise<Purse | undefined> {
    return readPurse(cluster, purseId, { withinMs, silent: this.#silent, amountsAlone: true });
  }

  async #isStillEmpty(cluster: Cluster, purseId: string, withinMs: number): Promise<boolean> {
    const purse = await this.#read(cluster, purseId, withinMs);
    return purse !== undefined && isEmpty(purse);
  }

  async #resume(cluster: Cluster, run: RunRef): Promise<void> {
    const runs = new Runs(cluster);
    const known = await runs.lookAny(run);
    if (known?.status !== 'running') return;
    const paused = await runs.paused(known);
    if (paused ? paused.by === 'budget' : mayHaveMessages(known))
      await signal(cluster, run, RESUME_SIGNAL, resumeArguments('budget'));
  }

  async #unpauseStep(cluster: Cluster, run: RunRef, activityId: string): Promise<void> {
    await Promise.allSettled([unpauseStep(cluster, run, activityId)]);
  }
}

/**
 * What the cluster keeps with the step before the purse hears of it. Should the worker be lost between that and the outcome,
 * the next attempt has what was spent, and tells the purse what that may not have heard: both know the same.
 */
export interface KeepFirst {
  info: Pick<Info, 'taskToken'>;
  details(): Payload;
}

/**
 * The time of the attempt runs while its purse is asked, three times at most, and nobody may be there who answers for it, such
 * as the workers of the parent's catalog. Signs of life are given meanwhile (steps.ts).
 */
const timeForAnswer = (info: Info): number => attemptTimeoutMs(info) / 4;

const notBegun = (why: string): ApplicationFailure =>
  ApplicationFailure.create({
    type: RUN_PAUSED,
    message: `${why}: this attempt was not begun`,
    nextRetryDelay: ASK_AGAIN_MS,
  });

const isEmpty = ({ amount, spent }: Purse): boolean => isMet(amount, spent);

async function signal(cluster: Cluster, run: RunRef, signalName: string, input: string[]): Promise<void> {
  const { namespace, identity } = cluster;
  const { workflowId, runId } = run;
  const requestId = crypto.randomUUID();
  await cluster.call((service) =>
    service.signalWorkflowExecution({
      ...{ namespace, identity, requestId, signalName },
      workflowExecution: { workflowId, runId },
      input: toPayloads(input),
    }),
  );
}
