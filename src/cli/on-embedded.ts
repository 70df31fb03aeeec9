/**
 * The service on the embedded engine: SQLite in this process, and workers that connect to the server's own port.
 *
 * The link is never open: without an API token it takes a secret that only the workers started here know.
 */
import { randomBytes } from 'node:crypto';
import type { CatalogEntry } from '../core/catalog.js';
import type { Log } from '../core/log.js';
import { EmbeddedEngine } from '../embedded/index.js';
import type { EngineObserver, TaskSource } from '../engine.js';
import { createTokenCheck, splitTokens } from '../http/index.js';
import { attachWorkerLink, type WorkerLink } from '../link/server.js';
import { startWorkers } from '../worker/supervisor.js';
import type { ChosenEngine } from './chosen-engine.js';
import type { ServerSettings } from './options.js';

export function openEmbedded(settings: ServerSettings, observer: EngineObserver, log: Log): ChosenEngine {
  const { data, catalog, resultFormat, workers: count } = settings;
  const { promise: failed, resolve: fail } = deferred<Error>();
  const { promise: registration, resolve: register } = deferred<CatalogEntry[]>();
  const limits = { retentionMs: settings.retention };
  const engine = EmbeddedEngine.open({ dataDir: data, limits, log, observer, onFatal: fail });
  const linkToken = settings.token ?? randomBytes(32).toString('hex');
  let link: WorkerLink | undefined;
  return {
    engine,
    place: data,
    isShared: false,
    closings: engine,
    load: () => engine.load(),
    failed,
    admitWorkers(server) {
      const isWorker = createTokenCheck(linkToken);
      link = attachWorkerLink(server.raw, listening(engine, register), {
        authorize: ({ headers }) => isWorker(headers.authorization),
        log,
      });
    },
    reached: async () => {},
    startWorkers({ directory, watch, serverUrl }) {
      const token = splitTokens(linkToken)[0]!;
      const supervisor = startWorkers({
        directory,
        serverUrl,
        token,
        catalog,
        count,
        resultFormat,
        watch,
        log,
      });
      return { supervisor, registered: supervisor.ready.then(() => registration) };
    },
    dismissWorkers: async () => link?.close(),
  };
}

/** The same source of tasks, with an ear for what workers register. */
function listening(source: TaskSource, onRegistered: (entries: CatalogEntry[]) => void): TaskSource {
  return {
    connect(send) {
      const session = source.connect(send);
      return {
        receive(message) {
          session.receive(message);
          if (message.kind === 'register') onRegistered(message.workflows.map(({ entry }) => entry));
        },
        disconnected: () => session.disconnected(),
      };
    },
  };
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
