// Synchronous runs: how many a second, how long one takes, what one costs, with 0, 1, 3 and 20 steps.
import { compare, comparisonTable, sideBySide, soundness } from '../lib/side-by-side.mjs';
import { figure } from '../lib/table.mjs';
import { STEPS } from '../systems/workloads.mjs';

const CONNECTIONS = [1, 32, 128, 512];
const QUICK = { steps: [0, 3], connections: [1, 32] };
/** What the project holds itself to, at 3 steps and 128 connections. */
const EXPECTED_TIMES_RESTATE = 4;

export const sync = {
  name: 'sync',
  title: 'Synchronous runs with 0, 1, 3 and 20 steps, at 1, 32, 128 and 512 connections',
  systems: ['perdure', 'bare-group', 'bare-single', 'restate', 'dbos', 'temporal', 'openworkflow'],
  minutes: 35,
  async measure({ systems, rounds, seconds, isQuick }) {
    const cells = (isQuick ? QUICK.steps : STEPS).flatMap((steps) =>
      (isQuick ? QUICK.connections : CONNECTIONS).map((connections) => ({
        cell: `${steps} steps, ${connections} connections`,
        labels: [steps, connections],
        workload: `steps${steps}`,
        connections,
      })),
    );
    const measured = await sideBySide({ cells, systems, rounds, seconds, warmUp: 'steps3' });
    const rows = compare({ cells, systems, ...measured });
    const goal = rows.find((row) => row.system === 'restate' && row.cell === '3 steps, 128 connections');
    const checks = soundness({ systems, ...measured });
    const isUnsound = checks.some(({ met }) => !met);
    if (goal !== undefined) {
      const times = goal.perdureTimes.median;
      checks.push({
        what: `3 steps at 128 connections: ${figure(times)} times the runs of Restate, at least ${EXPECTED_TIMES_RESTATE} expected`,
        met: times >= EXPECTED_TIMES_RESTATE,
      });
    }
    return {
      tables: STEPS.filter((steps) => rows.some((row) => row.labels[0] === steps)).map((steps) => ({
        caption: steps === 1 ? 'One step' : `${steps === 0 ? 'No' : steps} steps`,
        ...comparisonTable({
          labels: ['steps', 'connections'],
          rows: rows.filter((row) => row.labels[0] === steps),
          group: systems.length,
        }),
      })),
      rows,
      notes: measured.limited,
      samples: measured.samples,
      mostPerSecond: measured.mostPerSecond,
      checks,
      isUnsound,
    };
  },
};
