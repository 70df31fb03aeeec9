/**
 * The purses of trees of runs, as servers and workers speak to them (sandbox/purse-workflow.ts). A run has the name of its
 * purse in its memo, and passes it on to its children and with its steps.
 *
 * 1. A purse is there before the run that it is for.
 * 2. A worker asks it before each attempt, and tells it what an attempt has spent before the outcome of that: whoever asks
 *    after an outcome hears of it.
 */
import { type Budget, type BudgetState, budgetState, withoutBudget } from '../../core/cost/budget.js';
import { PerdureError } from '../../core/errors.js';
import type { RunRef, RunSelector } from '../../engine.js';
import type { Pauses } from '../acting/pausing.js';
import type { Cluster } from '../cluster/connection.js';
import { MEMO, PURSE, PURSE_WORKFLOW_TYPE, type Purse } from '../cluster/conventions.js';
import { CODE, isRefused } from '../cluster/errors.js';
import { requestHeader } from '../cluster/requests.js';
import type { Memo, Runs } from '../reading/runs.js';
import { decoded, fromSingle, toPayload, toPayloads } from '../translate/payload.js';
import { tell } from './purse.js';

const REJECT_DUPLICATE = 3;
const FAIL_ON_CONFLICT = 1;
/** A purse answers as soon as a worker of its catalog takes a turn. */
const ANSWER_MS = 10_000;
/** A server reads the history of a purse that does not answer for so long. */
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
  const { namespace, identity } = cluster;
  const purse: Purse = { ...budget, spent: '0', root, waiting: [] };
  try {
    await cluster.call((service) =>
      service.startWorkflowExecution({
        namespace,
        identity,
        requestId: purseId,
        workflowId: purseId,
        workflowType: { name: PURSE_WORKFLOW_TYPE },
        taskQueue: { name: catalog },
        input: toPayloads([JSON.stringify(purse)]),
        workflowIdReusePolicy: REJECT_DUPLICATE,
        workflowIdConflictPolicy: FAIL_ON_CONFLICT,
      }),
    );
  } catch (error) {
    if (!isRefused(error, CODE.ALREADY_EXISTS)) throw error;
  }
}

/** Nothing was started that could spend from it. */
export async function dropPurse(cluster: Cluster, purseId: string): Promise<void> {
  const { namespace, identity } = cluster;
  try {
    await cluster.call((service) =>
      service.terminateWorkflowExecution({
        namespace,
        identity,
        workflowExecution: { workflowId: purseId },
        reason: 'nothing was started with this budget',
      }),
    );
  } catch (error) {
    if (!isRefused(error, CODE.NOT_FOUND)) throw error;
  }
}

/** With all that it was told before; undefined when there is none any more. @throws EngineUnavailableError */
export async function readPurse(
  cluster: Cluster,
  purseId: string,
  timeoutMs = ANSWER_MS,
): Promise<Purse | undefined> {
  const { namespace } = cluster;
  try {
    const { queryResult } = await cluster.call(
      (service) =>
        service.queryWorkflow({
          namespace,
          execution: { workflowId: purseId },
          query: { queryType: PURSE.query },
        }),
      { timeoutMs, isPoll: true },
    );
    return JSON.parse(fromSingle(queryResult) ?? 'null') as Purse;
  } catch (error) {
    if (isRefused(error, CODE.NOT_FOUND)) return undefined;
    if (isRefused(error, CODE.DEADLINE_EXCEEDED) || isRefused(error, CODE.FAILED_PRECONDITION)) {
      throw new PerdureError('EngineUnavailableError', 'no worker answers for the budget of the run', {
        retryAfterSeconds: 1,
      });
    }
    throw error;
  }
}

/** From its history, where nobody is there to ask it. */
async function purseOnRecord(cluster: Cluster, purseId: string): Promise<Purse | undefined> {
  const { namespace } = cluster;
  let purse: Purse | undefined;
  let nextPageToken: Uint8Array | undefined;
  do {
    const execution = { workflowId: purseId };
    const page = await cluster.call((service) =>
      service.getWorkflowExecutionHistory({ namespace, execution, nextPageToken }),
    );
    for (const event of page.history?.events ?? []) {
      const {
        workflowExecutionStartedEventAttributes: started,
        workflowExecutionSignaledEventAttributes: told,
      } = event;
      if (started) purse = JSON.parse(fromSingle(started.input) ?? 'null') as Purse;
      else if (purse && told)
        tell(purse, told.signalName ?? '', JSON.parse(fromSingle(told.input) ?? 'null'));
    }
    nextPageToken = page.nextPageToken;
  } while (nextPageToken?.length);
  return purse;
}

/** A repeat with the same id is heard once. */
export async function tellPurse(
  cluster: Cluster,
  purseId: string,
  name: string,
  argument: object,
  requestId: string,
): Promise<void> {
  const { namespace, identity } = cluster;
  await cluster.call((service) =>
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
}

export const purseMemo = (purseId: string): Memo => ({ [MEMO.purse]: toPayload(JSON.stringify(purseId)) });

/** Of a server. */
export class Purses {
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

  /** @throws WorkflowNotFoundError, WorkflowAlreadyClosedError, ValidationError */
  async set(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }> {
    const run = await this.runs.lookOpen(selector, 'a budget');
    const ref = { workflowId: run.workflowId, runId: run.runId };
    const purseId = purseIdIn(run.memo);
    if (purseId === undefined || !(await this.#read(purseId))) throw withoutBudget(ref);
    await tellPurse(this.cluster, purseId, PURSE.set, { amount }, crypto.randomUUID());
    const purse = (await this.#read(purseId))!;
    const budget = budgetState(purse, purse.spent);
    if (!budget.isExceeded) await this.#wake(purseId, purse);
    return { ...ref, budget };
  }

  /** What is spent, and may be, is known without any worker. */
  async #read(purseId: string): Promise<Purse | undefined> {
    try {
      return await readPurse(this.cluster, purseId, SERVER_WAITS_MS);
    } catch (error) {
      if (!(error instanceof PerdureError && error.name === 'EngineUnavailableError')) throw error;
      return purseOnRecord(this.cluster, purseId);
    }
  }

  async #wake(purseId: string, { waiting }: Purse): Promise<void> {
    for (let from = 0; from < waiting.length; from += AT_ONCE) {
      const some = waiting.slice(from, from + AT_ONCE);
      await Promise.all(some.map((run) => this.#resume(run)));
      const runIds = some.map(({ runId }) => runId);
      await tellPurse(this.cluster, purseId, PURSE.woken, { runIds }, crypto.randomUUID());
    }
  }

  async #resume(run: RunRef): Promise<void> {
    try {
      await this.pauses.resume(run, { onlyBy: 'budget' });
    } catch (error) {
      // It has closed meanwhile, and needs nothing more.
      const isGone =
        error instanceof PerdureError &&
        (error.name === 'WorkflowAlreadyClosedError' || error.name === 'WorkflowNotFoundError');
      if (!isGone) throw error;
    }
  }
}
