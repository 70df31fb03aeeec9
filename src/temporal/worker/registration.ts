/**
 * Makes a catalog known on the cluster: its registration is a workflow that stays open while workers come and go.
 *
 * 1. It says what all connected workers have (united.ts). What a worker finds there already it does not write again.
 * 2. A registration is replaced by ending the very one that was read and starting another one, if nobody else has: of
 *    two workers that come at the same time, one reads again what the other has written.
 * 3. Only a registration is ever replaced. A run that has the name of the catalog as its id is left alone, and the
 *    catalog is refused.
 * 4. A registration that somebody has ended, or from which a worker was lost that is there, is made again.
 */
import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../core/log.js';
import type { ResultFormat } from '../../core/run/run.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { TracePlan } from '../../engine.js';
import { LoadError } from '../../worker/loading/load-error.js';
import type { LoadedWorkflows } from '../../worker/loading/loader.js';
import type { Cluster } from '../cluster/connection.js';
import {
  CATALOG_WORKFLOW_TYPE,
  MEMO,
  type Registration,
  type RegistrationMemo,
} from '../cluster/conventions.js';
import { CODE, isRefused, unavailable } from '../cluster/errors.js';
import { terminateIfOpen } from '../cluster/terminate.js';
import { type KnownRun, Runs } from '../reading/runs.js';
import { Workers } from '../reading/workers.js';
import { toPayload, toPayloads } from '../translate/payload.js';
import { int } from '../translate/proto.js';
import { isMember, joined, left } from './united.js';

/** Numbers of Temporal's enums. */
const ALLOW_DUPLICATE = 1;
const FAIL = 1;

/** What a cluster takes that does not say. */
const DEFAULT_LIMIT_BYTES = 2 * 1024 * 1024;
/** Others who write at the same time, one after the other. */
const MAX_TRIES = 50;

export interface RegistrationOptions {
  catalog: string;
  loaded: LoadedWorkflows;
  version: CodeVersion;
  /** The processes that this worker is one of. */
  pool: string;
  resultFormat: ResultFormat;
  traces?: TracePlan['runs'];
  identity: string;
}

/** The registration as it was read, and the workflow that it was read from. */
interface Found {
  run: KnownRun;
  /** Undefined for one of another maker. */
  registration: Registration | undefined;
}

export class CatalogRegistration {
  readonly #runs: Runs;
  /** The workers of other code, as one registration says. */
  #others = { runId: '', names: '' };

  constructor(
    private readonly cluster: Cluster,
    private readonly options: RegistrationOptions,
    private readonly log: Log,
  ) {
    this.#runs = new Runs(cluster);
  }

  /** @throws LoadError when the cluster can never take it, EngineUnavailableError while it cannot be reached */
  async join(): Promise<void> {
    const { pool, version, resultFormat, traces, loaded } = this.options;
    const member = {
      pool,
      version: { ...version, resultFormat, ...(traces && { traces }) },
      workflows: loaded.registered,
    };
    const polledFor = await this.#versionsPolledFor();
    await this.#change((before) => joined(before, member, (id) => polledFor.has(id)));
  }

  /** Joins again where the registration has been ended, or has lost this worker. @throws as `join` */
  async check(): Promise<void> {
    const found = await this.#find();
    if (found && !found.registration) return;
    const isOpen = found?.run.status === 'running';
    if (isOpen && isMember(found.registration!, this.options.pool)) return;
    if (!isOpen) {
      const { catalog } = this.options;
      this.log.warn({ catalog }, 'the registration of this catalog has been ended; it is made again');
    }
    await this.join();
  }

  /** Its processes end. @throws EngineUnavailableError */
  async leave(): Promise<void> {
    const found = await this.#find();
    if (!found?.registration || found.run.status !== 'running') return;
    await this.#change((before) => before && left(before, this.options.pool));
  }

