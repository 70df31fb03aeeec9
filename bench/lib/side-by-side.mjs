// The same calls to several systems. They take turns, each alone on the machine and on a fresh folder, round after round,
// so that whatever else the machine does hits all of them alike; the median of the rounds counts.
import { limitedByGenerator, measureGenerator } from './generator-limit.mjs';
import { load, removeFolder, runningServers, stopServer, temporaryFolder } from './processes.mjs';
import { median, ratios, spread } from './statistics.mjs';
import { leastDisturbed, MUCH_STOLEN } from './stolen.mjs';
import { figure, number, percent, ratioText } from './table.mjs';
import { processorMs } from './usage.mjs';

/** A slow system is measured for longer, up to so many times, until each connection has had an answer. */
const PATIENCE = 4;
/** How often one cell is measured where the host takes the machine away meanwhile. A single round is a look, and no result. */
const triesOf = (rounds) => (rounds > 1 ? 4 : 1);
/** Of the length of one measurement: by then the compiler has done its work. */
const WARM_UP = 2;

/**
 * `cells`: [{ cell: 'a name', labels: [...], workload, connections, spread? }], those of one workload with rising numbers
 * of connections. `before` gets the calls of a system that has just started and puts there what the cells need.
 */
export async function sideBySide({ cells, systems, rounds, seconds, before, warmUp = cells[0].workload }) {
  const mostPerSecond = await measureGenerator(Math.min(seconds, 2));
  console.log(`the load generator can send ${number(mostPerSecond)} requests a second here`);
  const samples = [];
  const broken = [];
  for (let round = 1; round <= rounds; round++) {
    for (const system of systems) {
      process.stdout.write(`round ${round} of ${rounds}: ${system.name} …`);
      try {
        samples.push(
          ...(await measureSystem({ system, round, cells, seconds, before, warmUp, tries: triesOf(rounds) })),
        );
      } catch (error) {
        // The others are worth measuring without it.
        broken.push(
          `${system.name} broke off in round ${round}: ${error.message}\n${error.cause ?? ''}`.trim(),
        );
        process.stdout.write(' broke off');
      }
      process.stdout.write('\n');
    }
  }
  const { sound, overloaded } = withoutOverloaded(samples);
  const limited = [...limitedByGenerator(sound, mostPerSecond), ...disturbed(sound), ...overloaded];
  return { samples: sound, broken, mostPerSecond, limited };
}

/**
 * A peer that leaves calls of a cell without any answer is past its limit there: the cell is left out by name, as one that it
 * is too slow for, and the others stand. Of perdure it stays in, and makes the scenario fail.
 */
export function withoutOverloaded(samples) {
  const missing = new Map();
  for (const { system, cell, unanswered } of samples) {
    if (unanswered === 0 || system === 'perdure') continue;
    const name = `${system}: ${cell}`;
    missing.set(name, (missing.get(name) ?? 0) + unanswered);
  }
  return {
    // A wrong answer is not excused by that.
    sound: samples.filter(
      ({ system, cell, wrongAnswers }) => wrongAnswers > 0 || !missing.has(`${system}: ${cell}`),
    ),
    overloaded: [...missing].map(
      ([name, count]) => `left out, since ${number(count)} calls had no answer after a minute more: ${name}`,
    ),
  };
}

async function measureSystem({ system, round, cells, seconds, before, warmUp, tries }) {
  const folder = temporaryFolder(system.name);
  const samples = [];
  const others = runningServers();
  let servers = [];
  try {
    const started = await system.start(folder);
    servers = started.servers;
    const { calls } = started;
    await before?.(calls, system);
    // A process that has just started is still being compiled; the first measurement must not pay for that.
    if (calls[warmUp]) {
      await load({
        ...calls[warmUp],
        connections: 32,
        seconds: 0.1,
        warmUpSeconds: WARM_UP * seconds,
      });
    }
    for (const { cell, workload, connections, spread: over } of cells) {
      const call = calls[workload];
      if (call === undefined) continue;
      if (!canAnswerAll(samples, workload, connections, seconds)) {
        process.stdout.write(' (too slow)');
        continue;
      }
      const measured = await leastDisturbed(async () => {
        const usedBefore = processorMs(servers);
        const loaded = await load({
          ...call,
          connections,
          spread: over,
          seconds,
          warmUpSeconds: 0.5,
          leastAnswers: connections,
          mostSeconds: PATIENCE * seconds,
        });
        const processorMsPerRun = (processorMs(servers) - usedBefore) / loaded.answersWithWarmUp;
        return { ...loaded, processorMsPerRun };
      }, tries);
      samples.push({ system: system.name, round, cell, workload, connections, ...measured });
      process.stdout.write(` ${number(measured.perSecond)}/s`);
    }
    return samples;
  } finally {
    for (const server of servers) await stopServer(server);
    // One that did not come up as a whole has not told what it had started by then.
    for (const server of runningServers(others)) await stopServer(server);
    removeFolder(folder);
  }
}

