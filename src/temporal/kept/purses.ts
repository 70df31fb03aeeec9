/**
 * The purses of trees of runs, as servers and workers speak to them (sandbox/purse-workflow.ts). A run has the name of its
 * purse in its memo, and passes it on to its children and with its steps.
 *
 * 1. A purse is there before the run that it is for.
 * 2. A worker asks it before each attempt, and tells it what an attempt has spent before the outcome of that: whoever asks
 *    after an outcome hears of it.
 * 3. It closes when nobody is left who could spend. A reset may bring somebody back: whoever tells it something then opens
 *    it again, with all that it had.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Budget, type BudgetState, budgetState, isMet, withoutBudget } from '../../core/cost/budget.js';
import { PerdureError } from '../../core/errors.js';
import type { RunRef, RunSelector } from '../../engine.js';
import type { Pauses } from '../acting/pausing.js';
import { BoundedMap } from '../cluster/bounded-map.js';
import type { Cluster } from '../cluster/connection.js';
import { MEMO, PURSE, PURSE_WORKFLOW_TYPE, type Purse, type Waiting } from '../cluster/conventions.js';
import { CODE, isRefused, RefusedCall, unavailable } from '../cluster/errors.js';
import { requestHeader } from '../cluster/requests.js';
import { terminateIfOpen } from '../cluster/terminate.js';
import { type Memo, mayHaveMessages, Runs } from '../reading/runs.js';
import { decoded, fromSingle, toPayload, toPayloads } from '../translate/payload.js';
import { tell, woken } from './purse.js';

const ALLOW_DUPLICATE = 1;
const REJECT_DUPLICATE = 3;
const FAIL_ON_CONFLICT = 1;
/** A purse answers as soon as a worker of its catalog takes a turn. Of one that does not for so long the history is read. */
const ASK_MS = 2_000;
/** While a worker has a turn of it, the history does not tell what has come since, and it is asked again, for so long. */
const ANSWER_MS = 10_000;
const SHORTEST_ANSWER_MS = 100;
/** One that has not answered is not asked again for so long: its history is read at once. */
const SILENT_MS = 10_000;
const ASK_AGAIN_MS = 50;
const SILENT_KEPT = 1_000;
/** The same for a server, whose caller waits. */
const SERVER_WAITS_MS = 2_000;
/** Runs that are resumed at the same time. */
const AT_ONCE = 20;

/** What a run's memo, or the header of its step, says of its purse. */
export function purseIdIn(memo: Memo): string | undefined {
  const id = decoded(memo[MEMO.purse]);
  return typeof id === 'string' ? id : undefined;
}

export const purseIdOf = (requestId: string): string => `${PURSE_WORKFLOW_TYPE}/${requestId}`;

/** Makes the purse for a run that is about to be started; a repeat finds it made. */
export async function openPurse(
  cluster: Cluster,
  purseId: string,
  { catalog, root, budget }: { catalog: string; root: string; budget: Budget },
): Promise<void> {
  const purse: Purse = { ...budget, spent: '0', root, waiting: [] };
  const requestId = purseId;
  await startPurse(cluster, purseId, { purse, catalog, requestId, workflowIdReusePolicy: REJECT_DUPLICATE });
}

interface PurseStart {
  purse: Purse;
  catalog: string;
  requestId: string;
  workflowIdReusePolicy: number;
}

async function startPurse(
  cluster: Cluster,
  purseId: string,
  { purse, catalog, ...request }: PurseStart,
): Promise<void> {
  const { namespace, identity } = cluster;
  try {
    await cluster.call((service) =>
      service.startWorkflowExecution({
        ...request,
        namespace,
        identity,
        workflowId: purseId,
        workflowType: { name: PURSE_WORKFLOW_TYPE },
        taskQueue: { name: catalog },
        input: toPayloads([JSON.stringify(purse)]),
        workflowIdConflictPolicy: FAIL_ON_CONFLICT,
      }),
    );
  } catch (error) {
    if (!isRefused(error, CODE.ALREADY_EXISTS)) throw error;
  }
}

/** Nothing was started that could spend from it. */
export function dropPurse(cluster: Cluster, purseId: string): Promise<void> {
  return terminateIfOpen(cluster, {
    workflowExecution: { workflowId: purseId },
    reason: 'nothing was started with this budget',
  });
}

/** Purses that nobody has answered for, until when it is not tried again. */
export type SilentPurses = BoundedMap<string, number>;
export const silentPurses = (): SilentPurses => new BoundedMap(SILENT_KEPT);