  /** Names the groups of workers that have other code; empty when there are none. @throws EngineUnavailableError */
  async others(): Promise<string> {
    const run = await this.#runs.lookAny({ workflowId: this.options.catalog });
    if (run && run.runId !== this.#others.runId) {
      const found = await this.#find();
      const { members = [] } = found?.registration ?? {};
      const others = members.filter(({ version }) => version !== this.options.version.id);
      const names = others.map(({ pool }) => pool).sort();
      this.#others = { runId: found?.run.runId ?? '', names: names.join(' ') };
    }
    return this.#others.names;
  }

  async #change(next: (before: Registration | undefined) => Registration | undefined): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await this.#find();
      const wanted = next(found?.registration);
      const isThere = found?.run.status === 'running' && isDeepStrictEqual(found.registration, wanted);
      if (!wanted || isThere) return;
      if (found?.run.status === 'running') await this.#end(found.run);
      if (await this.#start(wanted)) return;
    }
    throw unavailable('the registration of the catalog changes all the time', 1);
  }

  /** The newest workflow that has the catalog's name as its id, if it is a registration. @throws LoadError */
  async #find(): Promise<Found | undefined> {
    const { catalog } = this.options;
    const run = await this.#runs.lookAny({ workflowId: catalog });
    if (!run) return undefined;
    const isOurs = MEMO.registration in run.memo;
    if (!isOurs && !(MEMO.workflowNames in run.memo)) {
      if (run.status === 'running') throw taken(this.options, run.workflowType);
      return undefined;
    }
    if (!isOurs) return { run, registration: undefined };
    const { attributes } = await this.#runs.firstEvent(run);
    return { run, registration: JSON.parse(attributes.input[0] ?? '{}') as Registration };
  }

  /** That it is closed keeps nobody from reading it until the next one is there. */
  #end({ workflowId, runId }: KnownRun): Promise<void> {
    return terminateIfOpen(this.cluster, {
      identity: this.options.identity,
      workflowExecution: { workflowId, runId },
      reason: 'the catalog has changed',
    });
  }

  /** Whether it was this one that was started. */
  async #start(registration: Registration): Promise<boolean> {
    const { catalog, identity, loaded } = this.options;
    const { namespace } = this.cluster;
    const input = JSON.stringify(registration);
    const names = JSON.stringify(workflowNames(registration));
    await refuseTooLarge(this.cluster, loaded.directory, input, names);
    const codeId = createHash('sha256').update(input).digest('hex').slice(0, 16);
    const memo: RegistrationMemo = { codeId };
    const requestId = randomUUID();
    try {
      await this.cluster.call((service) =>
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
          workflowIdConflictPolicy: FAIL,
        }),
      );
    } catch (error) {
      if (isRefused(error, CODE.ALREADY_EXISTS)) return false;
      throw error;
    }
    this.log.debug({ catalog, codeId }, `the catalog "${catalog}" is registered`);
    return true;
  }

  /** A group of processes that was killed has not left; nobody polls for its code any more. */
  async #versionsPolledFor(): Promise<ReadonlySet<string>> {
    const workers = await new Workers(this.cluster).ofCatalog(this.options.catalog);
    return new Set(workers.flatMap(({ version }) => (version ? [version.id] : [])));
  }
}

function workflowNames({ workflows }: Registration): Record<string, string> {
  const oldestFirst = [...workflows].reverse();
  return Object.fromEntries([
    ...oldestFirst.flatMap(({ entry }) => entry.aliases.map((alias) => [alias, entry.name])),
    ...oldestFirst.map(({ entry }) => [entry.name, entry.name]),
  ]);
}

function taken({ catalog, loaded }: RegistrationOptions, workflowType: string): LoadError {
  const message = `a run of workflow "${workflowType}" has the id "${catalog}", under which this catalog would be registered. End that run, or give the catalog another name`;
  return new LoadError(loaded.directory, [{ message }]);
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
