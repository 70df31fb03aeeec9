/** Signals, queries and updates. Signals and updates go to whichever run of the id is open when they arrive. */
import { randomUUID } from 'node:crypto';
import { PerdureError } from '../core/errors.js';
import type { Failure } from '../core/failure.js';
import type { Payload } from '../core/json.js';
import type { Limits } from '../core/limits.js';
import type { RunRef, RunSelector } from '../engine.js';
import type { Catalogs } from './catalogs.js';
import type { Cluster } from './connection.js';
import { FEEDBACK_SIGNAL } from './conventions.js';
import { CODE, errorOfRun, isRefused, RefusedCall, unavailable } from './errors.js';
import type { InOrder, Turn } from './in-order.js';
import { closed, type KnownRun, type Runs } from './runs.js';
import { failureFromProto } from './translate/failure.js';
import { fromSingle, toPayloads } from './translate/payload.js';
import { Updates } from './updates.js';

export class Messages {
  readonly #updates: Updates;

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly catalogs: Catalogs,
    private readonly limits: Limits,
    private readonly inOrder: InOrder,
  ) {
    this.#updates = new Updates(cluster, limits);
  }

  signal(selector: RunSelector, name: string, input: Payload[]): Promise<RunRef> {
    return this.inOrder.with(selector.workflowId, () => this.#signal(selector, name, input));
  }

  async #signal(selector: RunSelector, name: string, input: Payload[]): Promise<RunRef> {
    const what = `signal "${name}"`;
    const run = await this.runs.lookOpen(selector, what);
    const { workflowId, runId } = run;
    await this.#requireDeclared(run, name);
    const { namespace, identity } = this.cluster;
    const requestId = randomUUID();
    try {
      await this.cluster.call((service) =>
        service.signalWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowExecution: { workflowId, runId: selector.runId },
          signalName: name,
          input: toPayloads(input),
        }),
      );
    } catch (error) {
      if (isRefused(error, CODE.INVALID_ARGUMENT) && /limit for signal/i.test(error.reason)) {
        throw new PerdureError('TooManyRequestsError', 'the run has received all the signals it may', {
          workflowId,
          runId,
        });
      }
      throw await this.#errorOfOpen(error, selector, what);
    }
    return { workflowId, runId };
  }

  async #requireDeclared(
    { workflowId, runId, catalog, workflowType }: KnownRun,
    name: string,
  ): Promise<void> {
    if (name === FEEDBACK_SIGNAL) return;
    const workflow = await this.catalogs.workflow(catalog, workflowType);
    if (!workflow?.declaresSignals) return;
    const names = workflow.entry.signals.map((signal) => signal.name);
    if (names.includes(name)) return;
    throw new PerdureError(
      'HandlerNotFoundError',
      `workflow ${workflowType} has no signal "${name}"; it declares ${names.join(', ') || 'none'}`,
      { workflowId, runId },
    );
  }

  async query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    const run = await this.runs.look(selector);
    const { workflowId, runId } = run;
    const heldBack = await this.runs.heldBack(run);
    if (heldBack) {
      throw new PerdureError('QueryFailedError', `the run is held back: ${heldBack.reason}`, {
        workflowId,
        runId,
      });
    }
    const { namespace } = this.cluster;
    try {
      const { queryResult } = await this.cluster.call(
        (service) =>
          service.queryWorkflow({
            namespace,
            execution: { workflowId, runId },
            query: { queryType: name, queryArgs: toPayloads(input) },
          }),
        { timeoutMs: this.limits.messageTimeoutMs, isPoll: true },
      );
      return fromSingle(queryResult);
    } catch (error) {
      throw this.#errorOfQuery(error, run, name);
    }
  }

  #errorOfQuery(error: unknown, run: KnownRun, name: string): unknown {
    if (!(error instanceof RefusedCall)) return error;
    const { workflowId, runId, catalog, status } = run;
    const details = { workflowId, runId };
    if (error.code === CODE.DEADLINE_EXCEEDED || error.code === CODE.FAILED_PRECONDITION) {
      if (status !== 'running' && error.has('WorkflowNotReadyFailure')) {
        const message = `the workflow has no query "${name}"; the run closed before its code ran`;
        return new PerdureError('HandlerNotFoundError', message, details);
      }
      return silent(catalog, this.limits.messageTimeoutMs, details);
    }
    const failure = this.#queryFailure(error);
    if (!failure) return errorOfRun(error, run);
    return new PerdureError(
      isMissingHandler(failure) ? 'HandlerNotFoundError' : 'QueryFailedError',
      failure.message,
      details,
    );
  }

  #queryFailure(refused: RefusedCall): Failure | undefined {
    const packed = refused.detail('QueryFailedFailure');
    if (!packed) return undefined;
    const { failure } = this.cluster.protos.temporal.api.errordetails.v1.QueryFailedFailure.decode(packed);
    return failure
      ? failureFromProto(failure)
      : { kind: 'application', type: 'Error', message: refused.reason };
  }

  update(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.inOrder.with(selector.workflowId, (turn) => this.#update(selector, name, input, turn));
  }

  async #update(
    selector: RunSelector,
    name: string,
    input: Payload[],
    turn: Turn,
  ): Promise<Payload | undefined> {
    const what = `update "${name}"`;
    const run = await this.runs.lookOpen(selector, what);
    const { workflowId, runId } = run;
    const heldBack = await this.runs.heldBack(run);
    if (heldBack) {
      const message = `the run is held back and takes no updates: ${heldBack.reason}`;
      throw new PerdureError('EngineUnavailableError', message, { workflowId, runId, retryAfterSeconds: 10 });
    }
    try {
      return await this.#updates.update(run, selector.runId, { name, input }, turn);
    } catch (error) {
      throw await this.#errorOfOpen(error, selector, what);
    }
  }

  /** Temporal says "not found" of closed runs as well. */
  async #errorOfOpen(error: unknown, selector: RunSelector, what: string): Promise<unknown> {
    if (!isRefused(error, CODE.NOT_FOUND)) return errorOfRun(error, selector);
    const run = await this.runs.look(selector);
    return run.status === 'running'
      ? unavailable('the run went on as another one; try again', 1)
      : closed(run, what);
  }
}

export function silent(catalog: string, waitedMs: number, run: RunRef): PerdureError {
  return new PerdureError(
    'EngineUnavailableError',
    `no worker of catalog "${catalog}" has answered within ${waitedMs} ms`,
    { ...run, retryAfterSeconds: 1 },
  );
}

/** Ours say so by the type; Temporal's own SDKs only in words. */
export function isMissingHandler({ type, message }: Failure): boolean {
  return (
    type === 'HandlerNotFoundError' ||
    /^(no handler for|the workflow has no) (query|update) "|did not register a handler for|no registered handlers? for|update handler missing/i.test(
      message,
    )
  );
}
