/** The tables of what was told once and holds for all runs: the catalogs of workers, and secrets. */
import type Database from 'better-sqlite3';
import type { RegisteredWorkflow } from '../../../core/catalog.js';
import { invariant } from '../../../core/invariant.js';
import { reading, storageFailure } from '../damage.js';

/** When code of a version was first registered. */
export interface SeenVersion {
  id: string;
  since: number;
}

export interface StoredCatalog {
  workflows: RegisteredWorkflow[];
  versions: SeenVersion[];
}

export class Registrations {
  readonly #sql;

  /** `onUnreadable` is told of every row that cannot be read. */
  constructor(
    db: Database.Database,
    private readonly onUnreadable: (what: string, error: Error) => void,
  ) {
    this.#sql = {
      saveCatalog: db.prepare('INSERT OR REPLACE INTO catalogs (name, workflows, versions) VALUES (?, ?, ?)'),
      catalogNames: db.prepare('SELECT name FROM catalogs').pluck(),
      catalog: db.prepare('SELECT workflows, versions FROM catalogs WHERE name = ?'),
      secret: db.prepare('SELECT value FROM secrets WHERE name = ?').pluck(),
      saveSecret: db.prepare('INSERT OR REPLACE INTO secrets (name, value) VALUES (?, ?)'),
    };
  }

  saveSecret(name: string, value: string): void {
    this.#sql.saveSecret.run(name, value);
  }

  /** One that cannot be read is made anew: what was signed with it counts no more. */
  secret(name: string): string | undefined {
    return this.#orUnreadable(`the secret "${name}"`, () => this.#sql.secret.get(name) as string | undefined);
  }

  saveCatalog(name: string, { workflows, versions }: StoredCatalog): void {
    this.#sql.saveCatalog.run(name, JSON.stringify(workflows), JSON.stringify(versions));
  }

  /** A catalog that cannot be read is left out: its workers register it again. */
  catalogs(): ({ name: string } & StoredCatalog)[] {
    const catalogs: ({ name: string } & StoredCatalog)[] = [];
    const names = this.#orUnreadable('the catalogs', () => this.#sql.catalogNames.all() as string[]) ?? [];
    for (const name of names) {
      const stored = this.#orUnreadable(`catalog "${name}"`, () => {
        const row = this.#sql.catalog.get(name) as { workflows: string; versions: string | null };
        const workflows: unknown = JSON.parse(row.workflows);
        invariant(isWorkflows(workflows), 'it is not a list of workflows');
        return { workflows, versions: JSON.parse(row.versions ?? '[]') as SeenVersion[] };
      });
      if (stored) catalogs.push({ name, ...stored });
    }
    return catalogs;
  }

  #orUnreadable<T>(what: string, read: () => T): T | undefined {
    try {
      return reading(read);
    } catch (error) {
      if (storageFailure(error) !== 'definite') throw error;
      this.onUnreadable(what, error as Error);
      return undefined;
    }
  }
}

function isWorkflows(value: unknown): value is RegisteredWorkflow[] {
  return (
    Array.isArray(value) &&
    value.every((each: Partial<RegisteredWorkflow> | null) => typeof each?.entry?.name === 'string')
  );
}
