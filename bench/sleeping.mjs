// What sleeping runs cost: the memory of the server process, and the time until it is ready again after a clean end and
// after kill -9.
import { execFileSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { freePort, load, post, removeFolder, stopServer, temporaryFolder, until } from './processes.mjs';
import { number, printTable } from './report.mjs';
import { startPerdure, untilWorkflowsRun } from './systems.mjs';

const EXPECTED_MEGABYTES = 300;
const EXPECTED_READY_MS = 5_000;
const MONTH_MS = 30 * 24 * 3_600_000;
/** Started, turn scheduled, turn started, turn completed, timer started: from here on the run sleeps. */
const EVENTS_OF_A_SLEEPING_RUN = 5;

const residentMegabytes = ({ pid }) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1_024;

async function startSleepers({ server, baseUrl }, count) {
  const started = await load({
    port: Number(new URL(baseUrl).port),
    path: '/workflow/start',
    body: JSON.stringify({ workflowName: 'sleeping', workflowId: 'sleeper-$i', input: { ms: MONTH_MS } }),
    expect: '"workflowId":"sleeper-',
    connections: 64,
    count,
  });
  if (started.wrongAnswers > 0) throw new Error(`A start was refused:\n${started.firstWrongAnswer}`);
  // A start is answered before the run's first turn; every hundredth run stands for its neighbours.
  for (let i = 100; i <= count; i += 100) {
    await until(server, `sleeper-${i} falling asleep`, async () => {
      const response = await fetch(`${baseUrl}/workflow/sleeper-${i}/status`);
      const { status, historyLength } = await response.json();
      return status === 'running' && historyLength >= EVENTS_OF_A_SLEEPING_RUN;
    });
  }
  return started.perSecond;
}

/** Starts the server on what is there, and checks that it serves runs and still knows the sleeping ones. */
async function restart(folder, count) {
  const startedAt = performance.now();
  const started = await startPerdure({ folder, port: await freePort() });
  const readyMs = performance.now() - startedAt;
  await untilWorkflowsRun(started);
  const firstRunMs = performance.now() - startedAt;
  const last = await (await fetch(`${started.baseUrl}/workflow/sleeper-${count}/status`)).json();
  if (last.status !== 'running') throw new Error(`sleeper-${count} did not survive: ${JSON.stringify(last)}`);
  return { ...started, readyMs, firstRunMs };
}

/** The timers of new runs fire beside all those that are not due. */
async function checkWaking({ baseUrl }) {
  const result = await post(`${baseUrl}/workflow/run`, { workflowName: 'sleeping', input: { ms: 10 } });
  if (result.status !== 'completed') throw new Error(`A short sleep did not end: ${JSON.stringify(result)}`);
}

export async function measureSleeping({ count }) {
  const folder = temporaryFolder('sleeping');
  const rows = [];
  let server;
  try {
    const first = await startPerdure({ folder, port: await freePort() });
    server = first.server;
    await untilWorkflowsRun(first);
    const startsPerSecond = await startSleepers(first, count);
    rows.push({ when: `after ${number(startsPerSecond)} starts/s`, megabytes: residentMegabytes(server) });
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      const stopMs = await stopServer(server, signal);
      const again = await restart(folder, count);
      server = again.server;
      await checkWaking(again);
      const { readyMs, firstRunMs } = again;
      rows.push({
        when: `after ${signal}`,
        stopMs,
        readyMs,
        firstRunMs,
        megabytes: residentMegabytes(server),
      });
    }
  } finally {
    if (server !== undefined) await stopServer(server);
    removeFolder(folder);
  }

  const optional = (value) => (value === undefined ? '–' : number(value));
  printTable(
    [`${number(count)} sleeping runs`, 'end ms', 'ready ms', 'first run ms', 'server MB'],
    rows.map((r) => [
      r.when,
      optional(r.stopMs),
      optional(r.readyMs),
      optional(r.firstRunMs),
      number(r.megabytes),
    ]),
  );
  const megabytes = Math.max(...rows.map((row) => row.megabytes));
  const readyMs = Math.max(...rows.map((row) => row.readyMs ?? 0));
  const checks = [
    {
      what: `the server stays at ${number(megabytes)} MB, under ${EXPECTED_MEGABYTES} expected`,
      met: megabytes < EXPECTED_MEGABYTES,
    },
    {
      what: `ready ${number(readyMs)} ms after a restart, within ${number(EXPECTED_READY_MS)} expected`,
      met: readyMs <= EXPECTED_READY_MS,
    },
  ];
  return { count, rows, checks };
}
