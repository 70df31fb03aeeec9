/**
 * One service process: the engine that was chosen, the HTTP server in front of it, and the workers of this machine.
 *
 * What was opened is closed in reverse, also when starting fails halfway: first nothing new is accepted, then the
 * workers finish what they have and their results are stored, and the engine goes last.
 */
import type { CatalogEntry } from '../../core/catalog.js';
import { type FaultPoint, faultPoint } from '../../core/fault-point.js';
import type { Log } from '../../core/log.js';
import type { EngineObserver } from '../../engine.js';
import { createServer, openProbes, type Probes } from '../../http/index.js';
import { FailureLog, Metrics, registeredSpans, unheardSdk } from '../../telemetry/index.js';
import { Traces } from '../../trace/index.js';
import { findWorkflowFiles } from '../../worker/loading/discover.js';
import { type ServerSettings, traceStore } from '../options.js';
import { shutDown } from '../shutdown.js';
import { explainStartFailure, StartError } from '../start-failure.js';
import type { ChosenEngine } from './chosen-engine.js';
import { compileEarly } from './compile-early.js';
import { giveBackIdleMemory } from './idle-memory.js';
import { openEmbedded } from './on-embedded.js';
import { openTemporal } from './on-temporal.js';
import { allowedConnections } from './open-files.js';
import { scavengeAlone, startAllYoung } from './scavenges.js';

export interface ServiceOptions extends ServerSettings {
  /** Without it no worker is started here; they connect from elsewhere. */
  workflows?: string;
  watch?: boolean;
  /** A line in the log for every call. */
  logCalls?: boolean;
  log: Log;
}

export interface Service {
  url: string;
  /** Where probes have a port of their own, if they have. */
  probesUrl?: string;
  /** Where the state of runs is, for people. */
  place: string;
  /**
   * Calls are served, and the workers of this machine, if it has any, have told what they can run: that.
   * Rejects when they cannot load it.
   */
  ready: Promise<CatalogEntry[] | undefined>;
  /** Resolves when the engine has stopped by itself because its storage failed. */
  failed: Promise<Error>;
  /** Steps under way get `graceMs` to end. */
  stop(graceMs: number): Promise<void>;
}

/** Others may come only where there is a token to tell them apart by. */
export const listenHost = ({ host, token }: Pick<ServiceOptions, 'host' | 'token'>): string =>
  host ?? (token ? '0.0.0.0' : '127.0.0.1');

export async function startService(options: ServiceOptions): Promise<Service> {
  const { token, catalog: defaultCatalog, corsOrigins, log, workflows, logCalls } = options;
  // Before anything is created for a folder that was mistyped.
  if (workflows !== undefined) await findWorkflowFiles(workflows);
  const store = traceStore(options);
  const unheard = unheardSdk();
  if (unheard !== undefined) log.warn({}, unheard);

  const metrics = new Metrics({ ofProcess: true });
  const chosen = await openEngine(options, metrics);
  const { engine, isShared: isOneOfSeveral, closings: watch, load, place, failed } = chosen;
  if (load) metrics.watchEngine(load);
  const traces = await Traces.open({
    ...{ engine, watch, mode: options.traces, dataDir: options.data, store, log },
    limits: { lowWaterBytes: options.minFreeSpace },
  }).catch(async (error) => {
    await engine.close();
    throw error;
  });
  const server = createServer({
    ...{ engine, isOneOfSeveral, traces, token, defaultCatalog, corsOrigins, metrics, log, logCalls },
    ui: options.ui,
    runTimeoutMs: options.runTimeout,
    limits: { connections: allowedConnections() },
  });
  chosen.admitWorkers(server);
  scavengeAlone();
  startAllYoung();
  compileEarly();
  const idleMemory = giveBackIdleMemory();
  let probes: Probes | undefined;
  let stopWorkers = async (_graceMs: number): Promise<void> => {};

  const stop = async (graceMs: number): Promise<void> => {
    let serverClosed: Promise<void> | undefined;
    idleMemory.stop();
    await shutDown(
      [
        async () => {
          serverClosed = server.close();
        },
        drains('drainWorkers', () => stopWorkers(graceMs)),
        drains('drainLink', () => chosen.dismissWorkers()),
        drains('drainServer', () => serverClosed!),
        drains('drainTraces', () => traces.close()),
        drains('drainEngine', () => engine.close()),
        // Those who ask hear until the end that it shuts down.
        async () => probes?.close(),
      ],
      graceMs,
    );
  };

  const probesOn = (port: number) => {
    const host = listenHost(options);
    return openProbes({ host, port, whyNotReady: () => server.whyNotReady(), log }).catch(
      (error: unknown) => {
        const explained = explainStartFailure(error, { host, port, option: '--probe-port' });
        throw explained === undefined ? error : new StartError(explained);
      },
    );
  };

  try {
    await server.listen({ host: listenHost(options), port: options.port });
    if (options.probePort !== undefined) probes = await probesOn(options.probePort);
  } catch (error) {
    await stop(0);
    throw error;
  }
  const { url } = server;
  const probesUrl = probes?.url;
  const reached = chosen.reached();
  if (workflows === undefined)
    return { url, probesUrl, place, ready: reached.then(() => undefined), failed, stop };
  const { supervisor, registered } = chosen.startWorkers({
    ...{ directory: workflows, watch: options.watch ?? false, serverUrl: url, traces },
  });
  stopWorkers = (graceMs) => supervisor.stop(graceMs);
  metrics.watchWorkers(() => supervisor.restarts());
  return {
    url,
    probesUrl,
    place,
    ready: Promise.all([registered, reached]).then(([entries]) => entries),
    failed,
    stop,
  };
}

/** A part of the shutdown, at whose end the process may be killed in tests. */
function drains(part: FaultPoint, close: () => Promise<unknown>): () => Promise<void> {
  return async () => {
    await close();
    faultPoint(part);
  };
}

function openEngine(options: ServiceOptions, metrics: Metrics): ChosenEngine | Promise<ChosenEngine> {
  if (options.engine === 'temporal') return openTemporal(options, options.log);
  const spans = registeredSpans();
  const failures = new FailureLog(options.log);
  const measured = spans ? spans.observing(metrics.observer) : metrics.observer;
  const observer: EngineObserver = {
    ...measured,
    attemptFailed: (attempt) => failures.attemptFailed(attempt),
    runFailed: (run) => failures.runFailed(run),
  };
  return openEmbedded(options, observer, options.log);
}
