// What a run with three steps costs each part of an installation on Temporal, in processor time: the figures that the
// sizing table of docs/temporal.md is reckoned from. With --temporal the cluster is somebody else's and is not measured
// here; without it a dev server of this machine is, whose SQLite stands in for a database. Beside it the same workflow
// on Temporal's own SDK: the difference is the price of perdure there.
import { join } from 'node:path';
import {
  freePort,
  load,
  post,
  removeFolder,
  startServer,
  stopServer,
  temporaryFolder,
  until,
} from '../lib/processes.mjs';
import { median } from '../lib/statistics.mjs';
import { figure, number } from '../lib/table.mjs';
import { processorMs } from '../lib/usage.mjs';
import { MAIN, perdureCalls, WORKFLOWS } from '../systems/perdure.mjs';
import { startOwnSdk } from '../systems/temporal.mjs';
import { startTemporal } from '../systems/temporal-server.mjs';
import { frontCalls } from '../systems/workloads.mjs';

const CONNECTIONS = [1, 16, 64];
/** A cluster makes some thirty runs a second: in less, what Node takes to compile both programs would be measured. */
const LEAST_SECONDS = 10;

async function startOnTemporal(address, folder) {
  const port = await freePort();
  const env = { PERDURE_ENGINE: 'temporal', TEMPORAL_ADDRESS: address };
  const start = (args, name) =>
    startServer(process.execPath, [MAIN, ...args], { logFile: join(folder, `${name}.log`), env });
  const api = start(['serve', '--port', String(port)], 'api');
  const worker = start(['worker', WORKFLOWS, '--workers', '1'], 'worker');
  const call = perdureCalls(port).steps3;
  await until(api, 'a first run of perdure on Temporal', () =>
    post(`http://127.0.0.1:${port}${call.path}`, JSON.parse(call.body)),
  );
  return { call, api, worker };
}

async function startPeer(address, folder) {
  const { port, api, worker } = await startOwnSdk(address, folder);
  return { call: frontCalls(port, ['steps3']).steps3, api, worker };
}

async function measureParts(system, parts, call, { seconds, connections }) {
  const used = () =>
    Object.fromEntries(Object.entries(parts).map(([name, server]) => [name, processorMs([server])]));
  await load({ ...call, connections: 16, seconds: 0.1, warmUpSeconds: seconds });
  const samples = [];
  for (const count of connections) {
    const before = used();
    const measured = await load({
      ...call,
      connections: count,
      seconds,
      warmUpSeconds: 0.5,
      leastAnswers: count,
      mostSeconds: 4 * seconds,
    });
    const after = used();
    const cpu = Object.fromEntries(
      Object.keys(parts).map((name) => [name, (after[name] - before[name]) / measured.answersWithWarmUp]),
    );
    samples.push({ system, connections: count, cpu, ...measured });
  }
  return samples;
}

export const temporalEngine = {
  name: 'temporal-engine',
  title: "Three steps on the Temporal engine beside Temporal's own SDK: what each part costs",
  systems: ['temporal'],
  minutes: 6,
  async measure({ seconds: asked, rounds, temporal, isQuick }) {
    const connections = isQuick ? [16] : CONNECTIONS;
    const seconds = isQuick ? asked : Math.max(asked, LEAST_SECONDS);
    const samples = [];
    for (let round = 1; round <= rounds; round++) {
      const folder = temporaryFolder('temporal');
      const cluster = temporal === undefined ? await startTemporal(folder) : undefined;
      try {
        const address = temporal ?? cluster.address;
        for (const [system, start] of [
          ['perdure', startOnTemporal],
          ['own SDK', startPeer],
        ]) {
          const { call, ...parts } = await start(address, folder);
          try {
            const all = { ...parts, ...(cluster && { temporal: cluster.server }) };
            samples.push(...(await measureParts(system, all, call, { seconds, connections })));
          } finally {
            for (const server of Object.values(parts)) await stopServer(server);
          }
        }
      } finally {
        if (cluster) await stopServer(cluster.server);
        removeFolder(folder);
      }
    }
    return report(samples, connections);
  },
};

function report(samples, connections) {
  const names = Object.keys(samples[0].cpu);
  const of = (system, count) => samples.filter((s) => s.system === system && s.connections === count);
  const cpu = (system, count, name) => median(of(system, count).map((s) => s.cpu[name]));
  const shown = (system, count, key) => median(of(system, count).map((s) => s[key]));
  const wrong = samples.reduce((sum, sample) => sum + sample.wrongAnswers + sample.unanswered, 0);
  const table = {
    head: [
      'connections',
      'system',
      'runs/s',
      'p50 ms',
      'p99 ms',
      ...names.map((name) => `${name} cpu ms/run`),
    ],
    rows: connections.flatMap((count) =>
      ['perdure', 'own SDK'].map((system) => [
        count,
        system,
        number(shown(system, count, 'perSecond'), 1),
        figure(shown(system, count, 'p50Ms')),
        figure(shown(system, count, 'p99Ms')),
        ...names.map((name) => figure(cpu(system, count, name))),
      ]),
    ),
    group: 2,
  };
  const times = {
    head: ['connections', ...names.map((name) => `${name}: perdure ÷ own SDK`)],
    rows: connections.map((count) => [
      count,
      ...names.map((name) => figure(cpu('perdure', count, name) / cpu('own SDK', count, name))),
    ]),
  };
  const example = samples.find(({ firstWrongAnswer }) => firstWrongAnswer)?.firstWrongAnswer;
  return {
    tables: [table, { caption: 'As ratios', ...times }],
    samples,
    checks: [
      {
        what: `${wrong} wrong or missing answers${example ? `, the first:\n${example}` : ''}`,
        met: wrong === 0,
      },
    ],
    isUnsound: wrong > 0,
  };
}
