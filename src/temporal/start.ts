/**
 * Starting runs.
 *
 * 1. An id is unique among open and retained runs: Temporal itself refuses a second one.
 * 2. A start has an id of its own that it keeps over repeats, so one whose answer was lost is neither lost nor doubled.
 */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../core/errors.js';
import { newWorkflowId } from '../core/id.js';
import type { RunRef, StartRequest } from '../engine.js';
import type { Catalogs } from './catalogs.js';
import type { Cluster } from './connection.js';
import { CURRENT_PAYLOAD_VERSION, MEMO } from './conventions.js';
import { CODE, errorOfRun, isRefused, type RefusedCall } from './errors.js';
import type { Memo, Runs } from './runs.js';
import { decoded, toPayload, toPayloads } from './translate/payload.js';
import { retryToProto, toDuration } from './translate/proto.js';

/** Numbers of Temporal's enums. */
export const REJECT_DUPLICATE = 3;
export const FAIL_ON_CONFLICT = 1;

/** In the header of a run's first event: which start made it. */
const REQUEST_HEADER = 'perdure-request';

export class Starts {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly catalogs: Catalogs,
  ) {}

  start(request: StartRequest): Promise<RunRef> {
    const { workflowType, workflowId = newWorkflowId(workflowType) } = request;
    return this.startAs({ ...request, workflowId }, randomUUID());
  }

  /**
   * The same `requestId` again answers with the run that it made.
   * @throws WorkflowAlreadyExistsError, PayloadTooLargeError
   */
  async startAs(
    request: StartRequest & { workflowId: string },
    requestId: string,
    memo: Memo = {},
  ): Promise<RunRef> {
    const { workflowId, workflowType, catalog, input } = request;
    const { namespace, identity } = this.cluster;
    const { settings, resultFormat, traces } = await this.catalogs.executionOf(catalog, workflowType);
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
              ...(resultFormat === 'current' && {
                [MEMO.payloadVersion]: toPayload(JSON.stringify(CURRENT_PAYLOAD_VERSION)),
              }),
              ...(traces && { [MEMO.traces]: toPayload(JSON.stringify(traces)) }),
            },
          },
          header: { fields: { [REQUEST_HEADER]: toPayload(JSON.stringify(requestId)) } },
        });
      });
      return { workflowId, runId: runId ?? '' };
    } catch (error) {
      if (!isRefused(error, CODE.ALREADY_EXISTS)) throw errorOfRun(error, { workflowId });
      // Our own start may have come through unheard, and its run may have gone on as another one since.
      const own = tries > 1 ? await this.#madeBy(requestId, workflowId) : undefined;
      if (own) return own;
      throw this.#taken(error, workflowId);
    }
  }

  async #madeBy(requestId: string, workflowId: string): Promise<RunRef | undefined> {
    const latest = await this.runs.lookAny({ workflowId });
    if (!latest) return undefined;
    const runId = (await this.runs.firstEvent(latest)).attributes.firstExecutionRunId;
    const { header } = await this.runs.firstEvent({ workflowId, runId });
    return decoded(header[REQUEST_HEADER]) === requestId ? { workflowId, runId } : undefined;
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
