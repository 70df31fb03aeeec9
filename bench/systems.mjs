// What is measured side by side. Each system starts on an empty folder and free loopback ports, and answers where its
// two workloads are called and how a right answer reads. None of them may be tuned for this benchmark: what stands in
// the settings below is addresses, silence in the logs and no calls home.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, post, startServer, until } from './processes.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const INPUT = { n: 7 };

export async function startPerdure({ folder, port }) {
  const server = startServer(
    process.execPath,
    [
      here('../dist/cli/main.js'),
      'serve',
      '--workflows',
      here('workflows'),
      '--port',
      String(port),
      '--data',
      join(folder, 'data'),
    ],
    { logFile: join(folder, 'server.log') },
  );
  const baseUrl = `http://127.0.0.1:${port}`;
  await until(server, 'perdure answering /ready', async () => (await fetch(`${baseUrl}/ready`)).ok);
  return { server, baseUrl };
}

/** The worker registers its workflows a moment after the server is ready; until then runs are refused. */
export async function untilWorkflowsRun({ server, baseUrl }) {
  await until(server, 'a first run on perdure', () =>
    post(`${baseUrl}/workflow/run`, { workflowName: 'zero', input: INPUT }),
  );
}

const perdure = {
  name: 'perdure',
  async start(folder) {
    const port = await freePort();
    const started = await startPerdure({ folder, port });
    await untilWorkflowsRun(started);
    const call = (workflowName) => ({
      port,
      path: '/workflow/run',
      body: JSON.stringify({ workflowName, input: INPUT }),
      expect: `"output":${JSON.stringify(INPUT)}`,
    });
    return { calls: { 0: call('zero'), 3: call('three') }, servers: [started.server] };
  },
};

const bare = (mode) => ({
  name: `bare-${mode}`,
  async start(folder) {
    const port = await freePort();
    const server = startServer(
      process.execPath,
      [here('peers/bare/server.mjs'), String(port), join(folder, 'bare.db'), mode],
      { logFile: join(folder, 'server.log') },
    );
    await until(server, 'the bare echo answering', () => post(`http://127.0.0.1:${port}/echo`, INPUT));
    const call = { port, path: '/echo', body: JSON.stringify(INPUT), expect: JSON.stringify(INPUT) };
    return { calls: { 0: call, 3: call }, servers: [server] };
  },
});

const RESTATE_FOLDER = here('peers/restate/');

function installedVersion(name) {
  try {
    return JSON.parse(readFileSync(join(RESTATE_FOLDER, 'node_modules', name, 'package.json'), 'utf8'))
      .version;
  } catch {
    return undefined;
  }
}

function installRestate() {
  const { dependencies } = JSON.parse(readFileSync(join(RESTATE_FOLDER, 'package.json'), 'utf8'));
  if (Object.entries(dependencies).every(([name, version]) => installedVersion(name) === version)) return;
  console.log('Installing Restate into bench/peers/restate (once, about 220 MB) …');
  const npm = spawnSync('npm', ['ci'], { cwd: RESTATE_FOLDER, stdio: 'inherit' });
  if (npm.status !== 0) {
    throw new Error(
      'Restate could not be installed. Measure without it: npm run bench -- --only perdure,bare-group',
    );
  }
}

const restate = {
  name: 'restate',
  prepare: installRestate,
  async start(folder) {
    const [service, ingress, admin, node] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const serviceProcess = startServer(
      process.execPath,
      [join(RESTATE_FOLDER, 'service.mjs'), String(service)],
      {
        logFile: join(folder, 'service.log'),
        env: { NODE_ENV: 'production', RESTATE_LOGGING: 'ERROR' },
      },
    );
    const data = join(folder, 'data');
    mkdirSync(data);
    const server = startServer(
      createRequire(RESTATE_FOLDER).resolve(
        `@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`,
      ),
      [
        '--no-logo',
        '--listen-mode',
        'tcp',
        '--bind-ip',
        '127.0.0.1',
        '--bind-port',
        String(node),
        '--base-dir',
        data,
      ],
      {
        logFile: join(folder, 'server.log'),
        env: {
          RESTATE_NODE_NAME: 'bench',
          RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
          RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
          RESTATE_ADMIN__DISABLE_WEB_UI: 'true',
          RESTATE_DISABLE_TELEMETRY: 'true',
          RESTATE_LOG_FILTER: 'warn',
          DO_NOT_TRACK: '1',
        },
      },
    );
    await until(server, 'Restate accepting its deployment', () =>
      post(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${service}` }),
    );
    const call = (handler) => ({
      port: ingress,
      path: `/Bench/${handler}`,
      body: JSON.stringify(INPUT),
      expect: JSON.stringify(INPUT),
    });
    const calls = { 0: call('zero'), 3: call('three') };
    await until(server, 'a first run on Restate', () =>
      post(`http://127.0.0.1:${ingress}${calls[3].path}`, INPUT),
    );
    return { calls, servers: [server, serviceProcess] };
  },
};

export const SYSTEMS = [perdure, bare('group'), bare('single'), restate];
