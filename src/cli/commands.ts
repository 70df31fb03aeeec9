/** What the commands do, once their options are read. Each resolves to the exit code. */
import { relative } from 'node:path';
import type { CatalogEntry } from '../core/catalog.js';
import type { Log } from '../core/log.js';
import { isLoopbackHost, splitTokens } from '../http/index.js';
import { startWorkers, type WorkerSupervisor } from '../worker/supervision/supervisor.js';
import { DEFAULT_PUBLIC_URL } from '../worker/worker-options.js';
import { jsonLog, prettyLog } from './logs.js';
import {
  DEFAULT_WORKFLOWS,
  isProduction,
  type ServerSettings,
  type ServeSettings,
  type WorkerSettings,
  workerProcesses,
  workflowsFolder,
} from './options.js';
import { startWorkersOnTemporal } from './serving/on-temporal.js';
import { listenHost, type Service, startService } from './serving/service.js';
import { lookCommand, welcomeText } from './serving/welcome.js';
import { untilSignal } from './shutdown.js';
import { StartError } from './start-failure.js';
import { SHORT_TOKEN_LENGTH, warnOfOpenFile, withToken } from './token.js';

/** In development nobody wants to wait for steps to end. */
const DEV_STOP_GRACE_MS = 1_000;

export async function dev(folder: string | undefined, given: ServerSettings): Promise<number> {
  const settings = withToken(given);
  requireToken(settings);
  const workflows = workflowsFolder(folder) ?? DEFAULT_WORKFLOWS;
  const signal = untilSignal();
  let url: string | undefined;
  const hasToken = settings.token !== undefined;
  const log = prettyLog((path) => url && lookCommand(url, path, hasToken));
  warnOfOpenFile(settings, log);
  const service = await startService({ ...settings, workflows, watch: true, log });
  url = service.url;
  return serveUntilEnd(service, signal, DEV_STOP_GRACE_MS, log, (entries = []) => {
    const { place } = service;
    console.log(
      welcomeText({
        url: service.url,
        folder: workflows,
        place,
        hasToken,
        hasUi: settings.ui,
        workflows: entries,
      }),
    );
  });
}

export async function serve(given: ServeSettings): Promise<number> {
  const settings = withToken(given);
  requireToken(settings);
  const signal = untilSignal();
  const { logLevel, shutdownGrace } = settings;
  const log = jsonLog(logLevel);
  warnOfOpenFile(settings, log);
  for (const token of settings.token ? splitTokens(settings.token) : []) {
    if (token.length < SHORT_TOKEN_LENGTH) {
      log.warn(
        { length: token.length },
        `the API token is short: use at least ${SHORT_TOKEN_LENGTH} random characters`,
      );
    }
  }
  tellPrivateAddresses(settings, log);
  const service = await startService({ ...settings, log, logCalls: logLevel === 'debug' });
  const { catalog, workflows } = settings;
  const { url, place, probesUrl } = service;
  log.info({ url, probes: probesUrl }, 'perdure listens');
  // Whoever listens for others has outsiders. Workers that poll a cluster are told by whoever starts them.
  const givesAddresses = settings.engine === 'embedded' || workflows !== undefined;
  if (givesAddresses && !isLoopbackHost(listenHost(settings))) tellPublicUrl(settings, url, log);
  return serveUntilEnd(service, signal, shutdownGrace, log, () =>
    log.info({ url, catalog, data: place, workflows }, 'perdure is ready'),
  );
}

export async function worker(folder: string | undefined, given: WorkerSettings): Promise<number> {
  const settings = withToken(given);
  const directory = workflowsFolder(folder) ?? DEFAULT_WORKFLOWS;
  const signal = untilSignal();
  const log = jsonLog(settings.logLevel);
  warnOfOpenFile(settings, log);
  tellPrivateAddresses(settings, log);
  // One of a server gets it from there.
  if (settings.engine === 'temporal') tellPublicUrl(settings, DEFAULT_PUBLIC_URL, log);
  const { catalog, workers: count } = settings;
  const workers =
    settings.engine === 'temporal'
      ? await startWorkersOnTemporal(directory, settings, log)
      : startWorkersOfServer(directory, settings, log);
  const at =
    settings.engine === 'temporal' ? { temporal: settings.temporalAddress } : { server: settings.server };
  const fields = { ...at, catalog, folder: relative('.', directory), workers: count };
  // A worker that is not reached by its engine, or is refused by it, does no work; the log says why.
  const isReady = workers.ready.then(() => workers.registered);
  const outcome = await Promise.race([isReady.then(() => undefined), signal]);
  if (outcome === undefined) {
    log.info(fields, 'the workers are ready');
    await signal;
  }
  await workers.stop(settings.shutdownGrace);
  return 0;
}

function startWorkersOfServer(directory: string, settings: WorkerSettings, log: Log): WorkerSupervisor {
  const { server: serverUrl, spareWorkers: spares } = settings;
  const token = settings.token && splitTokens(settings.token)[0];
  return startWorkers({ ...workerProcesses(settings), directory, serverUrl, token, spares, log });
}

async function serveUntilEnd(
  service: Service,
  signal: Promise<NodeJS.Signals>,
  graceMs: number,
  log: Log,
  onReady: (entries: CatalogEntry[] | undefined) => void,
): Promise<number> {
  // Our own bug. Node ends the process; the log shall say why, in its own form.
  process.on('uncaughtExceptionMonitor', (error) => log.error({ err: error }, 'an error was not handled'));
  try {
    const end = await Promise.race([signal, service.failed, service.ready.then(onReady).then(forever)]);
    if (end instanceof Error) {
      log.error(
        { err: end },
        'the storage failed: what was not acknowledged may be lost, the rest is read at the next start',
      );
      await service.stop(0).catch(() => {});
      return 1;
    }
    log.info({ signal: end }, 'shutting down');
  } catch (error) {
    // The workers cannot load what they should run.
    await service.stop(0).catch(() => {});
    throw error;
  }
  await service.stop(graceMs);
  return 0;
}

const forever = () => new Promise<never>(() => {});

/** What callers may have requested from inside the network must not be an accident either. */
function tellPrivateAddresses(
  { allowPrivateAddresses: allowed }: Pick<ServerSettings, 'allowPrivateAddresses'>,
  log: Log,
): void {
  if (allowed !== 'none') log.info({ allowed }, 'HTTP requests of workflows may reach private addresses');
}

/** Outsiders who are given an address that they cannot reach never call back, and nobody is told. */
function tellPublicUrl({ publicUrl }: Pick<ServerSettings, 'publicUrl'>, used: string, log: Log): void {
  if (publicUrl !== undefined) return;
  log.warn(
    { publicUrl: used },
    `the addresses of callbacks begin with ${used}: set --public-url (PERDURE_PUBLIC_URL) to where outsiders reach the API`,
  );
}

/** Whom the API is open to must not be an accident. */
function requireToken({ token, host }: ServerSettings): void {
  if (token !== undefined) return;
  const remedy = 'Set API_AUTH_TOKEN to a long random secret, or API_AUTH_TOKEN_FILE to a file with one';
  if (isProduction()) {
    throw new StartError(
      `NODE_ENV is production and API_AUTH_TOKEN is not set: the API would be open to everybody. ${remedy}`,
    );
  }
  if (host !== undefined && !isLoopbackHost(host)) {
    throw new StartError(
      `without a token the server listens on loopback only, and ${host} is not. ${remedy}`,
    );
  }
}
