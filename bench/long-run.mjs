// What one step costs in a long run beside a short one. History grows with every step, so a cost that grows with it
// shows here first.
import { performance } from 'node:perf_hooks';
import { freePort, post, removeFolder, stopServer, temporaryFolder } from './processes.mjs';
import { median, number, printTable, ratio } from './report.mjs';
import { startPerdure, untilWorkflowsRun } from './systems.mjs';

const SHORT_STEPS = 100;
const LONG_STEPS = 10_000;
const EXPECTED_RATIO = 2;

async function timeRun(baseUrl, steps) {
  const startedAt = performance.now();
  const result = await post(`${baseUrl}/workflow/run`, {
    workflowName: 'long',
    input: { steps },
    timeout: 280_000,
  });
  const elapsedMs = performance.now() - startedAt;
  if (result.status !== 'completed' || result.output?.steps !== steps) {
    throw new Error(`A run of ${steps} steps ended wrongly: ${JSON.stringify(result).slice(0, 1_000)}`);
  }
  return elapsedMs / steps;
}

export async function measureLongRun() {
  const folder = temporaryFolder('long-run');
  const started = await startPerdure({ folder, port: await freePort() });
  const short = [];
  const long = [];
  try {
    await untilWorkflowsRun(started);
    for (let i = 0; i < 30; i++) await timeRun(started.baseUrl, SHORT_STEPS);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 20; i++) short.push(await timeRun(started.baseUrl, SHORT_STEPS));
      long.push(await timeRun(started.baseUrl, LONG_STEPS));
    }
  } finally {
    await stopServer(started.server);
    removeFolder(folder);
  }

  const [shortStepMs, longStepMs] = [median(short), median(long)];
  const times = longStepMs / shortStepMs;
  printTable(
    ['steps in a row', 'runs', 'ms per step'],
    [
      [number(SHORT_STEPS), short.length, number(shortStepMs, 3)],
      [number(LONG_STEPS), long.length, number(longStepMs, 3)],
    ],
  );
  const checks = [
    {
      what: `a step in a run of ${number(LONG_STEPS)} costs ${ratio(times)} times one in a run of ${SHORT_STEPS}, at most ${EXPECTED_RATIO} expected`,
      met: times <= EXPECTED_RATIO,
    },
  ];
  return { shortStepMs, longStepMs, ratio: times, short, long, checks };
}
