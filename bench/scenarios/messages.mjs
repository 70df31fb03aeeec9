// Messages to runs that wait for them: a signal is answered when it is on disk, an update when its handler has answered, a
// query from the state of the run.
import { load } from '../lib/processes.mjs';
import { compare, comparisonTable, sideBySide, soundness } from '../lib/side-by-side.mjs';

/** Signals come last: those that are taken and not yet handled would be in the way of what waits for an answer. */
const MESSAGES = ['update', 'query', 'signal'];
const CONNECTIONS = [1, 32];
/** So many that no run comes near the number of messages that one may receive. */
const RUNS = 500;

async function startCounters(calls, { name }, count) {
  if (calls.startCounter === undefined) return;
  const started = await load({ ...calls.startCounter, connections: 16, count });
  if (started.wrongAnswers > 0) throw new Error(`${name} refused a start: ${started.firstWrongAnswer}`);
}

export const messages = {
  name: 'messages',
  title: 'Signal, update and query round trips',
  systems: ['perdure', 'restate', 'dbos', 'temporal'],
  minutes: 8,
  async measure({ systems, rounds, seconds, isQuick, sized }) {
    const count = sized(RUNS, 50);
    const cells = MESSAGES.flatMap((message) =>
      (isQuick ? [1] : CONNECTIONS).map((connections) => ({
        cell: `${message}, ${connections} connections`,
        labels: [message, connections],
        workload: message,
        connections,
        spread: count,
      })),
    );
    const measured = await sideBySide({
      cells,
      systems,
      rounds,
      seconds,
      before: (calls, system) => startCounters(calls, system, count),
      warmUp: 'steps3',
    });
    const rows = compare({ cells, systems, ...measured });
    const checks = soundness({ systems, ...measured });
    return {
      tables: MESSAGES.map((message) => ({
        caption: `${message === 'update' ? 'An' : 'A'} ${message}`,
        ...comparisonTable({
          labels: ['message', 'connections'],
          what: 'messages',
          rows: rows.filter(({ labels }) => labels[0] === message),
          group: systems.length,
        }),
      })).filter(({ rows: shown }) => shown.length > 0),
      rows,
      notes: measured.limited,
      samples: measured.samples,
      checks,
      isUnsound: checks.some(({ met }) => !met),
    };
  },
};
