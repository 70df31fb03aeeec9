// How long the server takes to be ready on a folder with a hundred thousand open runs, after a clean end and after kill -9.
import { Scene } from '../lib/scene.mjs';
import { isAsleep, startSleepers } from '../lib/sleepers.mjs';
import { figure, number } from '../lib/table.mjs';
import { residentBytes } from '../lib/usage.mjs';

const COUNT = 100_000;
const EXPECTED_READY_MS = 5_000;

/** The timers of new runs fire beside all those that are not due. */
async function checkWaking(scene) {
  const result = await scene.post('/workflow/run', { workflowName: 'sleeping', input: { ms: 10 } });
  if (result.status !== 'completed') throw new Error(`A short sleep did not end: ${JSON.stringify(result)}`);
}

export const startUp = {
  name: 'start-up',
  title: 'Start-up with 100,000 open runs',
  systems: ['perdure'],
  minutes: 2,
  measure: ({ sized }) =>
    Scene.play('start-up', async (scene) => {
      const count = sized(COUNT, 200);
      const empty = await scene.start();
      const rows = [{ when: 'on an empty folder', ...empty, bytes: residentBytes(scene.server) }];
      await startSleepers(scene, count);
      for (const signal of ['SIGTERM', 'SIGKILL']) {
        const endMs = await scene.stop(signal);
        const again = await scene.start();
        if (!(await isAsleep(scene, count))) throw new Error(`sleeper-${count} did not survive ${signal}`);
        await checkWaking(scene);
        rows.push({ when: `after ${signal}`, endMs, ...again, bytes: residentBytes(scene.server) });
      }
      const slowest = Math.max(...rows.slice(1).map(({ readyAfterMs }) => readyAfterMs));
      return {
        tables: [
          {
            head: ['open runs', 'start', 'end ms', 'ready ms', 'first run ms', 'server MB'],
            rows: rows.map(({ when, endMs, readyAfterMs, firstRunAfterMs, bytes }, index) => [
              number(index === 0 ? 0 : count),
              when,
              figure(endMs ?? Number.NaN),
              figure(readyAfterMs),
              figure(firstRunAfterMs),
              number(bytes / 2 ** 20),
            ]),
          },
        ],
        samples: rows,
        checks: [
          {
            what: `ready ${number(slowest)} ms after a restart, within ${number(EXPECTED_READY_MS)} expected`,
            met: slowest <= EXPECTED_READY_MS,
          },
        ],
      };
    }),
};
