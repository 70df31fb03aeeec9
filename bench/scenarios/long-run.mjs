// What one step costs in a long run beside a short one. History grows with every step, so a cost that grows with it
// shows here first.
import { performance } from 'node:perf_hooks';
import { Scene } from '../lib/scene.mjs';
import { median } from '../lib/statistics.mjs';
import { figure, number } from '../lib/table.mjs';

const SHORT_STEPS = 100;
const LONG_STEPS = 10_000;
const EXPECTED_RATIO = 2;

async function msPerStep(scene, steps) {
  const startedAt = performance.now();
  const result = await scene.post('/workflow/run', {
    workflowName: 'long',
    input: { steps },
    timeout: 280_000,
  });
  const elapsedMs = performance.now() - startedAt;
  if (result.status !== 'completed' || result.output?.steps !== steps) {
    throw new Error(`A run of ${steps} steps ended wrongly: ${JSON.stringify(result).slice(0, 1_000)}`);
  }
  return elapsedMs / steps;
}

export const longRun = {
  name: 'long-run',
  title: 'A step in a run of ten thousand in a row beside one in a run of a hundred',
  systems: ['perdure'],
  minutes: 2,
  measure: ({ rounds, sized }) =>
    Scene.play('long-run', async (scene) => {
      await scene.start();
      const longSteps = sized(LONG_STEPS, SHORT_STEPS);
      const [warmUps, shorts] = [sized(30, 2), sized(20, 2)];
      for (let i = 0; i < warmUps; i++) await msPerStep(scene, SHORT_STEPS);
      const short = [];
      const long = [];
      for (let round = 0; round < rounds; round++) {
        for (let i = 0; i < shorts; i++) short.push(await msPerStep(scene, SHORT_STEPS));
        long.push(await msPerStep(scene, longSteps));
      }
      const times = median(long) / median(short);
      return {
        tables: [
          {
            head: ['steps in a row', 'runs', 'ms per step', 'least', 'most'],
            rows: [
              [SHORT_STEPS, short],
              [longSteps, long],
            ].map(([steps, samples]) => [
              number(steps),
              samples.length,
              figure(median(samples)),
              figure(Math.min(...samples)),
              figure(Math.max(...samples)),
            ]),
          },
        ],
        samples: { short, long },
        checks: [
          {
            what: `a step in a run of ${number(longSteps)} costs ${figure(times)} times one in a run of ${SHORT_STEPS}, at most ${EXPECTED_RATIO} expected`,
            met: times <= EXPECTED_RATIO,
          },
        ],
      };
    }),
};
