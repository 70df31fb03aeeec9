/** What the commands do, once their options are read. Each resolves to the exit code. */
import { relative } from 'node:path';
import type { CatalogEntry } from '../core/catalog.js';
import type { Log } from '../core/log.js';
import { isLoopbackHost, splitTokens } from '../http/index.js';
import { startWorkers, type WorkerSupervisor } from '../worker/supervisor.js';
import { jsonLog, prettyLog } from './logs.js';
import { startWorkersOnTemporal } from './on-temporal.js';
import {
  DEFAULT_WORKFLOWS,
  isProduction,
  type ServerSettings,
  type ServeSettings,
  type WorkerSettings,
  workflowsFolder,
} from './options.js';
import { type Service, startService } from './service.js';
import { untilSignal } from './shutdown.js';
import { StartError } from './start-failure.js';
import { welcomeText } from './welcome.js';

/** In development nobody wants to wait for steps to end. */
const DEV_STOP_GRACE_MS = 1_000;
/** Short enough to be noticed as weak before it is guessed. */
const SHORT_TOKEN_LENGTH = 32;

export async function dev(folder: string | undefined, settings: ServerSettings): Promise<number> {
  requireToken(settings);
  const workflows = workflowsFolder(folder) ?? DEFAULT_WORKFLOWS;
  const signal = untilSignal();
  const log = prettyLog();
  const service = await startService({ ...settings, workflows, watch: true, log });
  return serveUntilEnd(service, signal, DEV_STOP_GRACE_MS, log, (entries = []) => {
    const { url, place } = service;
    const hasToken = settings.token !== undefined;
    console.log(welcomeText({ url, folder: workflows, place, hasToken, workflows: entries }));
  });
}

export async function serve(settings: ServeSettings): Promise<number> {
  requireToken(settings);
  const signal = untilSignal();
  const { logLevel, shutdownGrace } = settings;
  const log = jsonLog(logLevel);
  for (const token of settings.token ? splitTokens(settings.token) : []) {
    if (token.length < SHORT_TOKEN_LENGTH) {
      log.warn(
        { length: token.length },
        `the API token is short: use at least ${SHORT_TOKEN_LENGTH} random characters`,
      );
    }
  }
  const service = await startService({ ...settings, log, logCalls: logLevel === 'debug' });
  const { catalog, workflows } = settings;
  const { url, place } = service;
  log.info({ url }, 'perdure listens');
  return serveUntilEnd(service, signal, shutdownGrace, log, () =>
    log.info({ url, catalog, data: place, workflows }, 'perdure is ready'),
  );
}

export async function worker(folder: string | undefined, settings: WorkerSettings): Promise<number> {
  const directory = workflowsFolder(folder) ?? DEFAULT_WORKFLOWS;
  const signal = untilSignal();
  const log = jsonLog(settings.logLevel);
  const { catalog, workers: count } = settings;
  const workers =
    settings.engine === 'temporal'
      ? await startWorkersOnTemporal(directory, settings, log)
      : startWorkersOfServer(directory, settings, log);
  const outcome = await Promise.race([workers.ready.then(() => undefined), signal]);
  if (outcome === undefined) {
    const at =
      settings.engine === 'temporal' ? { temporal: settings.temporalAddress } : { server: settings.server };
    log.info({ ...at, catalog, folder: relative('.', directory), workers: count }, 'the workers are ready');
    await signal;
  }
  await workers.stop(settings.shutdownGrace);
  return 0;
}

function startWorkersOfServer(directory: string, settings: WorkerSettings, log: Log): WorkerSupervisor {
  const { server: serverUrl, catalog, workers: count, resultFormat } = settings;
  const token = settings.token && splitTokens(settings.token)[0];
  return startWorkers({ directory, serverUrl, token, catalog, count, resultFormat, log });
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

/** Whom the API is open to must not be an accident. */
function requireToken({ token, host }: ServerSettings): void {
  if (token !== undefined) return;
  const remedy = 'Set API_AUTH_TOKEN to a long random secret';
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
