/**
 * Catalogs, as their registrations on the cluster say.
 *
 * A registration of ours has everything in its first event, so it can be read while no worker is there. One of another
 * maker answers a query, for which a worker is needed; what it said last is kept for as long as this server lives, and
 * where it never said anything, the names in its memo have to do.
 */
import {
  type Catalog,
  type CatalogEntry,
  RECENT_CATALOG_MS,
  type RegisteredWorkflow,
  variantsOf,
  type WorkflowSettings,
} from '../../core/catalog.js';
import type { ResultFormat } from '../../core/run/run.js';
import { isName } from '../../core/values/names.js';
import type { TracePlan } from '../../engine.js';
import { BoundedMap } from '../cluster/bounded-map.js';
import type { Cluster } from '../cluster/connection.js';
import { CATALOG_QUERY, MEMO, type Registration } from '../cluster/conventions.js';
import { RefusedCall } from '../cluster/errors.js';
import { Shared } from '../cluster/shared.js';
import type { KnownRun, Runs } from '../reading/runs.js';
import { decoded, fromSingle } from '../translate/payload.js';

interface Known {
  /** The registration that it was read from. */
  runId: string;
  catalog: Catalog;
  byName: ReadonlyMap<string, RegisteredWorkflow>;
  resultFormat: ResultFormat;
  traces?: TracePlan['runs'];
  /** Until when it need not be asked for again; only ours never change within one registration. */
  goodUntil: number;
}

/** How runs of a workflow are started: their settings, and how their workers record results and traces. */
export interface Execution {
  settings: WorkflowSettings;
  resultFormat: ResultFormat;
  traces?: TracePlan['runs'];
}

interface Looked {
  known: Known | undefined;
  at: number;
}

const ASKED_AGAIN_MS = 1_000;
/** While no worker answers, callers are not kept waiting each time. */
const ASKED_AGAIN_AFTER_SILENCE_MS = 5_000;
const QUERY_TIMEOUT_MS = 2_000;
/** Anybody may ask for any name. */
const REMEMBERED_CATALOGS = 1_000;

export class Catalogs {
  readonly #known = new BoundedMap<string, Known>(REMEMBERED_CATALOGS);
  readonly #looked = new BoundedMap<string, Looked>(REMEMBERED_CATALOGS);
  readonly #reads = new Shared<Looked>();

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
  ) {}

  /** Undefined when nobody ever registered it. As it was at `since` will do. */
  async get(name: string, since = performance.now()): Promise<Catalog | undefined> {
    return (await this.#since(since, name))?.catalog;
  }

  async workflow(catalog: string, workflowType: string): Promise<RegisteredWorkflow | undefined> {
    return (await this.#having(catalog, workflowType))?.byName.get(workflowType);
  }

  /** The workflow as each code has it that its runs may be made by. */
  async variants(catalog: string, workflowType: string): Promise<RegisteredWorkflow[]> {
    return variantsOf((await this.#having(catalog, workflowType))?.catalog, workflowType);
  }

  /** What is known of the catalog, and was learnt just now if it does not have the workflow. */
  async #having(catalog: string, workflowType: string): Promise<Known | undefined> {
    const now = performance.now();
    const known = await this.#since(now - RECENT_CATALOG_MS, catalog);
    return known?.byName.has(workflowType) ? known : this.#since(now, catalog);
  }

  async #since(since: number, name: string): Promise<Known | undefined> {
    const looked = this.#looked.get(name);
    if (looked && looked.at > since) return looked.known;
    const underWay = this.#reads.underWay(name);
    if (underWay) {
      // It may have begun before, and then shows what was so before.
      const { known, at } = await underWay;
      if (at > since) return known;
    }
    return (await this.#reads.get(name, () => this.#read(name))).known;
  }

  async executionOf(catalog: string, workflowType: string): Promise<Execution> {
    const settings = (await this.workflow(catalog, workflowType))?.settings ?? {};
    // Workers of other makers mark their runs themselves.
    const { resultFormat = 'legacy', traces } = this.#looked.get(catalog)?.known ?? {};
    return { settings, resultFormat, traces: settings.disableTrace ? undefined : traces };
  }

  async #read(name: string): Promise<Looked> {
    const at = performance.now();
    const run = await this.runs.lookAny({ workflowId: name });
    const known = run && isRegistration(run, name) ? await this.#knownBy(run, name) : undefined;
    if (known) this.#known.set(name, known);
    const looked = { known, at };
    this.#looked.set(name, looked);
    return looked;
  }

  async #knownBy(run: KnownRun, name: string): Promise<Known> {
    const known = this.#known.get(name);
    if (known?.runId === run.runId && performance.now() < known.goodUntil) return known;
    return run.memo[MEMO.registration] ? this.#ours(run, name) : this.#anothers(run, name, known);
  }

  async #ours(run: KnownRun, name: string): Promise<Known> {
    const { attributes } = await this.runs.firstEvent(run);
    const registration = JSON.parse(attributes.input[0] ?? '{}') as Registration;
    const { workflows, hidden, resultFormat, traces } = registration;
    const known = knownFrom(name, run.runId, workflows, resultFormat, Number.POSITIVE_INFINITY);
    return { ...known, catalog: { ...known.catalog, older: hidden }, traces };
  }

  async #anothers(run: KnownRun, name: string, before: Known | undefined): Promise<Known> {
    const entries = await this.#ask(run);
    if (entries) {
      return knownFrom(
        name,
        run.runId,
        entries.map(registered),
        'legacy',
        performance.now() + ASKED_AGAIN_MS,
      );
    }
    const goodUntil = performance.now() + ASKED_AGAIN_AFTER_SILENCE_MS;
    if (before) return { ...before, runId: run.runId, goodUntil };
    return knownFrom(name, run.runId, namesOnly(run).map(registered), 'legacy', goodUntil);
  }

  /** What the registration says of itself; undefined while nobody is there to say it. */
  async #ask({ workflowId, runId }: KnownRun): Promise<CatalogEntry[] | undefined> {
    const { namespace } = this.cluster;
    try {
      const { queryResult } = await this.cluster.call(
        (service) =>
          service.queryWorkflow({
            namespace,
            execution: { workflowId, runId },
            query: { queryType: CATALOG_QUERY },
          }),
        { timeoutMs: QUERY_TIMEOUT_MS, isPoll: true },
      );
      const answer = JSON.parse(fromSingle(queryResult) ?? 'null') as { workflows?: unknown } | null;
      return Array.isArray(answer?.workflows) ? answer.workflows.flatMap(entryFrom) : undefined;
    } catch (error) {
      if (error instanceof RefusedCall) return undefined;
      throw error;
    }
  }
}

