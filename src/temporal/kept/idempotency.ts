/**
 * Idempotency keys, kept by the cluster, so that every API server knows them.
 *
 * A key is kept by a run of its own, on a task queue that nobody polls: whoever starts that one first has decided what
 * the key stands for. Everybody with the same body then starts the same run: its id and the id of its start follow from
 * the key, and Temporal answers every repeat of a start with the run it made. So a server that dies in between, and
 * the keeper's end, lose nothing: the run is still found by its id for as long as it is retained.
 *
 * The keeper ends after the time for which the cluster retains closed runs, is itself retained for as long again, and
 * is made anew whenever the key is used. What the key stands for is also with the run that it made, so that it refuses
 * another body for that run for as long as there is one. Only a body that names another run may take a key that was not
 * used for twice that time.
 */
import { createHash, randomUUID } from 'node:crypto';
import { PerdureError } from '../../core/errors.js';
import type { RunRef, StartRequest } from '../../engine.js';
import { FAIL_ON_CONFLICT, REJECT_DUPLICATE, type Starts } from '../acting/start.js';
import type { Cluster } from '../cluster/connection.js';
import { IDEMPOTENCY_WORKFLOW_TYPE, MEMO } from '../cluster/conventions.js';
import { CODE, isRefused } from '../cluster/errors.js';
import { Shared } from '../cluster/shared.js';
import { terminateIfOpen } from '../cluster/terminate.js';
import type { KnownRun, Runs } from '../reading/runs.js';
import { decoded, toPayload } from '../translate/payload.js';
import { int, statusFromProto, toDuration } from '../translate/proto.js';

type KeyedRequest = StartRequest & { idempotency: NonNullable<StartRequest['idempotency']> };

/** Of a keeper, in its memo. */
interface Kept {
  fingerprint: string;
  workflowId: string;
}

/** Of the run that a key made, in its memo; those of earlier versions have the hash alone. */
type MadeBy = { key: string; fingerprint: string } | string;

interface Made extends RunRef {
  fingerprint: string | undefined;
}

/** Keepers are only ever terminated, or time out. */
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
    const keeperRunId = await this.#keep(keeperId, { fingerprint, workflowId }, hash(key));
    const madeBy: MadeBy = { key: hash(key), fingerprint };
    const memo = { [MEMO.idempotency]: toPayload(JSON.stringify(madeBy)) };
    try {
      return await this.starts.startAs({ ...request, workflowId }, hash(key, fingerprint), memo);
    } catch (error) {
      if (!(error instanceof PerdureError) || error.name === 'EngineUnavailableError') throw error;
      const made =
        error.name === 'WorkflowAlreadyExistsError' ? await this.#madeBy(hash(key), workflowId) : undefined;
      if (made && isOf(made, fingerprint)) return { workflowId, runId: made.runId };
      await this.#free(keeperId, keeperRunId);
      throw made ? conflict(workflowId) : error;
    }
  }

  /** Makes the key stand for `kept`, or finds that it does. @throws IdempotencyConflictError */
  async #keep(keeperId: string, kept: Kept, keyHash: string): Promise<string> {
    let request = { id: hash(keeperId, kept.fingerprint), reuse: REJECT_DUPLICATE };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const started = await this.#startKeeper(keeperId, kept, request);
      if (started?.isOpen) return started.runId;
      const keeper = await this.runs.lookAny({ workflowId: keeperId });
      if (keeper) {
        const before = decoded(keeper.memo[MEMO.idempotency]) as Kept;
        const isOpen = keeper.status === 'running';
        if (before.fingerprint !== kept.fingerprint) {
          const made = isOpen ? undefined : await this.#madeBy(keyHash, before.workflowId);
          if (isOpen || (made && !isOf(made, kept.fingerprint))) throw conflict(before.workflowId);
        } else if (isOpen) return keeper.runId;
      }
      // Nobody keeps it any more. A start with the id of an old one would answer with that.
      request = { id: randomUUID(), reuse: REUSE_WHEN_NOT_COMPLETED };
    }
    throw new PerdureError('EngineUnavailableError', 'the Idempotency-Key is being freed; try again', {
      retryAfterSeconds: 1,
    });
  }

  async #startKeeper(
    workflowId: string,
    kept: Kept,
    request: { id: string; reuse: number },
  ): Promise<{ runId: string; isOpen: boolean } | undefined> {
    const { namespace, identity } = this.cluster;
    const retentionMs = await this.#retention();
    try {
      const { runId, status } = await this.cluster.call((service) =>
        service.startWorkflowExecution({
          namespace,
          identity,
          requestId: request.id,
          workflowId,
          workflowType: { name: IDEMPOTENCY_WORKFLOW_TYPE },
          taskQueue: { name: IDEMPOTENCY_WORKFLOW_TYPE },
          workflowIdReusePolicy: request.reuse,
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

  /**
   * What the key made, when the latest run of the id belongs to it: the first run of its chain, or the latest where that
   * has left retention.
   */
  async #madeBy(keyHash: string, workflowId: string): Promise<Made | undefined> {
    const latest: KnownRun | undefined = await this.runs.lookAny({ workflowId });
    const madeBy = latest && (decoded(latest.memo[MEMO.idempotency]) as MadeBy | undefined);
    const { key, fingerprint } =
      typeof madeBy === 'object' ? madeBy : { key: madeBy, fingerprint: undefined };
    if (!latest || key !== keyHash) return undefined;
    const { attributes } = await this.runs.firstEvent(latest);
    const first = await this.runs.lookAny({ workflowId, runId: attributes.firstExecutionRunId });
    return { workflowId, runId: (first ?? latest).runId, fingerprint };
  }

  /** Nothing was started, so the key stands for nothing. */
  #free(workflowId: string, runId: string): Promise<void> {
    return terminateIfOpen(this.cluster, {
      workflowExecution: { workflowId, runId },
      reason: 'nothing was started with this key',
    });
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

/** One that was made by an earlier version does not say which body it was. */
function isOf({ fingerprint }: Made, wanted: string): boolean {
  return fingerprint === undefined || fingerprint === wanted;
}

function conflict(workflowId: string): PerdureError {
  const message = 'the Idempotency-Key was used with another body';
  return new PerdureError('IdempotencyConflictError', message, { workflowId });
}

function hash(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** The twelve characters of a generated id, here from the key: every server makes the same. */
function suffixOf(hex: string): string {
  return BigInt(`0x${hex}`).toString(36).slice(-12);
}
