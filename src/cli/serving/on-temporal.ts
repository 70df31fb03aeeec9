/**
 * The service on a Temporal cluster: this process keeps no state, and workers poll the cluster instead of connecting
 * here. Everything that knows Temporal is loaded only now, since its packages are there only for those who use it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { CatalogEntry } from '../../core/catalog.js';
import { type Log, silentLog } from '../../core/log.js';
import type { Engine, RunSummary } from '../../engine.js';
import type { TemporalSettings } from '../../temporal/cluster/connection.js';
import { Traces } from '../../trace/index.js';
import type { WorkerSupervisor } from '../../worker/supervision/supervisor.js';
import { type ServerSettings, traceStore, type WorkerSettings, workerProcesses } from '../options.js';
import { type TemporalOptions, temporalSettings } from '../temporal-options.js';
import type { ChosenEngine } from './chosen-engine.js';
import { Closings } from './closings.js';

const ASK_AGAIN_MS = 500;

export async function openTemporal(settings: ServerSettings, log: Log): Promise<ChosenEngine> {
  const temporal = await temporalSettings(settings);
  const { Attendance, TemporalEngine, startTemporalWorkers } = await import('../../temporal/index.js');
  const engine = await TemporalEngine.open({ settings: temporal, log });
  const { catalog } = settings;
  const attendance = new Attendance(engine, catalog, log);
  attendance.start();
  const leaving = new AbortController();
  const closings = new Closings();
  return {
    engine,
    place: `Temporal at ${temporal.address}, namespace ${temporal.namespace}`,
    isShared: true,
    closings,
    failed: new Promise(() => {}),
    admitWorkers() {},
    reached: () => reached(engine, temporal.address, log, leaving.signal),
    startWorkers({ directory, watch, serverUrl, traces: { plan: traces } }) {
      const onRunClosing = (run: RunSummary) => closings.closed(run);
      const supervisor = startTemporalWorkers({
        ...workerProcesses(settings),
        ...{ directory, temporal, watch, log, traces, onRunClosing },
        publicUrl: settings.publicUrl ?? serverUrl,
      });
      const registered = supervisor.ready.then(() => entriesOf(engine, catalog, leaving.signal));
      return { supervisor, registered };
    },
    async dismissWorkers() {
      attendance.stop();
      leaving.abort();
    },
  };
}

/** What says whether the packages are there and the cluster answers. @throws MissingPeerError, StartError */
export async function openTemporalProbe(options: TemporalOptions): Promise<Pick<Engine, 'ready' | 'close'>> {
  const settings = await temporalSettings(options);
  const { TemporalEngine } = await import('../../temporal/index.js');
  return TemporalEngine.open({ settings, log: silentLog });
}

/** Workers without a server beside them. */
export async function startWorkersOnTemporal(
  directory: string,
  settings: WorkerSettings,
  log: Log,
): Promise<Pick<WorkerSupervisor, 'ready' | 'registered' | 'stop'>> {
  const temporal = await temporalSettings(settings);
  const { startTemporalWorkers } = await import('../../temporal/index.js');
  const options = { ...workerProcesses(settings), directory, temporal, log };
  // The others get their trace from a server, when it is asked for.
  if (settings.traces !== 'all' && settings.traces !== 'failed') return startTemporalWorkers(options);

  const { traces, onRunClosing, close } = await openTraces(settings, temporal, log);
  const supervisor = startTemporalWorkers({ ...options, traces, onRunClosing });
  return {
    ready: supervisor.ready,
    registered: supervisor.registered,
    async stop(graceMs) {
      await supervisor.stop(graceMs);
      await close();
    },
  };
}

/** Writes the traces of the runs that it is told of. */
async function openTraces(settings: WorkerSettings, temporal: TemporalSettings, log: Log) {
  const { traces: mode, data: dataDir } = settings;
  const store = traceStore(settings);
  const { TemporalEngine } = await import('../../temporal/index.js');
  const engine = await TemporalEngine.open({ settings: temporal, log });
  const closings = new Closings();
  const traces = await Traces.open({ engine, watch: closings, mode, dataDir, store, log });
  return {
    traces: traces.plan,
    onRunClosing: (run: RunSummary) => closings.closed(run),
    async close() {
      await traces.close();
      await engine.close();
    },
  };
}

/** What is registered, as soon as it is: workers that find the cluster away register later. */
async function entriesOf(engine: Engine, name: string, abort: AbortSignal): Promise<CatalogEntry[]> {
  while (!abort.aborted) {
    const catalog = await engine.catalog(name).catch((error: Error) => {
      if (error.name !== 'EngineUnavailableError') throw error;
    });
    if (catalog) return catalog.workflows.map(({ entry }) => entry);
    await pause(ASK_AGAIN_MS, undefined, { signal: abort }).catch(() => {});
  }
  return new Promise(() => {});
}

/** A cluster that is away does not keep the server from starting, but whoever starts it wants to know. */
async function reached(engine: Engine, address: string, log: Log, abort: AbortSignal): Promise<void> {
  for (let isAway = false; !abort.aborted; isAway = true) {
    try {
      await engine.ready();
      if (isAway) log.info({ address }, 'the Temporal cluster is reached');
      return;
    } catch (error) {
      const { message: reason } = error as Error;
      const consequence = 'calls are answered with 503 until it is reached';
      if (!isAway && !abort.aborted) log.warn({ reason }, `the Temporal cluster is away; ${consequence}`);
    }
    await pause(ASK_AGAIN_MS, undefined, { signal: abort }).catch(() => {});
  }
  await new Promise(() => {});
}
