// What a run with three steps costs each part of an installation on Temporal, in processor time: the figures that the
// sizing table of docs/temporal.md is reckoned from. With --temporal the cluster is somebody else's and is not measured
// here; without it a dev server of this machine is, whose SQLite stands in for a database.
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

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const CONNECTIONS = [1, 16, 64];
const INPUT = { n: 7 };

export async function measureTemporal({ seconds, temporal }) {
  const folder = temporaryFolder('temporal');
  const parts = {};
  try {
    const address = temporal ?? `127.0.0.1:${await freePort()}`;
    if (temporal === undefined) parts.temporal = startDevServer(address, folder);
    const env = { PERDURE_ENGINE: 'temporal', TEMPORAL_ADDRESS: address };
    const logFile = (name) => join(folder, `${name}.log`);
    const port = await freePort();
    parts.api = startServer(process.execPath, [MAIN, 'serve', '--port', String(port)], {
      logFile: logFile('api'),
      env,
    });
    parts.worker = startServer(process.execPath, [MAIN, 'worker', WORKFLOWS, '--workers', '1'], {
      logFile: logFile('worker'),
      env,
    });
    const body = { workflowName: 'three', input: INPUT };
    await until(parts.api, 'a first run on Temporal', () =>
      post(`http://127.0.0.1:${port}/workflow/run`, body),
    );
    return report(
      await measure(
        parts,
        {
          port,
          path: '/workflow/run',
          body: JSON.stringify(body),
          expect: `"output":${JSON.stringify(INPUT)}`,
        },
        seconds,
      ),
    );
  } finally {
    for (const server of Object.values(parts).reverse()) await stopServer(server);
    removeFolder(folder);
  }
}

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

async function measure(parts, call, seconds) {
  const used = () =>
    Object.fromEntries(Object.entries(parts).map(([name, server]) => [name, processorMs([server])]));
  await load({ ...call, connections: 16, seconds: 0.1, warmUpSeconds: 3 });
  const samples = [];
  for (const connections of CONNECTIONS) {
    const before = used();
    const measured = await load({ ...call, connections, seconds, warmUpSeconds: 0.5 });
    const after = used();
    const processorMsPerRun = Object.fromEntries(
      Object.keys(parts).map((name) => [name, (after[name] - before[name]) / measured.answersWithWarmUp]),
    );
    samples.push({ connections, processorMsPerRun, ...measured });
  }
  return samples;
}

function report(samples) {
  const names = Object.keys(samples[0].processorMsPerRun);
  printTable(
    ['connections', 'runs/s', 'p50 ms', 'p99 ms', ...names.map((name) => `${name} cpu ms/run`)],
    samples.map((sample) => [
      sample.connections,
      number(sample.perSecond),
      number(sample.p50Ms, 1),
      number(sample.p99Ms, 1),
      ...names.map((name) => ratio(sample.processorMsPerRun[name])),
    ]),
  );
  const wrong = samples.reduce((sum, sample) => sum + sample.wrongAnswers, 0);
  return { samples, checks: [{ what: `${wrong} wrong answers`, met: wrong === 0 }] };
}
