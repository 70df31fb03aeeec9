// Temporal's dev server with its own TypeScript worker, and its own client behind a thin HTTP front.
import { join } from 'node:path';
import { freePort, post, startServer, until } from '../lib/processes.mjs';
import { installPeer, peerFolder, versionsOf } from './install.mjs';
import { findTemporal, startTemporal, temporalVersion } from './temporal-server.mjs';
import { frontCalls, INPUT, STEP_WORKLOADS } from './workloads.mjs';

const TASK_QUEUE = 'bench';

/** The two processes of somebody who uses Temporal's own SDK. */
export async function startOwnSdk(address, folder) {
  const port = await freePort();
  const start = (program, ...args) =>
    startServer(process.execPath, [join(peerFolder('temporal'), program), address, TASK_QUEUE, ...args], {
      logFile: join(folder, `${program}.log`),
      env: { NODE_ENV: 'production' },
    });
  const worker = start('worker.mjs');
  const api = start('api.mjs', String(port));
  await until(api, 'a first run on Temporal', () => post(`http://127.0.0.1:${port}/steps3`, INPUT));
  return { port, worker, api };
}

export const temporal = {
  name: 'temporal',
  what: "Temporal's dev server, its TypeScript worker, and its client behind a bare HTTP server",
  durability: 'SQLite with the pragmas journal_mode=WAL and synchronous=FULL given to it',
  versions: () => [...versionsOf('temporal'), temporalVersion()],
  prepare() {
    findTemporal();
    installPeer('temporal', '260 MB');
  },
  async start(folder) {
    const cluster = await startTemporal(folder);
    const { port, worker, api } = await startOwnSdk(cluster.address, folder);
    const workloads = [...STEP_WORKLOADS, 'parallel', 'start', 'startCounter', 'signal', 'update', 'query'];
    return { calls: frontCalls(port, workloads), servers: [api, worker, cluster.server] };
  },
};
