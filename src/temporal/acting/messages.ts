/** Signals, queries and updates. Signals and updates go to whichever run of the id is open when they arrive, and to one only. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Limits } from '../../core/bounds/limits.js';
import { declaredSignals } from '../../core/catalog.js';
import { PerdureError } from '../../core/errors.js';
import type { Failure } from '../../core/history/failure.js';
import { goesOnAsAnother, isOwnSignal } from '../../core/run/callback.js';
import { isPauseSignal, pausedByCall } from '../../core/run/pause.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { Payload } from '../../core/values/json.js';
import type { RunRef, RunSelector, SignalOptions } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, errorOfRun, isRefused, RefusedCall } from '../cluster/errors.js';
import type { InOrder, Turn } from '../cluster/in-order.js';
import { isMissingHandler, isOtherCode, notBegun, silent } from '../cluster/no-answer.js';
import { requestHeader, requestOf } from '../cluster/requests.js';
import type { Catalogs } from '../kept/catalogs.js';
import { closed, type KnownRun, type Runs } from '../reading/runs.js';
import { failureFromProto } from '../translate/failure.js';
import { fromSingle, toPayloads } from '../translate/payload.js';
import { isTemporalsQuery } from '../translate/queries.js';
import { readable } from '../translate/turn-failure.js';
import { RunIsPaused, type UpdateMessage, Updates } from './updates.js';

/** Between two looks at a paused run for which an update waits. */
const RESUMED_LOOK_MS = 200;

/**
 * The cluster gives a query to any worker of the catalog, so one of another version may get it, whose code cannot make the
 * run. It is asked again, and within this time one that fits has got it, if there is any.
 */
