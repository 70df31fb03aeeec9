/**
 * One service process: the engine, the HTTP server in front of it, the link for workers on the same port, and the
 * workers of this machine.
 *
 * 1. The link is never open: without an API token it takes a secret that only the workers started here know.
 * 2. What was opened is closed in reverse, also when starting fails halfway: first nothing new is accepted, then the
 *    workers finish what they have and their results are stored, and the engine goes last.
 */
import { randomBytes } from 'node:crypto';
import type { Log } from '../core/log.js';
import type { FromWorker } from '../core/task.js';
import { EmbeddedEngine } from '../embedded/index.js';
import type { TaskSource } from '../engine.js';
import { createServer, createTokenCheck, splitTokens } from '../http/index.js';
import { attachWorkerLink } from '../link/server.js';
import { Metrics, registeredSpans } from '../telemetry/index.js';
import { Traces } from '../trace/index.js';
import { findWorkflowFiles } from '../worker/discover.js';
import { startWorkers } from '../worker/supervisor.js';
import { type ServerSettings, traceStore } from './options.js';
import { shutDown } from './shutdown.js';

export interface ServiceOptions extends ServerSettings {
  /** Without it no worker is started here; they connect from elsewhere. */
  workflows?: string;
  watch?: boolean;
  /** A line in the log for every call. */
  logCalls?: boolean;
  log: Log;
}

export type Registration = Extract<FromWorker, { kind: 'register' }>;

export interface Service {
  url: string;
  /** Resolves when the first worker has told what it can run. */
  registered: Promise<Registration>;
  /** Resolves when the engine has stopped by itself because its storage failed. */
  failed: Promise<Error>;
  /** Steps under way get `graceMs` to end. */
  stop(graceMs: number): Promise<void>;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { token, catalog, log, workflows } = options;
  // Before anything is created for a folder that was mistyped.
  if (workflows !== undefined) await findWorkflowFiles(workflows);
  const store = traceStore(options);

  const { promise: failed, resolve: fail } = deferred<Error>();
  const { promise: registered, resolve: register } = deferred<Registration>();
  const metrics = new Metrics({ ofProcess: true });
  const spans = registeredSpans();
  const engine = EmbeddedEngine.open({
    dataDir: options.data,
    limits: { retentionMs: options.retention },
    log,
    observer: spans ? spans.observing(metrics.observer) : metrics.observer,
    onFatal: fail,
  });
  metrics.watchEngine(() => engine.load());
  const traces = await Traces.open({
    engine,
    watch: engine,
    mode: options.traces,
    dataDir: options.data,
    store,
    log,
  }).catch(async (error) => {
    await engine.close();
    throw error;
  });
  const server = createServer({
    engine,
    traces,
    token,
    defaultCatalog: catalog,
    corsOrigins: options.corsOrigins,
    metrics,
    log,
    logCalls: options.logCalls,
  });
  const linkToken = token ?? randomBytes(32).toString('hex');
  const isWorker = createTokenCheck(linkToken);
  const link = attachWorkerLink(server.raw, listening(engine, register), {
    authorize: ({ headers }) => isWorker(headers.authorization),
    log,
  });
  let stopWorkers = async (_graceMs: number): Promise<void> => {};

  const stop = async (graceMs: number): Promise<void> => {
    let serverClosed: Promise<void> | undefined;
    await shutDown(
      [
        async () => {
          serverClosed = server.close();
        },
        () => stopWorkers(graceMs),
        () => link.close(),
        () => serverClosed!,
        () => traces.close(),
        () => engine.close(),
      ],
      graceMs,
    );
  };

  try {
    await server.listen({ host: options.host ?? (token ? '0.0.0.0' : '127.0.0.1'), port: options.port });
    if (workflows !== undefined) {
      const workers = startWorkers({
        directory: workflows,
        serverUrl: server.url,
        token: splitTokens(linkToken)[0]!,
        catalog,
        count: options.workers,
        resultFormat: options.resultFormat,
        watch: options.watch ?? false,
        log,
      });
      stopWorkers = (graceMs) => workers.stop(graceMs);
      metrics.watchWorkers(() => workers.restarts());
      await workers.ready;
    }
  } catch (error) {
    await stop(0);
    throw error;
  }
  return { url: server.url, registered, failed, stop };
}

/** The same source of tasks, with an ear for what workers register. */
function listening(source: TaskSource, onRegistered: (registration: Registration) => void): TaskSource {
  return {
    connect(send) {
      const session = source.connect(send);
      return {
        receive(message) {
          session.receive(message);
          if (message.kind === 'register') onRegistered(message);
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
