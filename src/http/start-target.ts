/** Finds what a start names: the workflow in its catalog, by name or alias, and whether the input fits it. */
import type { Catalog, CatalogEntry } from '../core/catalog.js';
import { PerdureError } from '../core/errors.js';
import type { Engine } from '../engine.js';
import type { PayloadCheck } from './payload-check.js';

export class StartTargets {
  private readonly byCatalog = new WeakMap<Catalog, Map<string, CatalogEntry>>();

  constructor(
    private readonly engine: Engine,
    private readonly payloads: PayloadCheck,
  ) {}

  /** The workflow type that `name` stands for. @throws CatalogNotAvailableError, UnsupportedWorkflowError, ValidationError */
  async resolve(catalogName: string, name: string, input: unknown): Promise<string> {
    const catalog = await this.engine.catalog(catalogName);
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
    this.payloads.check(target.inputSchema, input, 'input');
    return target.name;
  }

  private targetsOf(catalog: Catalog): Map<string, CatalogEntry> {
    let targets = this.byCatalog.get(catalog);
    if (targets === undefined) {
      targets = indexTargets(catalog.workflows.map(({ entry }) => entry));
      this.byCatalog.set(catalog, targets);
    }
    return targets;
  }
}

function indexTargets(entries: CatalogEntry[]): Map<string, CatalogEntry> {
  const aliased = entries.flatMap((entry) => entry.aliases.map((alias) => [alias, entry] as const));
  // A workflow's own name goes before an alias of another one.
  return new Map([...aliased, ...entries.map((entry) => [entry.name, entry] as const)]);
}
