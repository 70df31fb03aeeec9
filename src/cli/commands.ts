/** What the commands do, once their options are read. Each resolves to the exit code. */
import { relative } from 'node:path';
import type { Log } from '../core/log.js';
import { isLoopbackHost, splitTokens } from '../http/index.js';
import { startWorkers } from '../worker/supervisor.js';
import { jsonLog, prettyLog } from './logs.js';
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
  void service.registered.then((registration) => {
    const entries = registration.workflows.map(({ entry }) => entry);
    const { data, token } = settings;
    const hasToken = token !== undefined;
    console.log(welcomeText({ url: service.url, folder: workflows, data, hasToken, workflows: entries }));
  });
  return serveUntilEnd(service, signal, DEV_STOP_GRACE_MS, log);
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
  const { catalog, data, workflows } = settings;
  if (workflows !== undefined) await Promise.race([service.registered, signal, service.failed]);
  log.info({ url: service.url, catalog, data, workflows }, 'perdure is ready');
  return serveUntilEnd(service, signal, shutdownGrace, log);
}

export async function worker(folder: string | undefined, settings: WorkerSettings): Promise<number> {
  const directory = workflowsFolder(folder) ?? DEFAULT_WORKFLOWS;
  const signal = untilSignal();
  const log = jsonLog(settings.logLevel);
  const { server, token, catalog, workers: count, resultFormat } = settings;
  const workers = startWorkers({
    directory,
    serverUrl: server,
    token: token && splitTokens(token)[0],
    catalog,
    count,
    resultFormat,
    log,
  });
  const outcome = await Promise.race([workers.ready.then(() => undefined), signal]);
  if (outcome === undefined) {
    log.info({ server, catalog, folder: relative('.', directory), workers: count }, 'the workers are ready');
    await signal;
  }
  await workers.stop(settings.shutdownGrace);
  return 0;
}

async function serveUntilEnd(
  service: Service,
  signal: Promise<NodeJS.Signals>,
  graceMs: number,
  log: Log,
): Promise<number> {
  // Our own bug. Node ends the process; the log shall say why, in its own form.
  process.on('uncaughtExceptionMonitor', (error) => log.error({ err: error }, 'an error was not handled'));
  const end = await Promise.race([signal, service.failed]);
  if (end instanceof Error) {
    log.error(
      { err: end },
      'the storage failed: what was not acknowledged may be lost, the rest is read at the next start',
    );
    await service.stop(0).catch(() => {});
    return 1;
  }
  log.info({ signal: end }, 'shutting down');
  await service.stop(graceMs);
  return 0;
}

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
