// Synchronous runs per second, side by side. The systems take turns, each alone on the machine and on a fresh folder,
// round after round, so that whatever else the machine does hits all of them alike; the median of the rounds counts.
import { load, processorMs, removeFolder, stopServer, temporaryFolder } from './processes.mjs';
import { median, number, printTable, ratio } from './report.mjs';

const STEPS = [0, 3];
const CONNECTIONS = [1, 32, 128];
const EXPECTED_TIMES_RESTATE = 4;

export async function measureThroughput({ systems, rounds, seconds }) {
  for (const system of systems) system.prepare?.();
  const samples = [];
  for (let round = 1; round <= rounds; round++) {
    for (const system of systems) {
      process.stdout.write(`round ${round} of ${rounds}: ${system.name} …`);
      const folder = temporaryFolder(system.name);
      const { calls, servers } = await system.start(folder);
      try {
        // A process that has just started is still being compiled; the first measurement must not pay for that.
        await load({ ...calls[3], connections: 32, seconds: 0.1, warmUpSeconds: Math.min(3, seconds) });
        for (const steps of STEPS) {
          for (const connections of CONNECTIONS) {
            const usedBefore = processorMs(servers);
            const measured = await load({ ...calls[steps], connections, seconds, warmUpSeconds: 0.5 });
            const processorMsPerRun = (processorMs(servers) - usedBefore) / measured.answersWithWarmUp;
            samples.push({ system: system.name, round, steps, connections, processorMsPerRun, ...measured });
            process.stdout.write(` ${number(measured.perSecond)}/s`);
          }
        }
      } finally {
        for (const server of servers) await stopServer(server);
        removeFolder(folder);
      }
      process.stdout.write('\n');
    }
  }
  return report(samples, systems);
}

function report(samples, systems) {
  const cells = [];
  for (const steps of STEPS) {
    for (const connections of CONNECTIONS) {
      for (const { name } of systems) {
        const of = samples.filter(
          (s) => s.system === name && s.steps === steps && s.connections === connections,
        );
        cells.push({
          system: name,
          steps,
          connections,
          perSecond: median(of.map((s) => s.perSecond)),
          p50Ms: median(of.map((s) => s.p50Ms)),
          p99Ms: median(of.map((s) => s.p99Ms)),
          processorMsPerRun: median(of.map((s) => s.processorMsPerRun)),
        });
      }
    }
  }
  const find = (system, { steps, connections }) =>
    cells.find((cell) => cell.system === system && cell.steps === steps && cell.connections === connections);
  const times = (cell, system) => cell.perSecond / (find(system, cell)?.perSecond ?? Number.NaN);
  for (const cell of cells) {
    cell.timesRestate = times(cell, 'restate');
    cell.timesBareGroup = times(cell, 'bare-group');
    cell.timesBareSingle = times(cell, 'bare-single');
  }

  printTable(
    [
      'steps',
      'connections',
      'system',
      'runs/s',
      'p50 ms',
      'p99 ms',
      'cpu ms/run',
      '× restate',
      '× bare-group',
      '× bare-single',
    ],
    cells.map((cell) => [
      cell.steps,
      cell.connections,
      cell.system,
      number(cell.perSecond),
      number(cell.p50Ms, 2),
      number(cell.p99Ms, 2),
      ratio(cell.processorMsPerRun),
      ratio(cell.timesRestate),
      ratio(cell.timesBareGroup),
      ratio(cell.timesBareSingle),
    ]),
    systems.length,
  );

  const checks = systems.map(({ name }) => {
    const wrong = samples.filter((sample) => sample.system === name && sample.wrongAnswers > 0);
    const count = wrong.reduce((sum, sample) => sum + sample.wrongAnswers, 0);
    const example = wrong.length > 0 ? `, the first:\n${wrong[0].firstWrongAnswer}` : '';
    return { what: `${name}: ${count} wrong answers${example}`, met: count === 0 };
  });
  const goal = find('perdure', { steps: 3, connections: 128 });
  if (goal !== undefined && Number.isFinite(goal.timesRestate)) {
    checks.push({
      what: `3 steps at 128 connections: ${ratio(goal.timesRestate)} times the runs of Restate, at least ${EXPECTED_TIMES_RESTATE} expected`,
      met: goal.timesRestate >= EXPECTED_TIMES_RESTATE,
    });
  }
  return { cells, samples, checks };
}
