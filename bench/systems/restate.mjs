// Restate: its server and TypeScript SDK from npm with default settings: one node, whose log is synced to disk.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { freePort, post, startServer, until } from '../lib/processes.mjs';
import { installPeer, peerFolder, versionsOf } from './install.mjs';
import { INPUT, STEP_WORKLOADS } from './workloads.mjs';

const FOLDER = peerFolder('restate');

function startService(port, folder) {
  return startServer(process.execPath, [join(FOLDER, 'service.mjs'), String(port)], {
    logFile: join(folder, 'service.log'),
    env: { NODE_ENV: 'production', RESTATE_LOGGING: 'ERROR' },
  });
}

const binary = () =>
  createRequire(FOLDER).resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);

/** What it would do with no word from us: its own defaults are the configuration that is measured. */
function requireSyncedLog(env) {
  const config = execFileSync(binary(), ['--dump-config'], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const settings = [...config.matchAll(/^rocksdb-disable-wal(?:-fsync)? = (\w+)$/gm)];
  if (settings.length === 0 || settings.some(([, value]) => value !== 'false')) {
    throw new Error(
      `Restate does not say that it syncs its log: ${settings.map(([line]) => line).join(', ')}`,
    );
  }
}

function startNode({ ingress, admin, node }, folder) {
  const data = join(folder, 'data');
  mkdirSync(data);
  const addresses = ['--listen-mode', 'tcp', '--bind-ip', '127.0.0.1', '--bind-port', String(node)];
  const env = {
    RESTATE_NODE_NAME: 'bench',
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_ADMIN__DISABLE_WEB_UI: 'true',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'warn',
    DO_NOT_TRACK: '1',
  };
  requireSyncedLog(env);
  return startServer(binary(), ['--no-logo', ...addresses, '--base-dir', data], {
    logFile: join(folder, 'server.log'),
    env,
  });
}

function callsAt(port) {
  const call = (path, body, expect) => ({ port, path, body: JSON.stringify(body), expect });
  const run = (handler) => call(`/Bench/${handler}`, INPUT, JSON.stringify(INPUT));
  return {
    ...Object.fromEntries(STEP_WORKLOADS.map((workload) => [workload, run(workload)])),
    parallel: run('parallel'),
    start: call('/Bench/steps0/send', INPUT, '"invocationId":'),
    // A virtual object is there without being started.
    signal: call('/Counter/counter-$r/add/send', 1, '"invocationId":'),
    update: call('/Counter/counter-$r/add', 1, '"total":'),
    query: call('/Counter/counter-$r/total', null, '"total":'),
  };
}

export const restate = {
  name: 'restate',
  what: 'Restate server and its TypeScript SDK, default settings, called through its ingress',
  durability: 'its log on one node, synced to disk (read from its configuration)',
  versions: () => versionsOf('restate'),
  prepare: () => installPeer('restate', '220 MB'),
  async start(folder) {
    const [service, ingress, admin, node] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const server = startNode({ ingress, admin, node }, folder);
    const serviceProcess = startService(service, folder);
    await until(server, 'Restate accepting its deployment', () =>
      post(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${service}` }),
    );
    await until(server, 'a first run on Restate', () =>
      post(`http://127.0.0.1:${ingress}/Bench/steps3`, INPUT),
    );
    return { calls: callsAt(ingress), servers: [server, serviceProcess] };
  },
};
