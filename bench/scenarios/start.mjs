// Starting runs without waiting for them, beside an echo that does nothing but the commit.
import { compare, comparisonTable, sideBySide, soundness } from '../lib/side-by-side.mjs';

const CONNECTIONS = [1, 32, 128];

export const start = {
  name: 'start',
  title: 'Starting a run, answered when it is on disk and not waited for',
  systems: ['perdure', 'bare-group', 'bare-single', 'restate', 'dbos', 'temporal', 'openworkflow'],
  minutes: 10,
  async measure({ systems, rounds, seconds, isQuick }) {
    const cells = (isQuick ? [32] : CONNECTIONS).map((connections) => ({
      cell: `${connections} connections`,
      labels: [connections],
      workload: 'start',
      connections,
    }));
    const measured = await sideBySide({ cells, systems, rounds, seconds });
    const rows = compare({ cells, systems, ...measured });
    const checks = soundness({ systems, ...measured });
    return {
      tables: [comparisonTable({ labels: ['connections'], what: 'starts', rows, group: systems.length })],
      rows,
      notes: measured.limited,
      samples: measured.samples,
      checks,
      isUnsound: checks.some(({ met }) => !met),
    };
  },
};