const OTHER_CODE_MS = 3_000;
const ASKED_AGAIN_MS = 50;

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

  /** The cluster itself leaves out a signal that the run has had under the same request id. */
  signal(
    selector: RunSelector,
    name: string,
    input: Payload[],
    options: SignalOptions = {},
  ): Promise<RunRef> {
    // Made once, so that a repeat of the call to the cluster is known as one.
    const { requestId = randomUUID(), traceContext, madeFor } = options;
    return this.inOrder.with(selector.workflowId, 'other', () =>
      this.runs.onOpen(selector, `signal "${name}"`, async (run) => {
        const { workflowId, runId } = run;
        if (isPauseSignal(name)) throw pausedByCall({ workflowId, runId });
        if (madeFor !== undefined) await this.#requireMadeFor(run, madeFor);
        await this.#requireDeclared(run, name);
        return this.send(run, name, input, { requestId, traceContext });
      }),
    );
  }

  /** To that very run, whatever its definition declares; refused as not found when it has closed before. */
  async send(
    run: KnownRun,
    name: string,
    input: Payload[],
    { requestId, traceContext }: SignalOptions & { requestId: string },
  ): Promise<RunRef> {
    const { workflowId, runId } = run;
    const { namespace, identity } = this.cluster;
    let tries = 0;
    try {
      await this.cluster.call((service) => {
        tries++;
        return service.signalWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowExecution: { workflowId, runId },
          signalName: name,
          input: toPayloads(input),
          header: requestHeader(requestId, traceContext),
        });
      });
    } catch (error) {
      if (isRefused(error, CODE.INVALID_ARGUMENT) && /limit for signal/i.test(error.reason)) {
        throw new PerdureError('TooManyRequestsError', 'the run has received all the signals it may', {
          workflowId,
          runId,
        });
      }
      // The run may have got it before it closed, and only the answer was lost.
      const hasIt =
        isRefused(error, CODE.NOT_FOUND) && tries > 1 && (await this.#wasSignalled(run, requestId));
      if (!hasIt) throw error;
    }
    return { workflowId, runId };
  }

  /** @throws WorkflowAlreadyClosedError when the run is another one than that, and no reset has made it of that */
  async #requireMadeFor(run: KnownRun, madeFor: string): Promise<void> {
    const { workflowId, runId } = run;
    if (runId === madeFor) return;
    const [here, there] = await Promise.all([
      this.#originOf(run),
      this.#originOf({ workflowId, runId: madeFor }).catch((error: unknown) => {
        // Nothing is left to know it by.
        if (error instanceof PerdureError && error.name === 'WorkflowNotFoundError') return undefined;
        throw error;
      }),
    ]);
    if (there !== undefined && here !== there) throw goesOnAsAnother({ workflowId, runId: madeFor }, runId);
  }

  async #originOf(run: RunRef): Promise<string> {
    return (await this.runs.firstEvent(run)).attributes.originalExecutionRunId;
  }

  async #wasSignalled(run: RunRef, requestId: string): Promise<boolean> {
    for await (const event of this.runs.eventsBackwards(run)) {
      const signalled = event.workflowExecutionSignaledEventAttributes;
      if (signalled && requestOf(signalled.header) === requestId) return true;
    }
    return false;
  }

  async #requireDeclared(
    { workflowId, runId, catalog, workflowType }: KnownRun,
    name: string,
  ): Promise<void> {
    if (isOwnSignal(name)) return;
    const names = declaredSignals(await this.catalogs.variants(catalog, workflowType));
    if (names === undefined || names.includes(name)) return;
    throw new PerdureError(
      'HandlerNotFoundError',
      `workflow ${workflowType} has no signal "${name}"; it declares ${names.join(', ') || 'none'}`,
      { workflowId, runId },
    );
  }

  async query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    const run = await this.runs.look(selector);
    const { workflowId, runId } = run;
    if (isTemporalsQuery(name)) {
      // What the cluster would answer are stacks, with the files of the worker.
      const message = `the workflow has no query "${name}"`;
      throw new PerdureError('HandlerNotFoundError', message, { workflowId, runId });
    }
    const heldBack = await this.runs.heldBack(run);
    if (heldBack) {
      throw new PerdureError('QueryFailedError', `the run is held back: ${heldBack.reason}`, {
        workflowId,
        runId,
      });
    }
    await this.#begun(run, performance.now() + this.limits.messageTimeoutMs);
    const giveUpAt = performance.now() + OTHER_CODE_MS;
    for (;;) {
      try {
        return await this.#query(run, name, input);
      } catch (error) {
        const isMisfit = error instanceof RefusedCall && isOtherCode(this.#queryFailure(error));
        if (!isMisfit || performance.now() >= giveUpAt) throw this.#errorOfQuery(error, run, name);
      }
      await sleep(ASKED_AGAIN_MS);
    }
  }

  async #query(
    { workflowId, runId }: KnownRun,
    name: string,
    input: Payload[],
  ): Promise<Payload | undefined> {
    const { namespace } = this.cluster;
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
    if (isOtherCode(failure)) {
      const message = `the run is held back: no connected code fits it (${readable(failure.message)})`;
      return new PerdureError('QueryFailedError', message, details);
    }
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

  update(
    selector: RunSelector,
    name: string,
    input: Payload[],
    traceContext?: TraceContext,
  ): Promise<Payload | undefined> {
    return this.inOrder.with(selector.workflowId, 'update', (turn) =>
      this.runs.onOpen(selector, `update "${name}"`, (run) =>
        this.#update(run, { name, input, traceContext }, turn),
      ),
    );
  }

  async #update(run: KnownRun, message: UpdateMessage, turn: Turn): Promise<Payload | undefined> {
    const { workflowId, runId } = run;
    const heldBack = await this.runs.heldBack(run);
    if (heldBack) {
      const message = `the run is held back and takes no updates: ${heldBack.reason}`;
      throw new PerdureError('EngineUnavailableError', message, { workflowId, runId, retryAfterSeconds: 10 });
    }
    const until = performance.now() + this.limits.messageTimeoutMs;
    await this.#begun(run, until, turn);
    for (;;) {
      try {
        if (run.paused) await this.#resumed(run, message, turn, until);
        return await this.#updates.update(run, message, turn);
      } catch (error) {
        if (!(error instanceof RunIsPaused)) throw error;
        await this.#resumed(run, message, turn, until);
      }
    }
  }

  /**
   * The cluster would begin a run that waits for its retry for the sake of an update, and let a query wait in vain.
   * @throws when that is too long
   */
  async #begun(
    { workflowId, runId, firstTurnAt, status }: KnownRun,
    until: number,
    turn?: Turn,
  ): Promise<void> {
    const leftMs = firstTurnAt - Date.now();
    if (status !== 'running' || leftMs <= 0) return;
    // Signals are kept meanwhile, and a stop is.
    turn?.end();
    if (leftMs > until - performance.now()) throw notBegun({ workflowId, runId }, firstTurnAt);
    await sleep(leftMs);
  }

  /** Temporal has no place for an update that nobody takes, so it waits here. @throws when the run is not resumed in time */
  async #resumed(run: KnownRun, { name }: UpdateMessage, turn: Turn, until: number): Promise<void> {
    // The message that resumes the run must not wait for it.
    turn.end();
    for (;;) {
      const now = await this.runs.look(run);
      if (now.status !== 'running') throw closed(now, `update "${name}"`);
      const paused = await this.runs.paused(now);
      if (!paused) return;
      if (performance.now() >= until) {
        const { workflowId, runId } = run;
        const message = `the run is paused (${paused.reason}) and takes updates once it is resumed`;
        throw new PerdureError('EngineUnavailableError', message, {
          workflowId,
          runId,
          retryAfterSeconds: 1,
        });
      }
      await sleep(RESUMED_LOOK_MS);
    }
  }
}
