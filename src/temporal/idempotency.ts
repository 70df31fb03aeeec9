/**
 * Idempotency keys, kept by the cluster, so that every API server knows them.
 *
 * A key is kept by a run of its own, on a task queue that nobody polls: whoever starts that one first has decided what
 * the key stands for. Everybody with the same body then starts the same run: its id and the id of its start follow from
 * the key, and Temporal answers every repeat of a start with the run it made. So a server that dies in between, and
 * the keeper's end, lose nothing: the run is still found by its id for as long as it is retained.
 *
 * The keeper ends after the time for which the cluster retains closed runs. From then on another body may take the
 * key, also when the run it made is open longer than that.
 */
import { createHash, randomUUID } from 'node:crypto';
import { PerdureError } from '../core/errors.js';
import type { RunRef, StartRequest } from '../engine.js';
import type { Cluster } from './connection.js';
import { IDEMPOTENCY_WORKFLOW_TYPE, MEMO } from './conventions.js';
import { CODE, isRefused } from './errors.js';
import type { KnownRun, Runs } from './runs.js';
import { Shared } from './shared.js';
import { FAIL_ON_CONFLICT, type Starts } from './start.js';
import { decoded, toPayload } from './translate/payload.js';
import { int, statusFromProto, toDuration } from './translate/proto.js';

type KeyedRequest = StartRequest & { idempotency: NonNullable<StartRequest['idempotency']> };

/** Of a keeper, in its memo; and of the run that a key made, with the key alone. */
interface Kept {
  fingerprint: string;
  workflowId: string;
}

/** Only one that was terminated or has timed out can be started again: a key that is free. */
const REUSE_WHEN_NOT_COMPLETED = 2;
const DEFAULT_RETENTION_MS = 24 * 3_600_000;
const MAX_TRIES = 5;

export class IdempotencyKeys {
  readonly #underWay = new Shared<RunRef>();
  #retentionMs: Promise<number> | undefined;

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly starts: Starts,
  ) {}

  /** @throws IdempotencyConflictError, WorkflowAlreadyExistsError */
  start(request: KeyedRequest): Promise<RunRef> {
    const { key, fingerprint } = request.idempotency;
    return this.#underWay.get(hash(key, fingerprint), () => this.#start(request));
  }

  async #start(request: KeyedRequest): Promise<RunRef> {
    const { key, fingerprint } = request.idempotency;
    const keeperId = `${IDEMPOTENCY_WORKFLOW_TYPE}/${hash(key)}`;
    const { workflowType, catalog } = request;
    const workflowId = request.workflowId ?? `${workflowType}-${suffixOf(hash(key, catalog, workflowType))}`;
    const keeperRunId = await this.#keep(keeperId, { fingerprint, workflowId });
    const memo = { [MEMO.idempotency]: toPayload(JSON.stringify(hash(key))) };
    try {
      return await this.starts.startAs({ ...request, workflowId }, hash(key, fingerprint), memo);
    } catch (error) {
      if (!(error instanceof PerdureError) || error.name === 'EngineUnavailableError') throw error;
      const own = error.name === 'WorkflowAlreadyExistsError' && (await this.#firstOf(workflowId, hash(key)));
      if (own) return own;
      await this.#free(keeperId, keeperRunId);
      throw error;
    }
  }

  /** Makes the key stand for `kept`, or finds that it does. @throws IdempotencyConflictError */
  async #keep(keeperId: string, kept: Kept): Promise<string> {
    let requestId = hash(keeperId, kept.fingerprint);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const started = await this.#startKeeper(keeperId, kept, requestId);
      if (started?.isOpen) return started.runId;
      const keeper = await this.runs.lookAny({ workflowId: keeperId });
      if (keeper?.status === 'running') {
        const { fingerprint, workflowId } = decoded(keeper.memo[MEMO.idempotency]) as Kept;
        if (fingerprint === kept.fingerprint) return keeper.runId;
        throw new PerdureError('IdempotencyConflictError', 'the Idempotency-Key was used with another body', {
          workflowId,
        });
      }
      // The key became free; a start with the id of an old one would answer with that.
      requestId = randomUUID();
    }
    throw new PerdureError('EngineUnavailableError', 'the Idempotency-Key is being freed; try again', {
      retryAfterSeconds: 1,
    });
  }

  async #startKeeper(
    workflowId: string,
    kept: Kept,
    requestId: string,
  ): Promise<{ runId: string; isOpen: boolean } | undefined> {
    const { namespace, identity } = this.cluster;
    const retentionMs = await this.#retention();
    try {
      const { runId, status } = await this.cluster.call((service) =>
        service.startWorkflowExecution({
          namespace,
          identity,
          requestId,
          workflowId,
          workflowType: { name: IDEMPOTENCY_WORKFLOW_TYPE },
          taskQueue: { name: IDEMPOTENCY_WORKFLOW_TYPE },
          workflowIdReusePolicy: REUSE_WHEN_NOT_COMPLETED,
          workflowIdConflictPolicy: FAIL_ON_CONFLICT,
          workflowExecutionTimeout: toDuration(retentionMs),
          memo: { fields: { [MEMO.idempotency]: toPayload(JSON.stringify(kept)) } },
        }),
      );
      return { runId: runId ?? '', isOpen: statusFromProto(status) === 'running' };
    } catch (error) {
      if (isRefused(error, CODE.ALREADY_EXISTS)) return undefined;
      throw error;
    }
  }

  /** The first run of the chain that the key made, when the latest run of the id belongs to it. */
  async #firstOf(workflowId: string, keyHash: string): Promise<RunRef | undefined> {
    const latest: KnownRun | undefined = await this.runs.lookAny({ workflowId });
    if (!latest || decoded(latest.memo[MEMO.idempotency]) !== keyHash) return undefined;
    const { attributes } = await this.runs.firstEvent(latest);
    return { workflowId, runId: attributes.firstExecutionRunId };
  }

  /** Nothing was started, so the key stands for nothing. */
  async #free(workflowId: string, runId: string): Promise<void> {
    const { namespace, identity } = this.cluster;
    try {
      await this.cluster.call((service) =>
        service.terminateWorkflowExecution({
          namespace,
          identity,
          workflowExecution: { workflowId, runId },
          reason: 'nothing was started with this key',
        }),
      );
    } catch (error) {
      // Somebody else has freed it.
      if (!isRefused(error, CODE.NOT_FOUND)) throw error;
    }
  }

  /** How long the cluster keeps closed runs. */
  #retention(): Promise<number> {
    this.#retentionMs ??= this.#askRetention().catch((error: unknown) => {
      this.#retentionMs = undefined;
      throw error;
    });
    return this.#retentionMs;
  }

  async #askRetention(): Promise<number> {
    const { namespace } = this.cluster;
    const { config } = await this.cluster.call((service) => service.describeNamespace({ namespace }));
    return int(config?.workflowExecutionRetentionTtl?.seconds) * 1_000 || DEFAULT_RETENTION_MS;
  }
}

function hash(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** The twelve characters of a generated id, here from the key: every server makes the same. */
function suffixOf(hex: string): string {
  return BigInt(`0x${hex}`).toString(36).slice(-12);
}
