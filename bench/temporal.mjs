// What a run with three steps costs each part of an installation on Temporal, in processor time: the figures that the
// sizing table of docs/temporal.md is reckoned from. With --temporal the cluster is somebody else's and is not measured
// here; without it a dev server of this machine is, whose SQLite stands in for a database. Beside it the same workflow
// on Temporal's own SDK: the difference is the price of perdure there.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INSTALLED_BINARY } from '../scripts/temporal-install.mjs';
import {
  freePort,
  load,
  post,
  processorMs,
  removeFolder,
  startServer,
  stopServer,
  temporaryFolder,
  until,
} from './processes.mjs';
import { number, printTable, ratio } from './report.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const MAIN = here('../dist/cli/main.js');
const WORKFLOWS = here('workflows');
const PEER = { api: here('peers/temporal/api.mjs'), worker: here('peers/temporal/worker.mjs') };
const PEER_QUEUE = 'bench-peer';
const CONNECTIONS = [1, 16, 64];
const BODY = { workflowName: 'three', input: { n: 7 } };

export async function measureTemporal({ seconds, temporal }) {
  const folder = temporaryFolder('temporal');
  const address = temporal ?? `127.0.0.1:${await freePort()}`;
  const cluster = temporal === undefined ? { temporal: startDevServer(address, folder) } : {};
  const samples = [];
  try {
    for (const [system, start] of Object.entries({ perdure: startPerdure, 'own SDK': startPeer })) {
      const { url, ...parts } = start(address, await freePort(), folder);
      try {
        await until(parts.api, `a first run of ${system} on Temporal`, () => post(url, BODY));
        samples.push(...(await measure(system, { ...cluster, ...parts }, url, seconds)));
      } finally {
        for (const server of Object.values(parts)) await stopServer(server);
      }
    }
    return report(samples);
  } finally {
    for (const server of Object.values(cluster)) await stopServer(server);
    removeFolder(folder);
  }
}

function startPerdure(address, port, folder) {
  const env = { PERDURE_ENGINE: 'temporal', TEMPORAL_ADDRESS: address };
  return {
    url: `http://127.0.0.1:${port}/workflow/run`,
    api: startNode([MAIN, 'serve', '--port', String(port)], join(folder, 'api.log'), env),
    worker: startNode([MAIN, 'worker', WORKFLOWS, '--workers', '1'], join(folder, 'worker.log'), env),
  };
}

/** The same without perdure: Temporal's own worker, and its own client behind a bare HTTP server. */
function startPeer(address, port, folder) {
  return {
    url: `http://127.0.0.1:${port}/`,
    api: startNode([PEER.api, address, PEER_QUEUE, String(port)], join(folder, 'peer-api.log')),
    worker: startNode([PEER.worker, address, PEER_QUEUE], join(folder, 'peer-worker.log')),
  };
}

const startNode = (args, logFile, env) => startServer(process.execPath, args, { logFile, env });

function startDevServer(address, folder) {
  const binary = process.env.PERDURE_TEMPORAL_CLI || INSTALLED_BINARY;
  if (!existsSync(binary)) throw new Error('there is no Temporal server: npm run temporal:install gets one');
  const [ip, port] = address.split(':');
  return startServer(
    binary,
    [
      'server',
      'start-dev',
      '--headless',
      '--ip',
      ip,
      '--port',
      port,
      '--db-filename',
      join(folder, 'temporal.db'),
      '--log-level',
      'error',
      '--sqlite-pragma',
      'journal_mode=WAL',
      '--sqlite-pragma',
      'synchronous=FULL',
    ],
    { logFile: join(folder, 'temporal.log') },
  );
}

async function measure(system, parts, url, seconds) {
  const used = () =>
    Object.fromEntries(Object.entries(parts).map(([name, server]) => [name, processorMs([server])]));
  const { port, pathname } = new URL(url);
  const expect = `"output":${JSON.stringify(BODY.input)}`;
  const call = { port: Number(port), path: pathname, body: JSON.stringify(BODY), expect };
  await load({ ...call, connections: 16, seconds: 0.1, warmUpSeconds: 3 });
  const samples = [];
  for (const connections of CONNECTIONS) {
    const before = used();
    const measured = await load({ ...call, connections, seconds, warmUpSeconds: 0.5 });
    const after = used();
    const processorMsPerRun = Object.fromEntries(
      Object.keys(parts).map((name) => [name, (after[name] - before[name]) / measured.answersWithWarmUp]),
    );
    samples.push({ system, connections, processorMsPerRun, ...measured });
  }
  return samples;
}

function report(samples) {
  const names = Object.keys(samples[0].processorMsPerRun);
  printTable(
    ['system', 'connections', 'runs/s', 'p50 ms', 'p99 ms', ...names.map((name) => `${name} cpu ms/run`)],
    samples.map((sample) => [
      sample.system,
      sample.connections,
      number(sample.perSecond, 1),
      number(sample.p50Ms, 1),
      number(sample.p99Ms, 1),
      ...names.map((name) => ratio(sample.processorMsPerRun[name])),
    ]),
    CONNECTIONS.length,
  );
  const wrong = samples.reduce((sum, sample) => sum + sample.wrongAnswers, 0);
  return { samples, checks: [{ what: `${wrong} wrong answers`, met: wrong === 0 }] };
}
