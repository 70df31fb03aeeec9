/** The catalogs that workers have registered; remembered over restarts. */
import type { Catalog, RegisteredWorkflow, WorkflowSettings } from '../core/catalog.js';
import type { GroupCommit } from './group-commit.js';
import type { Tables } from './tables.js';

interface Known {
  catalog: Catalog;
  byName: Map<string, RegisteredWorkflow>;
  text: string;
}

const NO_SETTINGS: WorkflowSettings = {};

export class Catalogs {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly tables: Tables,
    private readonly commit: GroupCommit,
  ) {
    for (const { name, workflows } of tables.catalogs())
      this.#set(name, workflows, JSON.stringify(workflows));
  }

  /** The catalog is what the worker that registered last says; the same again changes nothing. */
  register(name: string, workflows: RegisteredWorkflow[]): void {
    const text = JSON.stringify(workflows);
    if (this.#known.get(name)?.text === text) return;
    this.#set(name, workflows, text);
    this.commit.write(() => this.tables.saveCatalog(name, workflows));
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

  #set(name: string, workflows: RegisteredWorkflow[], text: string): void {
    const byName = new Map(workflows.map((workflow) => [workflow.entry.name, workflow]));
    this.#known.set(name, { catalog: { catalog: name, workflows }, byName, text });
  }
}