interface ReadPurseOptions {
  /** What whoever asks has time for. */
  withinMs?: number;
  /** Whoever asks again and again waits in vain once. */
  silent?: SilentPurses;
  /** Without those who wait, who may be thousands. Workers of older code answer with them all the same. */
  amountsAlone?: boolean;
}

/**
 * With all that it was told before; undefined when there is none any more.
 * @throws EngineUnavailableError when its worker takes longer, and what it was told meanwhile is not known
 */
export async function readPurse(
  cluster: Cluster,
  purseId: string,
  { withinMs = ANSWER_MS, silent = silentPurses(), amountsAlone = false }: ReadPurseOptions = {},
): Promise<Purse | undefined> {
  const answerMs = Math.max(SHORTEST_ANSWER_MS, Math.min(withinMs, ANSWER_MS));
  const askMs = Math.min(ASK_MS, answerMs / 2);
  const until = performance.now() + answerMs;
  while (performance.now() < until) {
    try {
      if (performance.now() >= (silent.get(purseId) ?? 0))
        return await askPurse(cluster, purseId, amountsAlone, askMs);
    } catch (error) {
      if (!(error instanceof RefusedCall)) throw error;
      silent.set(purseId, performance.now() + SILENT_MS);
    }
    // What is spent, and may be, is known without any worker.
    if (!(await isAtWork(cluster, purseId))) return (await purseOnRecord(cluster, purseId))?.purse;
    // Whoever has a turn of it is there to answer.
    silent.delete(purseId);
    await sleep(ASK_AGAIN_MS);
  }
  throw unavailable(`the worker that has the budget "${purseId}" does not answer`, 1);
}

async function askPurse(
  cluster: Cluster,
  purseId: string,
  amountsAlone: boolean,
  timeoutMs: number,
): Promise<Purse> {
  const { namespace } = cluster;
  const { queryResult } = await cluster.call(
    (service) =>
      service.queryWorkflow({
        namespace,
        execution: { workflowId: purseId },
        query: { queryType: PURSE.query, queryArgs: toPayloads([JSON.stringify(amountsAlone)]) },
      }),
    { timeoutMs, isPoll: true },
  );
  return JSON.parse(fromSingle(queryResult) ?? 'null') as Purse;
}

/** Whether a worker has a turn of it. */
async function isAtWork(cluster: Cluster, purseId: string): Promise<boolean> {
  const run = await new Runs(cluster).lookAny({ workflowId: purseId });
  return run?.status === 'running' && mayHaveMessages(run);
}

interface RecordedPurse {
  purse: Purse;
  catalog: string;
  runId: string;
}

/** From the history of its last run, which says the same as the purse itself. */
async function purseOnRecord(cluster: Cluster, purseId: string): Promise<RecordedPurse | undefined> {
  const { namespace } = cluster;
  let recorded: RecordedPurse | undefined;
  let execution: RunSelector = { workflowId: purseId };
  let nextPageToken: Uint8Array | undefined;
  try {
    do {
      const page = await cluster.call((service) =>
        service.getWorkflowExecutionHistory({ namespace, execution, nextPageToken }),
      );
      for (const event of page.history?.events ?? []) {
        const {
          workflowExecutionStartedEventAttributes: started,
          workflowExecutionSignaledEventAttributes: told,
        } = event;
        if (started) {
          const purse = JSON.parse(fromSingle(started.input) ?? 'null') as Purse;
          const runId = started.originalExecutionRunId ?? '';
          recorded = { purse, catalog: started.taskQueue?.name ?? '', runId };
          execution = { workflowId: purseId, runId };
        } else if (recorded && told)
          tell(recorded.purse, told.signalName ?? '', JSON.parse(fromSingle(told.input) ?? 'null'));
      }
      nextPageToken = page.nextPageToken ?? undefined;
    } while (nextPageToken?.length);
  } catch (error) {
    if (!isRefused(error, CODE.NOT_FOUND)) throw error;
  }
  return recorded;
}

/** A repeat with the same id is heard once. @throws RefusedCall NOT_FOUND where the cluster has forgotten the purse */
export async function tellPurse(
  cluster: Cluster,
  purseId: string,
  name: string,
  argument: object,
  requestId: string,
): Promise<void> {
  const { namespace, identity } = cluster;
  const tellIt = () =>
    cluster.call((service) =>
      service.signalWorkflowExecution({
        namespace,
        identity,
        requestId,
        workflowExecution: { workflowId: purseId },
        signalName: name,
        input: toPayloads([JSON.stringify(argument)]),
        header: requestHeader(requestId),
      }),
    );
  try {
    await tellIt();
  } catch (error) {
    if (!isRefused(error, CODE.NOT_FOUND)) throw error;
    await reopenPurse(cluster, purseId);
    await tellIt();
  }
}

