/**
 * Makes a catalog known on the cluster: its registration is a workflow that stays open while workers come and go.
 *
 * 1. The same code registered again changes nothing.
 * 2. Workers that register at the same time each replace what is there, or find it done: either is harmless.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Log } from '../../core/log.js';
import type { ResultFormat } from '../../core/run.js';
import type { TracePlan } from '../../engine.js';
import { LoadError } from '../../worker/load-error.js';
import type { LoadedWorkflows } from '../../worker/loader.js';
import type { Cluster } from '../connection.js';
import { CATALOG_WORKFLOW_TYPE, MEMO, type Registration, type RegistrationMemo } from '../conventions.js';
import { CODE, isRefused } from '../errors.js';
import { decoded, toPayload, toPayloads } from '../translate/payload.js';
import { int } from '../translate/proto.js';

/** Numbers of Temporal's enums. */
const RUNNING = 1;
const ALLOW_DUPLICATE = 1;
const TERMINATE_EXISTING = 3;

/** What a cluster takes that does not say. */
const DEFAULT_LIMIT_BYTES = 2 * 1024 * 1024;

export interface RegistrationOptions {
  catalog: string;
  loaded: LoadedWorkflows;
  resultFormat: ResultFormat;
  traces?: TracePlan['runs'];
  identity: string;
}

/** @throws LoadError when the cluster can never take it, EngineUnavailableError while it cannot be reached */
export async function register(cluster: Cluster, options: RegistrationOptions, log: Log): Promise<void> {
  const { namespace } = cluster;
  const { catalog, identity } = options;
  const registration = registrationOf(options);
  const input = JSON.stringify(registration);
  const names = JSON.stringify(workflowNames(registration));
  if (await isRegistered(cluster, catalog, registration, log)) return;
  await refuseTooLarge(cluster, options.loaded.directory, input, names);
  const { codeId, resultFormat, traces } = registration;
  const memo: RegistrationMemo = { codeId, resultFormat, traces };
  const requestId = randomUUID();
  await cluster.call((service) =>
    service.startWorkflowExecution({
      namespace,
      requestId,
      identity,
      workflowId: catalog,
      workflowType: { name: CATALOG_WORKFLOW_TYPE },
      taskQueue: { name: catalog },
      input: toPayloads([input]),
      memo: {
        fields: {
          [MEMO.workflowNames]: toPayload(names),
          [MEMO.registration]: toPayload(JSON.stringify(memo)),
        },
      },
      workflowIdReusePolicy: ALLOW_DUPLICATE,
      workflowIdConflictPolicy: TERMINATE_EXISTING,
    }),
  );
  log.debug({ catalog, codeId }, `the catalog "${catalog}" is registered`);
}

function registrationOf({ loaded, resultFormat, traces }: RegistrationOptions): Registration {
  const { registered: workflows } = loaded;
  // What the API shows of steps is not part of the workflows' code, and has to follow as well.
  const codeId = createHash('sha256')
    .update(JSON.stringify([loaded.codeId, workflows]))
    .digest('hex')
    .slice(0, 16);
  return { workflows, codeId, resultFormat, traces };
}

function workflowNames({ workflows }: Registration): Record<string, string> {
  return Object.fromEntries(
    workflows.flatMap(({ entry }) => [entry.name, ...entry.aliases].map((name) => [name, entry.name])),
  );
}

async function isRegistered(
  cluster: Cluster,
  catalog: string,
  { codeId, resultFormat, traces }: Registration,
  log: Log,
): Promise<boolean> {
  const { namespace } = cluster;
  try {
    const { workflowExecutionInfo: info } = await cluster.call((service) =>
      service.describeWorkflowExecution({ namespace, execution: { workflowId: catalog } }),
    );
    if (info?.status !== RUNNING) return false;
    const memo = decoded(info.memo?.fields?.[MEMO.registration]) as Partial<RegistrationMemo> | undefined;
    if (memo === undefined) {
      log.warn(
        { catalog, workflowType: info.type?.name },
        `the workflow "${catalog}" on the cluster is not a registration of ours; this catalog takes its place`,
      );
    }
    return memo?.codeId === codeId && memo.resultFormat === resultFormat && memo.traces === traces;
  } catch (error) {
    if (isRefused(error, CODE.NOT_FOUND)) return false;
    throw error;
  }
}

async function refuseTooLarge(
  cluster: Cluster,
  directory: string,
  input: string,
  names: string,
): Promise<void> {
  const { namespace } = cluster;
  const { namespaceInfo } = await cluster.call((service) => service.describeNamespace({ namespace }));
  const limits = namespaceInfo?.limits;
  const parts = [
    { what: 'their schemas and descriptions', text: input, limit: limits?.blobSizeLimitError },
    { what: 'their names and aliases', text: names, limit: limits?.memoSizeLimitError },
  ];
  for (const { what, text, limit } of parts) {
    const bytes = Buffer.byteLength(text);
    const maxBytes = int(limit) || DEFAULT_LIMIT_BYTES;
    if (bytes <= maxBytes) continue;
    throw new LoadError(directory, [
      {
        message: `${what} take ${bytes} bytes, and the Temporal cluster keeps at most ${maxBytes}. Divide the folder into several, each with a catalog of its own`,
      },
    ]);
  }
}
