/**
 * The key that tokens of callbacks are signed with, kept by the cluster, so that every server and worker of the namespace
 * has the same one.
 *
 * It is in the memo of a run of its own that stays open, on a task queue that nobody polls: of those who start it at the
 * same time the cluster lets one have its way, and all others find that. Whoever can read it can signal every run anyway.
 * Somebody who terminates it gives the namespace another key: workers that start from then on use that, servers take it
 * up within seconds, and addresses that were given out before are good no more.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { PerdureError } from '../../core/errors.js';
import { FAIL_ON_CONFLICT } from '../acting/start.js';
import type { Cluster } from '../cluster/connection.js';
import { CALLBACK_KEY_WORKFLOW_TYPE, MEMO } from '../cluster/conventions.js';
import { CODE, isRefused } from '../cluster/errors.js';
import { Runs } from '../reading/runs.js';
import { decoded, toPayload } from '../translate/payload.js';

const ALLOW_DUPLICATE = 1;
/** Names of workflows have no `$`, so nobody's generated id is this one. */
const KEEPER_ID = CALLBACK_KEY_WORKFLOW_TYPE;
const KEY_BYTES = 32;

/** For those who make tokens: there is one from now on. */
export async function makeCallbackKey(cluster: Cluster): Promise<string> {
  const runs = new Runs(cluster);
  const found = await findCallbackKey(runs);
  if (found !== undefined) return found;
  await startKeeper(cluster);
  const made = await findCallbackKey(runs);
  if (made !== undefined) return made;
  throw new PerdureError('EngineUnavailableError', 'the key of callbacks is being replaced; try again', {
    retryAfterSeconds: 1,
  });
}

/** Undefined as long as nobody has made one. */
export async function findCallbackKey(runs: Runs): Promise<string | undefined> {
  const keeper = await runs.lookAny({ workflowId: KEEPER_ID });
  if (keeper?.status !== 'running' || keeper.workflowType !== CALLBACK_KEY_WORKFLOW_TYPE) return undefined;
  const key = decoded(keeper.memo[MEMO.callbackKey]);
  return typeof key === 'string' ? key : undefined;
}

async function startKeeper(cluster: Cluster): Promise<void> {
  const { namespace, identity } = cluster;
  const requestId = randomUUID();
  const key = randomBytes(KEY_BYTES).toString('base64url');
  try {
    await cluster.call((service) =>
      service.startWorkflowExecution({
        namespace,
        identity,
        requestId,
        workflowId: KEEPER_ID,
        workflowType: { name: CALLBACK_KEY_WORKFLOW_TYPE },
        taskQueue: { name: CALLBACK_KEY_WORKFLOW_TYPE },
        workflowIdReusePolicy: ALLOW_DUPLICATE,
        workflowIdConflictPolicy: FAIL_ON_CONFLICT,
        memo: { fields: { [MEMO.callbackKey]: toPayload(JSON.stringify(key)) } },
      }),
    );
  } catch (error) {
    // Somebody else has made one.
    if (!isRefused(error, CODE.ALREADY_EXISTS)) throw error;
  }
}

/** How soon a server knows of another key. */
const FRESH_MS = 10_000;

/** The key as a server knows it. */
export class KnownCallbackKey {
  #key: string | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly runs: Runs) {}

  async get(): Promise<string | undefined> {
    if (this.#key !== undefined && performance.now() - this.#askedAt < FRESH_MS) return this.#key;
    try {
      this.#key = await findCallbackKey(this.runs);
      this.#askedAt = performance.now();
    } catch (error) {
      if (this.#key === undefined) throw error;
    }
    return this.#key;
  }
}
