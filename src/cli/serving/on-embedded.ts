/**
 * The service on the embedded engine: SQLite in this process, and workers that connect to the server's own port.
 *
 * The link is never open. The workers that are started here present a secret of their own, so that the API token is in
 * no process that runs user code; workers from elsewhere present the token.
 */
import { randomBytes } from 'node:crypto';
import { DEFAULT_HTTP_LIMITS } from '../../core/bounds/limits.js';
import type { CatalogEntry } from '../../core/catalog.js';
import type { Log } from '../../core/log.js';
import { EmbeddedEngine } from '../../embedded/index.js';
import type { EngineObserver, TaskSource } from '../../engine.js';
import { createTokenCheck, WrongTokens } from '../../http/index.js';
import { attachWorkerLink, type WorkerLink } from '../../link/server.js';
import { startWorkers } from '../../worker/supervision/supervisor.js';
import { type ServerSettings, workerProcesses } from '../options.js';
import type { ChosenEngine } from './chosen-engine.js';

export function openEmbedded(settings: ServerSettings, observer: EngineObserver, log: Log): ChosenEngine {
  const { data, spareWorkers: spares, publicUrl } = settings;
  const { promise: failed, resolve: fail } = deferred<Error>();
  const { promise: registration, resolve: register } = deferred<CatalogEntry[]>();
  const limits = { retentionMs: settings.retention, lowWaterBytes: settings.minFreeSpace };
  const engine = EmbeddedEngine.open({ dataDir: data, limits, log, observer, onFatal: fail, publicUrl });
  const ownSecret = randomBytes(32).toString('hex');
  let link: WorkerLink | undefined;
  return {
    engine,
    place: data,
    isShared: false,
    closings: engine,
    load: () => engine.load(),
    failed,
    admitWorkers(server) {
      const wrongTokens = new WrongTokens(DEFAULT_HTTP_LIMITS.wrongTokens);
      const isWorker = createTokenCheck(
        settings.token === undefined ? ownSecret : `${ownSecret},${settings.token}`,
      );
      link = attachWorkerLink(server.raw, listening(engine, register), {
        authorize(request) {
          if (isWorker(request.headers.authorization)) return true;
          const retryAfterSeconds = wrongTokens.count(request);
          return retryAfterSeconds === undefined ? false : { retryAfterSeconds };
        },
        ...(settings.token === undefined && { remedy: NO_TOKEN }),
        log,
      });
    },
    reached: async () => {},
    startWorkers({ directory, watch, serverUrl }) {
      const supervisor = startWorkers({
        ...workerProcesses(settings),
        ...{ directory, serverUrl, token: ownSecret, spares, watch, log },
      });
      return { supervisor, registered: supervisor.ready.then(() => registration) };
    },
    dismissWorkers: async () => link?.close(),
  };
}

const NO_TOKEN =
  'This server has none, and takes its own workers only: start it with API_AUTH_TOKEN, and the worker with the same';

/** The same source of tasks, with an ear for what workers register. */
function listening(source: TaskSource, onRegistered: (entries: CatalogEntry[]) => void): TaskSource {
  return {
    connect(send, drop, flush) {
      const session = source.connect(send, drop, flush);
      return {
        receive(message) {
          session.receive(message);
          if (message.kind === 'register') onRegistered(message.workflows.map(({ entry }) => entry));
        },
        seen: () => session.seen?.(),
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
