/** What the service needs of an engine beside its port, so that it is put together in one way on every engine. */
import type { CatalogEntry } from '../../core/catalog.js';
import type { Engine, EngineLoad } from '../../engine.js';
import type { HttpServer } from '../../http/index.js';
import type { Traces, TracesOptions } from '../../trace/index.js';
import type { WorkerSupervisor } from '../../worker/supervision/supervisor.js';

export interface WorkersToStart {
  directory: string;
  watch: boolean;
  serverUrl: string;
  traces: Traces;
}

export interface LocalWorkers {
  supervisor: WorkerSupervisor;
  /** What they can run, as soon as the engine knows it. Rejects when they cannot load it. */
  registered: Promise<CatalogEntry[]>;
}

export interface ChosenEngine {
  engine: Engine;
  /** Where the state of runs is, for people. */
  place: string;
  /** Whether other servers may be in front of the same state. */
  isShared: boolean;
  /** Tells when runs close, as far as that is known here. */
  closings: NonNullable<TracesOptions['watch']>;
  /** Of an engine in this process. */
  load?(): EngineLoad;
  /** Resolves when the engine has stopped by itself because its storage failed. */
  failed: Promise<Error>;
  /** Before the server listens: lets workers connect to it, where they do. */
  admitWorkers(server: HttpServer): void;
  /** Resolves when the engine can be reached, which one that is elsewhere may not be. Once the server listens. */
  reached(): Promise<void>;
  startWorkers(options: WorkersToStart): LocalWorkers;
  /** When the workers of this machine are gone: ends what was begun here, except the engine itself. */
  dismissWorkers(): Promise<void>;
}
