/** Finds what a start names: the workflow in its catalog, by name or alias, and whether the input fits it. */
import { type Catalog, RECENT_CATALOG_MS, type RegisteredWorkflow } from '../core/catalog.js';
import { PerdureError } from '../core/errors.js';
import type { Engine } from '../engine.js';
import { groundsForInput, inputAsTaken } from './schema/grounds.js';
import type { PayloadCheck } from './wire/payload-check.js';

export class StartTargets {
  private readonly byCatalog = new WeakMap<Catalog, Map<string, RegisteredWorkflow>>();

  constructor(
    private readonly engine: Engine,
    private readonly payloads: PayloadCheck,
  ) {}

  /** The workflow type that `name` stands for. @throws CatalogNotAvailableError, UnsupportedWorkflowError, ValidationError */
  async resolve(catalogName: string, name: string, input: unknown): Promise<string> {
    // On a cluster the catalog of now has to be asked for.
    const came = performance.now();
    const recent = await this.engine.catalog(catalogName, came - RECENT_CATALOG_MS);
    let refusal: unknown;
    if (!this.isAlias(recent, name)) {
      try {
        return this.resolveIn(recent, catalogName, name, input);
      } catch (error) {
        refusal = error;
      }
    }
    // Nobody is refused by what has changed meanwhile, and an alias may stand for another workflow now.
    const now = await this.engine.catalog(catalogName, came);
    if (now === recent && refusal !== undefined) throw refusal;
    return this.resolveIn(now, catalogName, name, input);
  }

  private isAlias(catalog: Catalog | undefined, name: string): boolean {
    const target = catalog && this.targetsOf(catalog).get(name);
    return target !== undefined && target.entry.name !== name;
  }

  private resolveIn(catalog: Catalog | undefined, catalogName: string, name: string, input: unknown): string {
    const target = this.targetOf(catalog, catalogName, name);
    const { name: workflowType } = target.entry;
    const grounds = groundsForInput(target);
    this.payloads.check(grounds, inputAsTaken(input, grounds), 'input', `workflow "${workflowType}"`);
    return workflowType;
  }

  /** The workflow that `name` stands for. @throws CatalogNotAvailableError, UnsupportedWorkflowError */
  async find(catalogName: string, name: string): Promise<RegisteredWorkflow> {
    return this.targetOf(await this.engine.catalog(catalogName), catalogName, name);
  }

  private targetOf(catalog: Catalog | undefined, catalogName: string, name: string): RegisteredWorkflow {
    if (catalog === undefined) {
      throw new PerdureError(
        'CatalogNotAvailableError',
        `No worker has registered the catalog "${catalogName}" yet: start one, or try again when it is up`,
      );
    }
    const target = this.targetsOf(catalog).get(name);
    if (target === undefined) {
      throw new PerdureError(
        'UnsupportedWorkflowError',
        `The catalog "${catalogName}" has no workflow "${name}"`,
      );
    }
    return target;
  }

  private targetsOf(catalog: Catalog): Map<string, RegisteredWorkflow> {
    let targets = this.byCatalog.get(catalog);
    if (targets === undefined) {
      targets = indexTargets(catalog.workflows);
      this.byCatalog.set(catalog, targets);
    }
    return targets;
  }
}

function indexTargets(workflows: RegisteredWorkflow[]): Map<string, RegisteredWorkflow> {
  const aliased = workflows.flatMap((workflow) =>
    workflow.entry.aliases.map((alias) => [alias, workflow] as const),
  );
  // A workflow's own name goes before an alias of another one.
  return new Map([...aliased, ...workflows.map((workflow) => [workflow.entry.name, workflow] as const)]);
}
