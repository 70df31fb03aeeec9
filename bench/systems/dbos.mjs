// DBOS: its library in one Node process behind a thin HTTP front, on a PostgreSQL that the benchmark starts.
import { join } from 'node:path';
import { freePort, post, startServer, until } from '../lib/processes.mjs';
import { installPeer, peerFolder, versionsOf } from './install.mjs';
import { findPostgres, postgresVersion, startPostgres } from './postgres.mjs';
import { frontCalls, INPUT, STEP_WORKLOADS } from './workloads.mjs';

export const dbos = {
  name: 'dbos',
  what: 'DBOS Transact for TypeScript in one process behind a bare HTTP server, on PostgreSQL',
  durability: 'PostgreSQL with fsync, synchronous_commit and full_page_writes on (asked with SHOW)',
  versions: () => [...versionsOf('dbos'), postgresVersion()],
  prepare() {
    findPostgres();
    installPeer('dbos', '12 MB');
  },
  async start(folder) {
    const postgres = await startPostgres(folder);
    const port = await freePort();
    const app = startServer(
      process.execPath,
      [
        join(peerFolder('dbos'), 'app.mjs'),
        String(port),
        `postgresql://bench@127.0.0.1:${postgres.port}/dbos`,
      ],
      { logFile: join(folder, 'app.log'), env: { NODE_ENV: 'production' } },
    );
    await until(app, 'a first run on DBOS', () => post(`http://127.0.0.1:${port}/steps3`, INPUT));
    const workloads = [...STEP_WORKLOADS, 'parallel', 'start', 'startCounter', 'signal'];
    return { calls: frontCalls(port, workloads), servers: [app, postgres.server] };
  },
};
