// What writing a trace of every run costs the runs.
import { compare, sideBySide, soundness } from '../lib/side-by-side.mjs';
import { figure, number, percent, ratioText } from '../lib/table.mjs';
import { perdureCalls, startPerdure, untilWorkflowsRun } from '../systems/perdure.mjs';

const CONNECTIONS = [1, 128];
const MODES = ['on-demand', 'failed', 'all'];

const withTraces = (mode) => ({
  name: mode === 'on-demand' ? 'perdure' : `traces ${mode}`,
  mode,
  async start(folder) {
    const started = await startPerdure({ folder, flags: ['--traces', mode] });
    await untilWorkflowsRun(started);
    return { calls: perdureCalls(started.port), servers: [started.server] };
  },
});

export const traces = {
  name: 'traces',
  title:
    'The cost of traces: synchronous runs of three steps with traces on demand (the default), of failed and of all runs',
  systems: ['perdure'],
  minutes: 3,
  async measure({ rounds, seconds, isQuick }) {
    const systems = MODES.map(withTraces);
    const cells = (isQuick ? [32] : CONNECTIONS).map((connections) => ({
      cell: `${connections} connections`,
      labels: [connections],
      workload: 'steps3',
      connections,
    }));
    const measured = await sideBySide({ cells, systems, rounds, seconds });
    const rows = compare({ cells, systems, ...measured });
    const checks = soundness({ systems, ...measured });
    return {
      tables: [
        {
          head: [
            'connections',
            'traces',
            'runs/s',
            'spread',
            'p50 ms',
            'p99 ms',
            'p99.9 ms',
            'cpu ms each',
            'default is × as fast',
          ],
          rows: rows.map((row) => [
            ...row.labels,
            systems.find(({ name }) => name === row.system).mode,
            number(row.perSecond),
            percent(row.spread),
            figure(row.p50Ms),
            figure(row.p99Ms),
            figure(row.p999Ms),
            figure(row.processorMsPerRun),
            row.system === 'perdure' ? '' : ratioText(row.perdureTimes),
          ]),
          group: systems.length,
        },
      ],
      samples: measured.samples,
      notes: measured.limited,
      checks,
      isUnsound: checks.some(({ met }) => !met),
    };
  },
};