/** It had closed. Of several who do this at once the first opens it, for all of them. */
async function reopenPurse(cluster: Cluster, purseId: string): Promise<void> {
  const recorded = await purseOnRecord(cluster, purseId);
  if (!recorded) return;
  const { purse, catalog, runId } = recorded;
  const requestId = `${purseId}/after/${runId}`;
  await startPurse(cluster, purseId, { purse, catalog, requestId, workflowIdReusePolicy: ALLOW_DUPLICATE });
}

export const purseMemo = (purseId: string): Memo => ({ [MEMO.purse]: toPayload(JSON.stringify(purseId)) });

/** Of a server. */
export class Purses {
  readonly #waking = new Map<string, Promise<void>>();
  #isClosing = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly pauses: Pauses,
  ) {}

  async stateOf({ memo }: { memo: Memo }): Promise<BudgetState | undefined> {
    const purseId = purseIdIn(memo);
    const purse = purseId === undefined ? undefined : await this.#read(purseId);
    return purse && budgetState(purse, purse.spent);
  }

  /**
   * Whoever asks is answered when the purse knows, and the run that he asks for goes on if it has waited. Others that wait
   * may be thousands, and go on after that: a few at a time, by this server, or by the purse where the server dies.
   * @throws WorkflowNotFoundError, WorkflowAlreadyClosedError, ValidationError
   */
  async set(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }> {
    const run = await this.runs.lookOpen(selector, 'a budget');
    const ref = { workflowId: run.workflowId, runId: run.runId };
    const purseId = purseIdIn(run.memo);
    if (purseId === undefined || !(await this.#read(purseId))) throw withoutBudget(ref);
    await tellPurse(this.cluster, purseId, PURSE.set, { amount }, crypto.randomUUID());
    const purse = (await this.#read(purseId))!;
    const budget = budgetState(purse, purse.spent);
    if (!budget.isExceeded) {
      const own = purse.waiting.filter(({ runId }) => runId === run.runId);
      // The purse has heard of it, and lets them go on where this cannot be done.
      await Promise.allSettled([this.#wake(purseId, own, true)]);
      this.#wakeOthers(purseId);
    }
    return { ...ref, budget };
  }

  /** Nobody is woken any more; those that are left the purse sees to. */
  close(): void {
    this.#isClosing = true;
  }

  async #read(purseId: string): Promise<Purse | undefined> {
    try {
      return await readPurse(this.cluster, purseId, { withinMs: SERVER_WAITS_MS });
    } catch (error) {
      if (!(error instanceof PerdureError)) throw error;
      // Nothing is spent on the strength of this answer.
      return (await purseOnRecord(this.cluster, purseId))?.purse;
    }
  }

  /** Once for all who have raised it meanwhile. */
  #wakeOthers(purseId: string): void {
    const before = this.#waking.get(purseId) ?? Promise.resolve();
    const waking = before
      .then(() => this.#wakeAll(purseId))
      // What is left the purse sees to.
      .catch(() => undefined)
      .finally(() => {
        if (this.#waking.get(purseId) === waking) this.#waking.delete(purseId);
      });
    this.#waking.set(purseId, waking);
  }

  /** Until nobody waits; or those who went on have spent it all, and nobody else could do anything with the rest. */
  async #wakeAll(purseId: string): Promise<void> {
    while (!this.#isClosing) {
      const purse = await this.#read(purseId);
      if (!purse?.waiting.length || isMet(purse.amount, purse.spent)) return;
      await this.#wake(purseId, purse.waiting.slice(0, AT_ONCE), false);
    }
  }

  async #wake(purseId: string, waiting: readonly Waiting[], isAwaited: boolean): Promise<void> {
    if (waiting.length === 0) return;
    await Promise.all(waiting.map((run) => this.#resume(run, isAwaited)));
    await tellPurse(this.cluster, purseId, PURSE.woken, woken(waiting), crypto.randomUUID());
  }

  async #resume(run: RunRef, isAwaited: boolean): Promise<void> {
    try {
      await this.pauses.resume(run, { onlyBy: 'budget', isAwaited });
    } catch (error) {
      // It has closed meanwhile, and needs nothing more.
      const isGone =
        error instanceof PerdureError &&
        (error.name === 'WorkflowAlreadyClosedError' || error.name === 'WorkflowNotFoundError');
      if (!isGone) throw error;
    }
  }
}
