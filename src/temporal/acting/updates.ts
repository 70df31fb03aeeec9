/** Updates: sent once to one run under an id of their own, and then asked about until there is an outcome. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { temporal } from '@temporalio/proto';
import type { Limits } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';
import { RUN_PAUSED } from '../../core/run/pause.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { Payload } from '../../core/values/json.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, isClosing, isRefused, unavailable } from '../cluster/errors.js';
import type { Turn } from '../cluster/in-order.js';
import { isMissingHandler, silent } from '../cluster/no-answer.js';
import type { KnownRun } from '../reading/runs.js';
import { failureFromProto } from '../translate/failure.js';
import { fromSingle, toPayloads } from '../translate/payload.js';
import { tracerHeader } from '../translate/tracer-header.js';

type Response = temporal.api.workflowservice.v1.IUpdateWorkflowExecutionResponse;
type UpdateRef = temporal.api.update.v1.IUpdateRef;

/** Of Temporal's UpdateWorkflowExecutionLifecycleStage enum. */
const UNSPECIFIED = 0;
const ACCEPTED = 2;
const COMPLETED = 3;
/** The cluster ends a poll by itself after 20 s. */
const POLL_MS = 30_000;
const ADMITTED_AGAIN_MS = 10;
/** How long messages wait for an update before them to be taken. */
const TAKEN_WITHIN_MS = 1_000;
/** The type of the failure that an accepted update has when its run ends before it. */
const RUN_CLOSED = 'AcceptedUpdateCompletedWorkflow';

export interface UpdateMessage {
  name: string;
  input: Payload[];
  /** Of its caller. */
  traceContext?: TraceContext;
}

/** A turn has given the update back, of which nothing is left: it can be sent again after the pause. */
export class RunIsPaused extends Error {}

type Progress = Response | 'unknown' | undefined;

function isAccepted(answer: Progress): boolean {
  return typeof answer === 'object' && (answer.stage ?? 0) >= ACCEPTED;
}

export class Updates {
  constructor(
    private readonly cluster: Cluster,
    private readonly limits: Limits,
  ) {}

  /**
   * Of that very run; refused as not found when it has closed without having got the update.
   * @throws UpdateRejectedError, UpdateFailedError, HandlerNotFoundError, TooManyRequestsError, RefusedCall
   */
  async update(run: KnownRun, message: UpdateMessage, turn: Turn): Promise<Payload | undefined> {
    const { workflowId, runId } = run;
    const updateId = randomUUID();
    const ref: UpdateRef = { workflowExecution: { workflowId, runId }, updateId };
    const until = performance.now() + this.limits.messageTimeoutMs;
    const sending = this.#send(run, ref, message);
    void turn.awaited.then(() => this.#follow(ref, sending, turn));
    let answer = await sending;
    while (!answer?.outcome) {
      const known = await this.#further(answer, ref, until);
      if (known === 'late') throw silent(run.catalog, this.limits.messageTimeoutMs, run);
      // A cluster keeps an update that nobody has accepted in memory only, and may forget it.
      answer = known === 'unknown' ? await this.#send(run, ref, message) : known;
    }
    const { success, failure } = answer.outcome;
    if (!failure) return fromSingle(success);
    // Of the run that took it: the workflow may have gone on with another since.
    throw await this.#errorOf(failureFromProto(failure), answer.updateRef ?? ref, run, message.name);
  }

  /** How the update has come on since `answer`, until when somebody has to have accepted it. */
  async #further(answer: Response | undefined, ref: UpdateRef, until: number): Promise<Progress | 'late'> {
    if (isAccepted(answer)) return (await this.#poll(ref, COMPLETED, POLL_MS)) ?? answer;
    const leftMs = until - performance.now();
    if (leftMs > 0) return this.#poll(ref, COMPLETED, leftMs);
    const known = await this.#poll(ref, UNSPECIFIED, POLL_MS);
    return isAccepted(known) ? known : 'late';
  }

  async #send(run: KnownRun, ref: UpdateRef, message: UpdateMessage): Promise<Response | undefined> {
    const { namespace, identity } = this.cluster;
    const { workflowId, runId } = run;
    const { name, input, traceContext } = message;
    const header = { fields: tracerHeader(traceContext) };
    try {
      return await this.cluster.call(
        (service) =>
          service.updateWorkflowExecution({
            namespace,
            workflowExecution: ref.workflowExecution,
            waitPolicy: { lifecycleStage: COMPLETED },
            request: {
              meta: { updateId: ref.updateId, identity },
              input: { name, args: toPayloads(input), header },
            },
          }),
        { timeoutMs: this.limits.messageTimeoutMs, isPoll: true },
      );
    } catch (error) {
      if (isRefused(error, CODE.DEADLINE_EXCEEDED)) return undefined;
      if (
        (isRefused(error, CODE.RESOURCE_EXHAUSTED) || isRefused(error, CODE.FAILED_PRECONDITION)) &&
        /limit on .{0,200}updates/i.test(error.reason)
      ) {
        throw new PerdureError('TooManyRequestsError', `the run takes no more updates: ${error.reason}`, {
          workflowId,
          runId,
          retryAfterSeconds: 1,
        });
      }
      // The run has closed; whether it had got the update before, it still knows.
      if (isRefused(error, CODE.NOT_FOUND) || isClosing(error)) {
        const known = await this.#poll(ref, UNSPECIFIED, POLL_MS);
        if (known !== 'unknown') return known;
      }
      // The worker was lost with the turn, and the cluster gives the update up.
      if (isRefused(error, CODE.FAILED_PRECONDITION) && /workflow task failure/i.test(error.reason)) {
        throw unavailable(`no worker has answered update "${name}"`, 1);
      }
      throw error;
    }
  }

