/** The data folder, opened, with everything that writes to it: the tables, and the commits that share them. */
import type { Clock, Scheduler } from '../../core/clock.js';
import { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Backup, EngineObserver } from '../../engine.js';
import type { ActiveRun } from './active-run.js';
import { Backups, removeUnfinishedBackups } from './folder/backups.js';
import { copyDatabase } from './folder/copy-database.js';
import { openDataFolder } from './folder/data-folder.js';
import { type Connect, requireFitting } from './folder/database.js';
import { FilesInPlace } from './folder/files-in-place.js';
import { openInMemory } from './folder/in-memory.js';
import { InMemory } from './folder/memory-place.js';
import { MIGRATIONS } from './folder/schema.js';
import { type CommitListener, GroupCommit } from './group-commit.js';
import { SettledTime } from './settled-time.js';
import { Tables } from './tables/tables.js';
import { Transaction } from './transaction.js';

export interface Store {
  /** All that is committed, as the bytes of a database file. */
  image(): Buffer;
  tables: Tables;
  commit: GroupCommit;
  settledTime: SettledTime;
  readonly isOpen: boolean;
  backup(): Promise<Backup>;
  copyTo(file: string): Promise<void>;
  close(): void;
}

export interface StoreOptions {
  dataDir: string | InMemory;
  clock: Clock;
  scheduler: Scheduler;
  log: Log;
  observer: EngineObserver;
  inspectCommit?: (tables: Tables, runs: ReadonlySet<ActiveRun>) => void;
  connect?: Connect;
  /** What is left of the disk beyond what is kept free for the runs. */
  spareBytes?: () => number;
}

/** @throws DataFolderError */
export function openStore(options: StoreOptions, listener: CommitListener): Store {
  const { dataDir, clock, scheduler, log, observer, inspectCommit, connect, spareBytes } = options;
  const { db, chain, mark } =
    dataDir instanceof InMemory ? openInMemory(dataDir) : openDataFolder(dataDir, scheduler, log, connect);
  const close = () => {
    try {
      mark?.close();
    } finally {
      db.close();
    }
  };
  try {
    const folder = dataDir instanceof InMemory ? undefined : dataDir;
    if (folder !== undefined) removeUnfinishedBackups(folder);
    const copyTo = (file: string) => copyDatabase(db, file);
    const bytes = () =>
      (db.pragma('page_count', { simple: true }) as number) *
      (db.pragma('page_size', { simple: true }) as number);
    const hasRoom = () => spareBytes === undefined || spareBytes() >= bytes();
    const backups = folder === undefined ? undefined : new Backups(folder, copyTo, hasRoom);
    const tables = requireFitting(String(dataDir), MIGRATIONS.length, () => new Tables(db));
    tables.onUnreadable = (what, error) =>
      log.error({ err: error }, `${what} cannot be read and is left out; "perdure check" tells more`);
    const files = folder === undefined ? undefined : new FilesInPlace(folder, scheduler);
    // A database of an earlier version has not kept it.
    const settledTime = new SettledTime(clock, chain.tip.at || tables.runs.newestInstant());
    const transaction = new Transaction(db, tables, chain, settledTime, {
      begins: () => files?.require(),
      committed(tip, runs) {
        if (mark && !mark.set(tip, runs.size, runIdsOf(runs))) {
          log.warn({}, 'the mark beside the database cannot be written: lost commits would not be noticed');
        }
      },
      dropped: (error) => log.error({ err: error }, 'a write was left out of its commit: it cannot be made'),
    });
    const inspect = inspectCommit && ((runs: ReadonlySet<ActiveRun>) => inspectCommit(tables, runs));
    const commit = new GroupCommit(transaction, listener, observer, scheduler, inspect);
    // What was damaged may have been restored since.
    if (tables.runs.hasDamaged()) commit.write(() => tables.runs.tryDamagedAgain());
    return {
      tables,
      commit,
      settledTime,
      get isOpen() {
        return db.open;
      },
      image: () => db.serialize(),
      backup: () => backups?.take() ?? Promise.reject(notOnDisk()),
      copyTo,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function* runIdsOf(runs: Iterable<ActiveRun>): Generator<string> {
  for (const run of runs) yield run.state.runId;
}

const notOnDisk = () =>
  new PerdureError('NotSupportedByEngineError', 'the database is in memory, so there is nothing to back up');
