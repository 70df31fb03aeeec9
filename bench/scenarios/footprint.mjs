// What an open and a closed run cost in memory of the server and on disk.
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Scene } from '../lib/scene.mjs';
import { startSleepers } from '../lib/sleepers.mjs';
import { figure, number } from '../lib/table.mjs';
import { diskBytes, residentBytes } from '../lib/usage.mjs';

const COUNT = 100_000;
const EXPECTED_MEGABYTES = 300;
/** A server that nobody calls has given back by then what it does not need. */
const REST_MS = 60_000;
const EXPECTED_AT_REST_MEGABYTES = 20;

const KINDS = [
  { kind: 'open, waiting for a timer', make: startSleepers },
  {
    kind: 'closed, three steps',
    make: (scene, count) =>
      scene.load({
        path: '/workflow/run',
        body: JSON.stringify({ workflowName: 'three', input: { n: '$i' } }),
        expect: '"status":"completed"',
        connections: 64,
        count,
      }),
  },
];

/** The folder when nobody has it: the write-ahead log is in the database then. */
async function bytesAtRest(scene) {
  await scene.stop();
  return diskBytes(join(scene.folder, 'data'));
}

async function measureKind({ kind, make }, count) {
  return Scene.play('footprint', async (scene) => {
    await scene.start();
    const emptyOnDisk = await bytesAtRest(scene);
    await scene.start();
    const before = residentBytes(scene.server);
    await make(scene, count);
    const after = residentBytes(scene.server);
    await setTimeout(REST_MS);
    const atRest = residentBytes(scene.server);
    const onDisk = await bytesAtRest(scene);
    await scene.start();
    const restarted = residentBytes(scene.server);
    return { kind, count, before, after, atRest, restarted, onDisk: onDisk - emptyOnDisk };
  });
}

export const footprint = {
  name: 'footprint',
  title: 'Memory and disk of 100,000 open and of 100,000 closed runs',
  systems: ['perdure'],
  minutes: 3,
  async measure({ sized }) {
    const count = sized(COUNT, 200);
    const samples = [];
    for (const kind of KINDS) samples.push(await measureKind(kind, count));
    const most = Math.max(...samples.map(({ after }) => after)) / 2 ** 20;
    const kept = Math.max(...samples.map(({ before, atRest }) => atRest - before)) / 2 ** 20;
    const megabytes = (bytes) => number(bytes / 2 ** 20);
    return {
      tables: [
        {
          head: [
            'runs',
            'kind',
            'server before MB',
            'after MB',
            'at rest MB',
            'after a restart MB',
            'disk bytes a run',
          ],
          rows: samples.map(({ kind, before, after, atRest, restarted, onDisk }) => [
            number(count),
            kind,
            megabytes(before),
            megabytes(after),
            megabytes(atRest),
            megabytes(restarted),
            number(onDisk / count),
          ]),
        },
      ],
      samples,
      notes: [
        'Memory grows with what the server keeps of recent runs and of garbage, up to a bound, and not with the runs that there are. At rest, a minute later, it has given back the garbage, and after a restart nothing is left.',
      ],
      checks: [
        {
          what: `the server stays at ${figure(most)} MB, under ${EXPECTED_MEGABYTES} expected`,
          met: most < EXPECTED_MEGABYTES,
        },
        {
          what: `at rest it has kept ${figure(kept)} MB, at most ${EXPECTED_AT_REST_MEGABYTES} expected`,
          met: kept <= EXPECTED_AT_REST_MEGABYTES,
        },
      ],
    };
  },
};
