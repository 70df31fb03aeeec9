/** The tables of what was told once and holds for all runs: the catalogs of workers, and secrets. */
import type Database from 'better-sqlite3';
import type { RegisteredWorkflow } from '../../../core/catalog.js';
import { invariant } from '../../../core/invariant.js';
import { rowChecksum } from '../checksum.js';
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

interface CatalogRow {
  workflows: string;
  versions: string | null;
  checksum: number | null;
}

interface SecretRow {
  name: string;
  value: string;
  checksum: number | null;
}

const NOT_AS_WRITTEN = 'it does not fit its checksum';

export class Registrations {
  readonly #sql;

  /** `onUnreadable` is told of every row that cannot be read. */
  constructor(
    db: Database.Database,
    private readonly onUnreadable: (what: string, error: Error) => void,
  ) {
    this.#sql = {
      saveCatalog: db.prepare(
        'INSERT OR REPLACE INTO catalogs (name, workflows, versions, checksum) VALUES (?, ?, ?, ?)',
      ),
      catalogNames: db.prepare('SELECT name FROM catalogs').pluck(),
      catalog: db.prepare('SELECT workflows, versions, checksum FROM catalogs WHERE name = ?'),
      secret: db.prepare('SELECT * FROM secrets WHERE name = ?'),
      secrets: db.prepare('SELECT * FROM secrets'),
      saveSecret: db.prepare('INSERT OR REPLACE INTO secrets (name, value, checksum) VALUES (?, ?, ?)'),
    };
  }

  saveSecret(name: string, value: string): void {
    this.#sql.saveSecret.run(name, value, rowChecksum('secrets', name, value));
  }

  /** One that cannot be read is made anew: what was signed with it counts no more. */
  secret(name: string): string | undefined {
    return this.#orUnreadable(`the secret "${name}"`, () => {
      const row = this.#sql.secret.get(name) as SecretRow | undefined;
      return row && secretOf(row);
    });
  }

  saveCatalog(name: string, { workflows, versions }: StoredCatalog): void {
    const texts = [name, JSON.stringify(workflows), JSON.stringify(versions)];
    this.#sql.saveCatalog.run(...texts, rowChecksum('catalogs', ...texts));
  }

  /** A catalog that cannot be read is left out: its workers register it again. */
  catalogs(): ({ name: string } & StoredCatalog)[] {
    const catalogs: ({ name: string } & StoredCatalog)[] = [];
    const names = this.#orUnreadable('the catalogs', () => this.#sql.catalogNames.all() as string[]) ?? [];
    for (const name of names) {
      const stored = this.#orUnreadable(`catalog "${name}"`, () => {
        const row = this.#sql.catalog.get(name) as CatalogRow | undefined;
        invariant(row, 'it is named where it is not');
        invariant(
          row.checksum === rowChecksum('catalogs', name, row.workflows, row.versions),
          NOT_AS_WRITTEN,
        );
        const workflows: unknown = JSON.parse(row.workflows);
        invariant(isWorkflows(workflows), 'it is not a list of workflows');
        return { workflows, versions: JSON.parse(row.versions ?? '[]') as SeenVersion[] };
      });
      if (stored) catalogs.push({ name, ...stored });
    }
    return catalogs;
  }

  /** For whoever looks for what is damaged: each that is so is told. */
  lookThrough(): void {
    this.catalogs();
    const secrets = this.#orUnreadable('the secrets', () => this.#sql.secrets.all() as SecretRow[]) ?? [];
    for (const row of secrets) this.#orUnreadable(`the secret "${row.name}"`, () => secretOf(row));
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

function secretOf({ name, value, checksum }: SecretRow): string {
  invariant(checksum === rowChecksum('secrets', name, value), NOT_AS_WRITTEN);
  return value;
}

function isWorkflows(value: unknown): value is RegisteredWorkflow[] {
  return (
    Array.isArray(value) &&
    value.every((each: Partial<RegisteredWorkflow> | null) => typeof each?.entry?.name === 'string')
  );
}