/** Names what was measured while others had much of the machine, however often it was tried. */
function disturbed(samples) {
  const much = samples.filter(({ stolen }) => stolen > MUCH_STOLEN);
  if (much.length === 0) return [];
  const most = Math.max(...much.map(({ stolen }) => stolen));
  return [
    `${much.length} of ${samples.length} measurements were made while the host took more than ${percent(MUCH_STOLEN)} of the processors, up to ${percent(most)}`,
  ];
}

/**
 * Once a system is saturated, its calls take longer in proportion to the connections. Where each of them would not get an
 * answer within the longest measurement, there is nothing to measure.
 */
function canAnswerAll(samples, workload, connections, seconds) {
  const last = samples.findLast((sample) => sample.workload === workload);
  if (last === undefined || last.connections === 1) return true;
  return last.p50Ms * (connections / last.connections) <= PATIENCE * 1_000 * seconds;
}

const SHOWN = ['perSecond', 'p50Ms', 'p99Ms', 'p999Ms', 'processorMsPerRun'];

/** One row for each cell and system: medians, how far the rounds lie apart, and how perdure compares. */
export function compare({ cells, systems, samples }) {
  return cells.flatMap(({ cell, labels }) =>
    systems.flatMap(({ name }) => {
      const of = samples.filter((sample) => sample.cell === cell && sample.system === name);
      if (of.length === 0) return [];
      const perRound = (system) =>
        new Map(
          samples
            .filter((sample) => sample.cell === cell && sample.system === system)
            .map(({ round, perSecond }) => [round, perSecond]),
        );
      return [
        {
          cell,
          labels,
          system: name,
          ...Object.fromEntries(SHOWN.map((key) => [key, median(of.map((sample) => sample[key]))])),
          spread: spread(of.map(({ perSecond }) => perSecond)),
          perdureTimes: ratios(perRound('perdure'), perRound(name)),
        },
      ];
    }),
  );
}

export function comparisonTable({ labels, what = 'runs', rows, group }) {
  return {
    head: [
      ...labels,
      'system',
      `${what}/s`,
      'spread',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'cpu ms each',
      'perdure is × as fast',
    ],
    rows: rows.map((row) => [
      ...row.labels,
      row.system,
      number(row.perSecond, row.perSecond < 100 ? 1 : 0),
      percent(row.spread),
      figure(row.p50Ms),
      figure(row.p99Ms),
      figure(row.p999Ms),
      figure(row.processorMsPerRun),
      row.system === 'perdure' ? '' : ratioText(row.perdureTimes),
    ]),
    group,
  };
}

/** That every answer was right, that none was missing, and that nothing broke off. */
export function soundness({ systems, samples, broken }) {
  const checks = systems.map(({ name }) => {
    const of = samples.filter(({ system }) => system === name);
    const wrong = of.reduce((sum, { wrongAnswers }) => sum + wrongAnswers, 0);
    const missing = of.reduce((sum, { unanswered }) => sum + unanswered, 0);
    const example = of.find(({ firstWrongAnswer }) => firstWrongAnswer)?.firstWrongAnswer;
    return {
      what: `${name}: ${wrong} wrong answers, ${missing} calls without one${example ? `, the first:\n${example}` : ''}`,
      met: wrong === 0 && missing === 0,
    };
  });
  return [...checks, ...broken.map((what) => ({ what, met: false }))];
}
