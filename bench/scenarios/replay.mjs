// How long a run of ten thousand events takes to be built up again from its history, when no worker has it any more.
import { performance } from 'node:perf_hooks';
import { Scene } from '../lib/scene.mjs';
import { latencies, median } from '../lib/statistics.mjs';
import { figure, number } from '../lib/table.mjs';

const EVENTS = 10_000;
const WIDTH = 10;
/** Each step is scheduled, started and completed, and so is the turn after all of them. */
const EVENTS_OF_A_BATCH = 3 * WIDTH + 3;
const RESTARTS_A_ROUND = 3;

export const replay = {
  name: 'replay',
  title: 'Replay of a history of 10,000 events',
  systems: ['perdure'],
  minutes: 1,
  measure: ({ rounds, sized }) =>
    Scene.play('replay', async (scene) => {
      const events = sized(EVENTS, 500);
      await scene.start();
      const batches = Math.ceil(events / EVENTS_OF_A_BATCH);
      const { workflowId } = await scene.post('/workflow/start', {
        workflowName: 'wide',
        input: { batches, width: WIDTH },
      });
      const query = async () => {
        const startedAt = performance.now();
        const taken = await scene.post(`/workflow/${workflowId}/query/taken`, {});
        return { taken, ms: performance.now() - startedAt };
      };
      const steps = batches * WIDTH;
      await scene.until(`${steps} steps`, async () => (await query()).taken === steps, 300_000);
      const { historyLength } = await scene.get(`/workflow/${workflowId}/status`);
      const samples = [];
      for (let restart = 1; restart <= rounds * RESTARTS_A_ROUND; restart++) {
        await scene.stop();
        await scene.start();
        const first = await query();
        const next = [];
        for (let i = 0; i < 20; i++) next.push((await query()).ms);
        samples.push({ replayedMs: first.ms, cachedMs: median(next), isRight: first.taken === steps });
      }
      const replayed = latencies(samples.map(({ replayedMs }) => replayedMs));
      return {
        tables: [
          {
            head: [
              'events',
              'replays',
              'first query p50 ms',
              'slowest ms',
              'next queries p50 ms',
              'µs per event',
            ],
            rows: [
              [
                number(historyLength),
                samples.length,
                figure(replayed.p50Ms),
                figure(replayed.maxMs),
                figure(median(samples.map(({ cachedMs }) => cachedMs))),
                figure((replayed.p50Ms * 1_000) / historyLength),
              ],
            ],
          },
        ],
        samples,
        checks: [
          {
            what: `${samples.filter(({ isRight }) => isRight).length} of ${samples.length} replays have given the right state`,
            met: samples.every(({ isRight }) => isRight),
          },
        ],
      };
    }),
};
