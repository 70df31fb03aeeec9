// One run that has a hundred steps under way at once.
import { compare, comparisonTable, sideBySide, soundness } from '../lib/side-by-side.mjs';

const CONNECTIONS = [1, 32];

export const fanOut = {
  name: 'fan-out',
  title: 'A run of a hundred parallel steps',
  systems: ['perdure', 'restate', 'dbos', 'temporal', 'openworkflow'],
  minutes: 6,
  async measure({ systems, rounds, seconds, isQuick }) {
    const cells = (isQuick ? [1] : CONNECTIONS).map((connections) => ({
      cell: `${connections} connections`,
      labels: [connections],
      workload: 'parallel',
      connections,
    }));
    const measured = await sideBySide({ cells, systems, rounds, seconds, warmUp: 'steps3' });
    const rows = compare({ cells, systems, ...measured });
    const checks = soundness({ systems, ...measured });
    return {
      tables: [comparisonTable({ labels: ['connections'], rows, group: systems.length })],
      rows,
      notes: measured.limited,
      samples: measured.samples,
      checks,
      isUnsound: checks.some(({ met }) => !met),
    };
  },
};
