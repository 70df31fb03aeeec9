/** Finds what a start names: the workflow in its catalog, by name or alias, and whether the input fits it. */
import type { Catalog, RegisteredWorkflow } from '../core/catalog.js';
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
    const target = this.targetOf(await this.engine.catalog(catalogName), catalogName, name);
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