function isRegistration({ catalog, memo }: KnownRun, name: string): boolean {
  return (
    catalog === name && (memo[MEMO.registration] !== undefined || memo[MEMO.workflowNames] !== undefined)
  );
}

function knownFrom(
  name: string,
  runId: string,
  workflows: RegisteredWorkflow[],
  resultFormat: ResultFormat,
  goodUntil: number,
): Known {
  const byName = new Map(workflows.map((workflow) => [workflow.entry.name, workflow]));
  return { runId, catalog: { catalog: name, workflows }, byName, resultFormat, goodUntil };
}

function registered(entry: CatalogEntry): RegisteredWorkflow {
  return { entry, settings: {}, declaresSignals: false };
}

/** Every name and alias of the memo, without what only a worker could tell. */
function namesOnly({ memo }: KnownRun): CatalogEntry[] {
  const names = decoded(memo[MEMO.workflowNames]);
  if (!isObject(names)) return [];
  const aliases = new Map<string, string[]>();
  for (const [alias, name] of Object.entries(names)) {
    if (typeof name !== 'string') continue;
    const known = aliases.get(name) ?? [];
    if (alias !== name) known.push(alias);
    aliases.set(name, known);
  }
  return [...aliases].flatMap(([name, others]) => entryFrom({ name, aliases: others }));
}

/** An entry as other makers write it: what is missing is filled in, what cannot be one is left out. */
function entryFrom(found: unknown): CatalogEntry[] {
  if (!isObject(found) || !isName(found.name)) return [];
  return [
    {
      name: found.name,
      description: text(found.description),
      path: text(found.path) ?? '',
      inputSchema: object(found.inputSchema),
      outputSchema: object(found.outputSchema),
      aliases: list(found.aliases).filter(isName),
      steps: list(found.steps)
        .filter(isNamed)
        .map((step) => ({
          name: step.name,
          description: text(step.description),
          inputSchema: object(step.inputSchema),
          outputSchema: object(step.outputSchema),
        })),
      signals: handlers(found.signals),
      queries: handlers(found.queries),
      updates: handlers(found.updates),
    },
  ];
}

function handlers(found: unknown): CatalogEntry['signals'] {
  return list(found)
    .filter(isNamed)
    .map(({ name, description, inputSchema, outputSchema }) => ({
      name,
      ...(typeof description === 'string' && { description }),
      ...(isObject(inputSchema) && { inputSchema }),
      ...(isObject(outputSchema) && { outputSchema }),
    }));
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const object = (value: unknown): Record<string, unknown> | null => (isObject(value) ? value : null);

function isNamed(value: unknown): value is Record<string, unknown> & { name: string } {
  return isObject(value) && typeof value.name === 'string';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
