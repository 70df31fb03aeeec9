// A hundred thousand timers that are due within ten seconds: how late the runs that wait for them go on and end.
import { Scene } from '../lib/scene.mjs';
import { latencies } from '../lib/statistics.mjs';
import { figure, number } from '../lib/table.mjs';

const COUNT = 100_000;
const WINDOW_MS = 10_000;
/** Started first to see how fast starts are here, which says when the others may be due. */
const TRIAL = 2_000;
const MARGIN_MS = 5_000;
const HOUR_MS = 3_600_000;

/** Run number i of `name` is due at `from` and i parts of the window later; the workflow reckons it in the same way. */
const dueAt = (from, everyMs, number) => Math.ceil(from + number * everyMs);

async function startDue(scene, { name, count, from, everyMs }) {
  const { perSecond } = await scene.load({
    path: '/workflow/start',
    body: JSON.stringify({
      workflowName: 'due',
      workflowId: `${name}-$i`,
      input: { from, everyMs, number: '$i' },
    }),
    expect: `"workflowId":"${name}-`,
    connections: 64,
    count,
  });
  return perSecond;
}

/** All runs of that name, from the run list. */
async function listed(scene, name) {
  const found = [];
  let cursor;
  do {
    const page = await scene.get(
      `/workflow/runs?workflowIdPrefix=${name}-&limit=1000${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
    );
    found.push(...page.runs);
    cursor = page.nextCursor;
  } while (cursor);
  return found;
}

export const timers = {
  name: 'timers',
  title: 'Wake-up lag of 100,000 timers that are due within ten seconds',
  systems: ['perdure'],
  minutes: 3,
  measure: ({ sized }) =>
    Scene.play('timers', async (scene) => {
      await scene.start();
      const count = sized(COUNT, 1_000);
      const everyMs = WINDOW_MS / count;
      const rate = await startDue(scene, {
        name: 'trial',
        count: Math.min(TRIAL, count),
        from: Date.now() + HOUR_MS,
        everyMs,
      });
      const from = Date.now() + Math.ceil((count / rate) * 1_500) + MARGIN_MS;
      const startsPerSecond = await startDue(scene, { name: 'due', count, from, everyMs });
      const aheadMs = from - Date.now();
      await scene.until(
        'every timer having fired',
        async () => {
          const open = await scene.get('/workflow/runs?workflowIdPrefix=due-&status=running&limit=1');
          return open.count === 0 && open.nextCursor === null;
        },
        aheadMs + WINDOW_MS + 300_000,
      );
      const lags = (await listed(scene, 'due')).map(
        ({ workflowId, completedAt }) =>
          new Date(completedAt).getTime() - dueAt(from, everyMs, Number(workflowId.slice('due-'.length))),
      );
      const early = lags.filter((lag) => lag < 0).length;
      const measured = latencies(lags);
      const checks = [
        { what: `${number(lags.length)} of ${number(count)} runs have ended`, met: lags.length === count },
        { what: `${early} of them went on before they were due`, met: early === 0 },
        { what: `all were started ${number(aheadMs)} ms before the first was due`, met: aheadMs > 0 },
      ];
      return {
        tables: [
          {
            head: ['timers', 'started/s', 'lag p50 ms', 'p99 ms', 'p99.9 ms', 'last ms'],
            rows: [
              [
                number(count),
                number(startsPerSecond),
                ...['p50Ms', 'p99Ms', 'p999Ms', 'maxMs'].map((key) => figure(measured[key])),
              ],
            ],
          },
        ],
        measured,
        checks,
        isUnsound: checks.some(({ met }) => !met),
      };
    }),
};
