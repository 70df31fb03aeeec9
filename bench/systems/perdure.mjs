// perdure itself: `perdure serve` on an empty data folder with its own workers, default settings.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, post, startServer, until } from '../lib/processes.mjs';
import { Unavailable } from './unavailable.mjs';
import { INPUT, STEPS } from './workloads.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const MAIN = here('../../dist/cli/main.js');
export const WORKFLOWS = here('../workflows');

export async function startPerdure({ folder, port, flags = [], readyMs }) {
  const server = startServer(
    process.execPath,
    [
      MAIN,
      'serve',
      '--workflows',
      WORKFLOWS,
      '--port',
      String(port ?? (await freePort())),
      '--data',
      join(folder, 'data'),
      ...flags,
    ],
    { logFile: join(folder, 'server.log') },
  );
  const baseUrl = `http://127.0.0.1:${server.child.spawnargs[server.child.spawnargs.indexOf('--port') + 1]}`;
  await until(server, 'perdure answering /ready', async () => (await fetch(`${baseUrl}/ready`)).ok, readyMs);
  return { server, baseUrl, port: Number(new URL(baseUrl).port) };
}

/** The worker registers its workflows a moment after the server is ready; until then runs are refused. */
export async function untilWorkflowsRun({ server, baseUrl }) {
  await until(server, 'a first run on perdure', () =>
    post(`${baseUrl}/workflow/run`, { workflowName: 'zero', input: INPUT }),
  );
}

export function perdureCalls(port) {
  const call = (path, body, expect) => ({ port, path, body: JSON.stringify(body), expect });
  const run = (workflowName, input = INPUT) =>
    call('/workflow/run', { workflowName, input }, `"output":${JSON.stringify(INPUT)}`);
  const names = { 0: 'zero', 1: 'one', 3: 'three', 20: 'twenty' };
  return {
    ...Object.fromEntries(STEPS.map((steps) => [`steps${steps}`, run(names[steps])])),
    parallel: run('parallel'),
    start: call('/workflow/start', { workflowName: 'zero', input: INPUT }, '"runId":'),
    startCounter: call(
      '/workflow/start',
      { workflowName: 'counter', workflowId: 'counter-$i', input: null },
      '"workflowId":"counter-',
    ),
    signal: call('/workflow/counter-$r/signal/add', { payload: 1 }, '"workflowId":"counter-'),
    update: call('/workflow/counter-$r/update/addAndTell', { payload: 1 }, '"total":'),
    query: call('/workflow/counter-$r/query/total', {}, '"total":'),
  };
}

export function requireBuild() {
  if (!existsSync(MAIN)) throw new Unavailable('perdure is not built: run `npm run build` first');
}

export const perdure = {
  name: 'perdure',
  what: '`perdure serve` on an empty data folder, default settings',
  durability: 'SQLite WAL, synchronous=FULL, one commit for all that came together',
  prepare: requireBuild,
  async start(folder) {
    const started = await startPerdure({ folder });
    await untilWorkflowsRun(started);
    return { calls: perdureCalls(started.port), servers: [started.server] };
  },
};
