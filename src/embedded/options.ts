import type { Limits } from '../core/bounds/limits.js';
import type { Clock, Scheduler } from '../core/clock.js';
import type { Log } from '../core/log.js';
import type { Ids } from '../core/values/id.js';
import type { EngineObserver } from '../engine.js';
import type { ActiveRun } from './store/active-run.js';
import type { Connect } from './store/folder/database.js';
import type { InMemory } from './store/folder/memory-place.js';
import type { Tables } from './store/tables/tables.js';

export interface EmbeddedEngineOptions {
  /** The folder, or a database in memory that is gone with the engine. */
  dataDir: string | InMemory;
  clock?: Clock;
  scheduler?: Scheduler;
  ids?: Ids;
  limits?: Partial<Limits>;
  log?: Log;
  observer?: EngineObserver;
  /** Storage failed and the engine has stopped: the process should end and start anew. */
  onFatal?: (error: Error) => void;
  /** Under which outsiders reach the server; workers use the address that they dial otherwise. */
  publicUrl?: string;
  /**
   * Sees the tables after every commit, with the runs that it saved, before anybody is told of it: for checks in tests.
   * @internal
   */
  inspectCommit?: (tables: Tables, runs: ReadonlySet<ActiveRun>) => void;
  /**
   * How connections to the database are made; a test gives one whose calls fail.
   * @internal
   */
  connect?: Connect;
  /** Bytes that are left for the data folder; asks the file system unless a test says otherwise. */
  freeBytes?: () => number;
}
