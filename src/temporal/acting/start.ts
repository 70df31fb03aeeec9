/**
 * Starting runs.
 *
 * 1. An id is unique among open and retained runs: Temporal itself refuses a second one.
 * 2. A start has an id of its own that it keeps over repeats, so one whose answer was lost is neither lost nor doubled.
 */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../../core/errors.js';
import { newWorkflowId } from '../../core/values/id.js';
import type { RunRef, StartRequest } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CURRENT_PAYLOAD_VERSION, MEMO } from '../cluster/conventions.js';
import { CODE, errorOfRun, isRefused, type RefusedCall } from '../cluster/errors.js';
import { requestHeader, requestOf } from '../cluster/requests.js';
import type { StartedRuns } from '../cluster/started.js';
import type { Catalogs, Execution } from '../kept/catalogs.js';
import { dropPurse, openPurse, purseIdIn, purseIdOf, purseMemo } from '../kept/purses.js';
import { isHidden, type Memo, type Runs } from '../reading/runs.js';
import { toPayload, toPayloads } from '../translate/payload.js';
import { retryToProto, toDuration } from '../translate/proto.js';

/** Numbers of Temporal's enums. */
export const REJECT_DUPLICATE = 3;
export const FAIL_ON_CONFLICT = 1;

export class Starts {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly catalogs: Catalogs,
    private readonly started: StartedRuns,
  ) {}

  /** A run that no earlier call can have made, so what it was made with is known. */
  async start(request: StartRequest): Promise<RunRef> {
    const { workflowType, catalog, workflowId = newWorkflowId(workflowType) } = request;
    const execution = await this.catalogs.executionOf(catalog, workflowType);
    const run = await this.#startAs({ ...request, workflowId }, execution, randomUUID());
    // Workers write into the memo where a trace is, and those of other makers in which form they give results.
    const isToldByMemo = execution.traces !== undefined || execution.resultFormat !== 'current';
    if (!isToldByMemo && !isHidden({ workflowType, workflowId, catalog })) {
      this.started.started(run.runId, request);
    }
    return run;
  }

  /**
   * The same `requestId` again answers with the run that it made.
   * @throws WorkflowAlreadyExistsError, PayloadTooLargeError
   */
  async startAs(
    request: StartRequest & { workflowId: string },
    requestId: string,
    memo: Memo,
  ): Promise<RunRef> {
    const execution = await this.catalogs.executionOf(request.catalog, request.workflowType);
    return this.#startAs(request, execution, requestId, memo);
  }

  async #startAs(
    request: StartRequest & { workflowId: string },
    { settings, resultFormat, traces }: Execution,
    requestId: string,
    memo: Memo = {},
  ): Promise<RunRef> {
    const { workflowId, workflowType, catalog, input, traceContext, budget } = request;
    const { namespace, identity } = this.cluster;
    const purseId = budget && purseIdOf(requestId);
    if (purseId) await openPurse(this.cluster, purseId, { catalog, root: workflowId, budget });
    let tries = 0;
    try {
      const { runId } = await this.cluster.call((service) => {
        tries++;
        return service.startWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowId,
          workflowType: { name: workflowType },
          taskQueue: { name: catalog },
          input: toPayloads(input),
          workflowIdReusePolicy: REJECT_DUPLICATE,
          workflowIdConflictPolicy: FAIL_ON_CONFLICT,
          ...(settings.executionTimeoutMs !== undefined && {
            workflowExecutionTimeout: toDuration(settings.executionTimeoutMs),
          }),
          ...(settings.retry && { retryPolicy: retryToProto(settings.retry) }),
          memo: {
            fields: {
              ...memo,
              ...(purseId && purseMemo(purseId)),
              ...(resultFormat === 'current' && {
                [MEMO.payloadVersion]: toPayload(JSON.stringify(CURRENT_PAYLOAD_VERSION)),
              }),
              ...(traces && { [MEMO.traces]: toPayload(JSON.stringify(traces)) }),
            },
          },
          header: requestHeader(requestId, traceContext),
        });
      });
      return { workflowId, runId: runId ?? '' };
    } catch (error) {
      if (!isRefused(error, CODE.ALREADY_EXISTS)) throw errorOfStart(error, workflowId);
      // Our own start may have come through unheard, and its run may have gone on as another one since.
      const own = tries > 1 ? await this.#madeBy(requestId, workflowId) : undefined;
      if (own) return own;
      if (purseId) await this.#drop(purseId, workflowId);
      throw this.#taken(error, workflowId);
    }
  }

  /** Unless the run that has the id is the one that it was made for, by an earlier try. */
  async #drop(purseId: string, workflowId: string): Promise<void> {
    const holder = await this.runs.lookAny({ workflowId });
    if (holder && purseIdIn(holder.memo) === purseId) return;
    await dropPurse(this.cluster, purseId);
  }

  async #madeBy(requestId: string, workflowId: string): Promise<RunRef | undefined> {
    const latest = await this.runs.lookAny({ workflowId });
    if (!latest) return undefined;
    const runId = (await this.runs.firstEvent(latest)).attributes.firstExecutionRunId;
    const { header } = await this.runs.firstEvent({ workflowId, runId });
    return requestOf({ fields: header }) === requestId ? { workflowId, runId } : undefined;
  }

  #taken(refused: RefusedCall, workflowId: string): PerdureError {
    const { WorkflowExecutionAlreadyStartedFailure } = this.cluster.protos.temporal.api.errordetails.v1;
    const packed = refused.detail('WorkflowExecutionAlreadyStartedFailure');
    const runId = packed && WorkflowExecutionAlreadyStartedFailure.decode(packed).runId;
    return new PerdureError(
      'WorkflowAlreadyExistsError',
      `the workflow id "${workflowId}" is taken by run ${runId}; ids are unique among open and retained runs`,
      { workflowId, ...(runId && { runId }) },
    );
  }
}

/** A start that was not answered may have been made all the same: its caller can look. */
function errorOfStart(error: unknown, workflowId: string): unknown {
  if (!(error instanceof PerdureError) || error.name !== 'EngineUnavailableError') {
    return errorOfRun(error, { workflowId });
  }
  const message = `${error.message}; whether the workflow was started is not known, look for its id`;
  return new PerdureError(error.name, message, { ...error.details, workflowId });
}
