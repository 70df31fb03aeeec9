// The floor: an HTTP echo that puts one row on disk before it answers. It has no steps; it is asked the same for all
// numbers of them, and the difference between those rows is the noise of the machine.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, post, startServer, until } from '../lib/processes.mjs';
import { INPUT, STEP_WORKLOADS } from './workloads.mjs';

const SERVER = fileURLToPath(new URL('../peers/bare/server.mjs', import.meta.url));

const bare = (mode, durability) => ({
  name: `bare-${mode}`,
  what: 'a Fastify echo that writes each body to SQLite before it answers; nothing else',
  durability,
  async start(folder) {
    const port = await freePort();
    const server = startServer(process.execPath, [SERVER, String(port), join(folder, 'bare.db'), mode], {
      logFile: join(folder, 'server.log'),
    });
    await until(server, 'the bare echo answering', () => post(`http://127.0.0.1:${port}/echo`, INPUT));
    const call = { port, path: '/echo', body: JSON.stringify(INPUT), expect: JSON.stringify(INPUT) };
    const calls = Object.fromEntries([...STEP_WORKLOADS, 'start'].map((workload) => [workload, call]));
    return { calls, servers: [server] };
  },
});

export const bareGroup = bare(
  'group',
  'SQLite WAL, synchronous=FULL (read back), one commit for all that came together',
);
export const bareSingle = bare(
  'single',
  'SQLite WAL, synchronous=FULL (read back), one commit for each request',
);
