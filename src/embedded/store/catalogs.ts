/**
 * The catalogs that workers have registered; remembered over restarts.
 *
 * 1. A catalog is the union of what its connected workers have. While none is connected, it is what the last ones had.
 * 2. Where several have a workflow of one name, that of the newest code counts: of the version that was first seen last.
 *    A worker of older code that starts anew does not make its code any newer.
 * 3. What older code has under that name is kept beside it: runs that it makes take the messages which it declares.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Catalog, RegisteredWorkflow, WorkflowSettings } from '../../core/catalog.js';
import type { Clock } from '../../core/clock.js';
import { faultPoint } from '../../core/fault-point.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { GroupCommit } from './group-commit.js';
import type { SeenVersion } from './tables/registrations.js';
import type { Tables } from './tables/tables.js';

interface Known {
  catalog: Catalog;
  byName: Map<string, RegisteredWorkflow>;
  /** Oldest first. */
  versions: SeenVersion[];
  /** By the worker that has it, while that is connected. */
  registrations: Map<object, Registration>;
}

interface Registration {
  workflows: RegisteredWorkflow[];
  version: CodeVersion;
}

/** How many versions of code a catalog remembers the age of: more than are ever deployed side by side. */
const MAX_VERSIONS = 50;

const NO_SETTINGS: WorkflowSettings = {};

export class Catalogs {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly tables: Tables,
    private readonly commit: GroupCommit,
    private readonly clock: Clock,
  ) {
    for (const { name, workflows, versions } of tables.registrations.catalogs()) {
      this.#known.set(name, { ...viewOf(name, workflows), versions, registrations: new Map() });
    }
  }

  /** The worker has come, and has these workflows. */
  register(name: string, worker: object, workflows: RegisteredWorkflow[], version: CodeVersion): void {
    let known = this.#known.get(name);
    if (!known) {
      known = { ...viewOf(name, []), versions: [], registrations: new Map() };
      this.#known.set(name, known);
    }
    const isSeen = known.versions.some(({ id }) => id === version.id);
    if (!isSeen) {
      const since = Math.max(this.clock.now(), (known.versions.at(-1)?.since ?? 0) + 1);
      known.versions = [...known.versions, { id: version.id, since }].slice(-MAX_VERSIONS);
    }
    known.registrations.set(worker, {
      workflows: workflows.map((workflow) => ({ ...workflow, version })),
      version,
    });
    this.#unite(name, known, !isSeen);
  }

  /** The worker has gone. */
  leave(name: string, worker: object): void {
    const known = this.#known.get(name);
    if (known?.registrations.delete(worker)) this.#unite(name, known, false);
  }

  get names(): Iterable<string> {
    return this.#known.keys();
  }

  get(name: string): Catalog | undefined {
    return this.#known.get(name)?.catalog;
  }

  workflow(name: string, workflowType: string): RegisteredWorkflow | undefined {
    return this.#known.get(name)?.byName.get(workflowType);
  }

  settingsOf(name: string, workflowType: string): WorkflowSettings {
    return this.workflow(name, workflowType)?.settings ?? NO_SETTINGS;
  }

  #unite(name: string, known: Known, isNewCode: boolean): void {
    if (known.registrations.size === 0) return;
    const workflows = unionOf(known);
    if (!isNewCode && isDeepStrictEqual(workflows, allOf(known.catalog))) return;
    Object.assign(known, viewOf(name, workflows));
    const { versions } = known;
    this.commit.write(() => this.tables.registrations.saveCatalog(name, { workflows, versions }));
    faultPoint('catalog');
  }
}

const allOf = ({ workflows, older = [] }: Catalog): RegisteredWorkflow[] => [...workflows, ...older];

/** `all` has the newest of each name first. */
function viewOf(name: string, all: RegisteredWorkflow[]): Pick<Known, 'catalog' | 'byName'> {
  const byName = new Map<string, RegisteredWorkflow>();
  const older: RegisteredWorkflow[] = [];
  for (const workflow of all) {
    if (byName.has(workflow.entry.name)) older.push(workflow);
    else byName.set(workflow.entry.name, workflow);
  }
  const workflows = [...byName.values()];
  return { catalog: { catalog: name, workflows, ...(older.length > 0 && { older }) }, byName };
}

/** In the order of the newest code, followed by what only older code has, and that by what newer code has too. */
function unionOf({ registrations, versions }: Known): RegisteredWorkflow[] {
  const ageOf = new Map(versions.map(({ id, since }) => [id, since]));
  const newestFirst = [...registrations.values()].sort(
    (a, b) => (ageOf.get(b.version.id) ?? 0) - (ageOf.get(a.version.id) ?? 0),
  );
  const byName = new Map<string, RegisteredWorkflow>();
  const older = new Map<string, RegisteredWorkflow>();
  for (const { workflows, version } of newestFirst) {
    for (const workflow of workflows) {
      const { name } = workflow.entry;
      const newest = byName.get(name);
      if (!newest) byName.set(name, workflow);
      else if (newest.version?.id !== version.id) older.set(`${name} ${version.id}`, workflow);
    }
  }
  return [...withDistinctAliases([...byName.values()]), ...older.values()];
}

/** What newer code calls by a name is not what older code does. */
function withDistinctAliases(workflows: RegisteredWorkflow[]): RegisteredWorkflow[] {
  const taken = new Set(workflows.map(({ entry }) => entry.name));
  return workflows.map((workflow) => {
    const { entry } = workflow;
    const aliases = entry.aliases.filter((alias) => !taken.has(alias));
    for (const alias of aliases) taken.add(alias);
    return aliases.length === entry.aliases.length ? workflow : { ...workflow, entry: { ...entry, aliases } };
  });
}
