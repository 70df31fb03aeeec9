// The run list on a million runs, with each of its filters.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runLoad } from '../lib/processes.mjs';
import { Scene } from '../lib/scene.mjs';
import { figure, number } from '../lib/table.mjs';

const BULK = fileURLToPath(new URL('../load/bulk-runs.mjs', import.meta.url));
const COUNT = 1_000_000;
const EXPECTED_MS = 100;

const queriesOf = (count, halfwayAt) => {
  const halfway = encodeURIComponent(new Date(halfwayAt).toISOString());
  return [
    ['the newest', ''],
    ['a type of nine runs in ten', 'workflowType=order'],
    ['a type of one run in ten', 'workflowType=invoice'],
    ['a type of one run in 10,000', 'workflowType=rare'],
    ['a catalog of one run in a hundred', 'catalog=other'],
    ['completed', 'status=completed'],
    ['failed: one run in a hundred', 'status=failed'],
    ['running: one run in a thousand', 'status=running'],
    ['one id', `workflowId=order-${count - 1}`],
    ['an id that is not there', 'workflowId=nobody'],
    ['a prefix of ids', 'workflowIdPrefix=invoice-'],
    ['a prefix that no id has', 'workflowIdPrefix=nobody-'],
    ['started in the second half', `startedAfter=${halfway}`],
    ['started in the first half', `startedBefore=${halfway}`],
    ['held back: ten runs', 'heldBack=true'],
    [
      'failed, of a type and started in the first half',
      `status=failed&workflowType=order&startedBefore=${halfway}`,
    ],
  ];
};

/** The cursor that leads on after half of all runs, walked to as a reader would. */
async function middleCursor(scene, count) {
  let cursor;
  for (let seen = 0; seen < count / 2; ) {
    const page = await scene.get(`/workflow/runs?limit=1000${cursor ? `&cursor=${cursor}` : ''}`);
    seen += page.count;
    cursor = encodeURIComponent(page.nextCursor);
  }
  return cursor;
}

export const runList = {
  name: 'run-list',
  title: 'A page of a hundred of the run list, on a million runs, with each filter',
  systems: ['perdure'],
  minutes: 6,
  measure: ({ seconds, sized }) =>
    Scene.play('run-list', async (scene) => {
      const count = sized(COUNT, 2_000);
      const bulk = await runLoad(BULK, { dataDir: join(scene.folder, 'data'), count });
      process.stdout.write(`${number(count)} runs made in ${number(bulk.seconds)} s\n`);
      await scene.start();
      const queries = [
        ...queriesOf(count, bulk.halfwayAt),
        ['from the middle on', `cursor=${await middleCursor(scene, count)}`],
      ];
      const samples = [];
      for (const [what, query] of queries) {
        const path = `/workflow/runs${query ? `?${query}` : ''}`;
        const { count: found, nextCursor } = await scene.get(path);
        const measured = await scene.load({
          method: 'GET',
          path,
          expect: `"count":${found}`,
          connections: 1,
          seconds: seconds / 2,
          warmUpSeconds: 0.25,
        });
        samples.push({ what, query, found, goesOn: nextCursor !== null, ...measured });
      }
      const slowest = samples.reduce((a, b) => (a.p50Ms > b.p50Ms ? a : b));
      return {
        tables: [
          {
            head: ['asked for', 'found on the page', 'more', 'pages/s', 'p50 ms', 'p99 ms', 'p99.9 ms'],
            rows: samples.map((s) => [
              s.what,
              number(s.found),
              s.goesOn ? 'yes' : 'no',
              number(s.perSecond),
              figure(s.p50Ms),
              figure(s.p99Ms),
              figure(s.p999Ms),
            ]),
          },
        ],
        notes: [
          `${number(count)} runs, made by the embedded engine itself with a worker in its process (load/bulk-runs.mjs).`,
          'A page looks through 200,000 runs at most; one that found less than it may hold then has a cursor to go on from.',
        ],
        samples,
        checks: [
          {
            what: `the slowest page, "${slowest.what}", takes ${figure(slowest.p50Ms)} ms, at most ${EXPECTED_MS} expected`,
            met: slowest.p50Ms <= EXPECTED_MS,
          },
        ],
      };
    }),
};
