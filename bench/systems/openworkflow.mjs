// OpenWorkflow on SQLite: its worker and its client in one Node process behind a thin HTTP front. Its SQLite is the one of
// Node 22, which its packages bring along.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, post, startServer, until } from '../lib/processes.mjs';
import { installPeer, peerFolder, versionsOf } from './install.mjs';
import { Unavailable } from './unavailable.mjs';
import { frontCalls, INPUT, STEP_WORKLOADS } from './workloads.mjs';

const NODE = join(peerFolder('openworkflow'), 'node_modules', 'node', 'bin', 'node');

export const openworkflow = {
  name: 'openworkflow',
  what: 'OpenWorkflow with its SQLite backend, worker and client in one process behind a bare HTTP server',
  durability: 'SQLite WAL, synchronous=FULL (read back on its own connection)',
  versions: () => versionsOf('openworkflow'),
  prepare() {
    installPeer('openworkflow', '190 MB');
    if (!existsSync(NODE))
      throw new Unavailable('npm did not unpack the Node 22 that it needs for node:sqlite');
  },
  async start(folder) {
    const port = await freePort();
    const app = startServer(
      NODE,
      [
        '--no-warnings',
        join(peerFolder('openworkflow'), 'app.mjs'),
        String(port),
        join(folder, 'openworkflow.db'),
      ],
      { logFile: join(folder, 'app.log'), env: { NODE_ENV: 'production' } },
    );
    await until(app, 'a first run on OpenWorkflow', () => post(`http://127.0.0.1:${port}/steps3`, INPUT));
    return { calls: frontCalls(port, [...STEP_WORKLOADS, 'parallel', 'start']), servers: [app] };
  },
};
