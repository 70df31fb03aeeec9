/** What a server would meet when it starts here: its port, its token, its workflows. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS, DEFAULT_RUN_TIMEOUT_MS, DEFAULT_WORKER_SLOTS } from '../../core/bounds/limits.js';
import { silentLog } from '../../core/log.js';
import { isLoopbackHost, splitTokens } from '../../http/door/auth.js';
import { DEFAULT_WORKFLOWS, isProduction, type ServerSettings } from '../options.js';
import { explainStartFailure } from '../start-failure.js';
import { isOpenFile, SHORT_TOKEN_LENGTH, withToken } from '../token.js';
import { trialFolder } from '../trial-folder.js';
import { type Finding, fail, ok, warn } from './finding.js';

export type DoctorSettings = Pick<ServerSettings, 'port' | 'host' | 'token' | 'tokenFile'>;

export function tokenFinding(settings: DoctorSettings): Finding {
  const name = 'token';
  const remedy = 'Set API_AUTH_TOKEN to a long random secret, or API_AUTH_TOKEN_FILE to a file with one.';
  let token: string | undefined;
  try {
    ({ token } = withToken(settings));
  } catch (error) {
    return fail(name, (error as Error).message, 'Give the secret in one place that can be read.');
  }
  if (token === undefined) {
    if (isProduction())
      return fail(name, 'none, and NODE_ENV is production: the server does not start', remedy);
    if (settings.host !== undefined && !isLoopbackHost(settings.host))
      return fail(name, `none, and ${settings.host} is not loopback: the server does not start`, remedy);
    return warn(name, 'none: the server is for programs of this machine only', remedy);
  }
  const { tokenFile } = settings;
  if (isOpenFile(tokenFile))
    return warn(name, `every user of this machine can read ${tokenFile}`, `Run: chmod 600 ${tokenFile}`);
  const shortest = Math.min(...splitTokens(token).map(({ length }) => length));
  if (shortest >= SHORT_TOKEN_LENGTH) return ok(name, 'set');
  return warn(
    name,
    `it has ${shortest} characters, which can be guessed`,
    `Use at least ${SHORT_TOKEN_LENGTH} random characters.`,
  );
}

const ANSWER_MS = 2_000;

export async function portFinding(settings: DoctorSettings): Promise<Finding> {
  const { port } = settings;
  const host = settings.host ?? ((settings.token ?? settings.tokenFile) ? '0.0.0.0' : '127.0.0.1');
  const probe = createServer();
  try {
    probe.listen({ host, port });
    await once(probe, 'listening');
    return ok('port', port === 0 ? 'a free one is taken' : `${port} on ${host} is free`);
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    if (isTaken && (await isPerdure(port)))
      return ok('port', `${port}: a server answers there, as perdure does`);
    const line = explainStartFailure(error, { port, host }) ?? (error as Error).message;
    const [message = line, remedy = 'choose another one with --port'] = line.split(/: (?=\w+ )/);
    return fail('port', message, `${remedy[0]!.toUpperCase()}${remedy.slice(1)}.`);
  } finally {
    probe.close();
  }
}

async function isPerdure(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
    return (
      answer.headers.has('x-request-id') && ((await answer.json()) as { status?: string }).status === 'ok'
    );
  } catch {
    return false;
  }
}

/** Files that take longer to load wait for something. */
const LOAD_MS = 60_000;

/** In a worker process of a server of its own, as they would be run. */
export async function workflowsFinding(folder: string | undefined): Promise<Finding> {
  const name = 'workflows';
  const directory = folder ?? DEFAULT_WORKFLOWS;
  if (folder === undefined && !existsSync(directory)) {
    const remedy = 'Name their folder (`perdure doctor FOLDER`), or begin one with `perdure init`.';
    return warn(name, `there is no ${directory}`, remedy);
  }
  const place = trialFolder(join(tmpdir(), 'perdure-doctor-'));
  try {
    const names = await load(directory, place.path);
    return ok(name, `${names.length} in ${directory}, loaded by a worker: ${names.join(', ')}`);
  } catch (error) {
    return fail(
      name,
      (error as Error).message,
      'Mend the files; `perdure dev` loads them again whenever one changes.',
    );
  } finally {
    place.remove();
  }
}

async function load(workflows: string, data: string): Promise<string[]> {
  const { startService } = await import('../serving/service.js');
  const service = await startService({
    ...{ workflows, data, log: silentLog, engine: 'embedded', traces: 'off', corsOrigins: [], ui: false },
    ...{ host: '127.0.0.1', port: 0, token: randomBytes(32).toString('hex'), catalog: 'default' },
    ...{ workers: 1, spareWorkers: 0, resultFormat: 'current', allowPrivateAddresses: 'none' },
    ...{ stepSlots: DEFAULT_WORKER_SLOTS.steps, turnSlots: DEFAULT_WORKER_SLOTS.turns },
    ...{ retention: DEFAULT_LIMITS.retentionMs, minFreeSpace: 0, runTimeout: DEFAULT_RUN_TIMEOUT_MS },
    ...{ temporalAddress: '', temporalNamespace: '' },
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_resolve, reject) => {
      const message = `the files in ${workflows} are not loaded after ${LOAD_MS / 1_000} s: something waits while it is imported`;
      timer = setTimeout(() => reject(new Error(message)), LOAD_MS);
    });
    const entries = (await Promise.race([service.ready, late])) ?? [];
    return entries.map(({ name }) => name).sort();
  } finally {
    clearTimeout(timer);
    await service.stop(0);
  }
}