  /**
   * Ends the turn when the run has taken the update, so that what comes next comes after it; or soon, when no worker is
   * there to take it. Never rejects: who sends the update hears what went wrong.
   */
  async #follow(ref: UpdateRef, sending: Promise<unknown>, turn: Turn): Promise<void> {
    const until = performance.now() + TAKEN_WITHIN_MS;
    let isAnswered = false;
    const answered = sending
      .catch(() => undefined)
      .then(() => {
        isAnswered = true;
      });
    // The end of the turn is then that of the call.
    while (!isAnswered) {
      if (performance.now() >= until) return turn.end();
      const known = await this.#poll(ref, UNSPECIFIED, until - performance.now()).catch(() => undefined);
      if (known === undefined || known === 'unknown') {
        await Promise.race([answered, sleep(ADMITTED_AGAIN_MS)]);
        continue;
      }
      turn.keep();
      if (!isAccepted(known))
        await this.#poll(ref, ACCEPTED, until - performance.now()).catch(() => undefined);
      return turn.end();
    }
  }

  /** How far it has come, once it has come to `stage`; undefined when it has not in that time. */
  async #poll(ref: UpdateRef, stage: number, timeoutMs: number): Promise<Progress> {
    const { namespace, identity } = this.cluster;
    try {
      return await this.cluster.call(
        (service) =>
          service.pollWorkflowExecutionUpdate({
            namespace,
            identity,
            updateRef: ref,
            waitPolicy: { lifecycleStage: stage },
          }),
        { timeoutMs, isPoll: true },
      );
    } catch (error) {
      if (isRefused(error, CODE.DEADLINE_EXCEEDED)) return undefined;
      if (isRefused(error, CODE.NOT_FOUND)) return 'unknown';
      throw error;
    }
  }

  /** A refused update leaves no trace: the cluster does not know it any more. */
  async #errorOf(
    failure: ReturnType<typeof failureFromProto>,
    ref: UpdateRef,
    run: KnownRun,
    name: string,
  ): Promise<Error> {
    const { workflowId, runId } = run;
    const details = { workflowId, runId };
    if (isMissingHandler(failure)) return new PerdureError('HandlerNotFoundError', failure.message, details);
    if (failure.type === RUN_PAUSED) return new RunIsPaused(failure.message);
    if (failure.type === RUN_CLOSED) {
      const message = `the run closed before its update "${name}" completed`;
      return new PerdureError('UpdateFailedError', message, details);
    }
    const isRefusedOne = (await this.#poll(ref, UNSPECIFIED, POLL_MS)) === 'unknown';
    return new PerdureError(
      isRefusedOne ? 'UpdateRejectedError' : 'UpdateFailedError',
      failure.message,
      details,
    );
  }
}
