// One run that a thousand readers follow: how soon the last of them has an event, and what giving it to one costs.
import { fileURLToPath } from 'node:url';
import { runLoad } from '../lib/processes.mjs';
import { Scene } from '../lib/scene.mjs';
import { median } from '../lib/statistics.mjs';
import { figure, number } from '../lib/table.mjs';
import { processorMs } from '../lib/usage.mjs';

const READERS = fileURLToPath(new URL('../load/readers.mjs', import.meta.url));
const COUNT = 1_000;
const SIGNALS = 100;

export const streams = {
  name: 'streams',
  title: 'A stream of one run with a thousand readers',
  systems: ['perdure'],
  minutes: 1,
  measure: ({ rounds, sized }) =>
    Scene.play('streams', async (scene) => {
      await scene.start();
      const [readers, signals] = [sized(COUNT, 20), sized(SIGNALS, 10)];
      const samples = [];
      for (let round = 1; round <= rounds; round++) {
        const workflowId = `followed-${round}`;
        await scene.post('/workflow/start', { workflowName: 'counter', workflowId, input: null });
        const before = processorMs([scene.server]);
        const measured = await runLoad(READERS, { port: scene.port, workflowId, readers, signals });
        const processorUsPerDelivery =
          ((processorMs([scene.server]) - before) * 1_000) / (readers * measured.events);
        samples.push({ round, processorUsPerDelivery, ...measured });
      }
      const of = (key) => median(samples.map((sample) => sample[key]));
      return {
        tables: [
          {
            head: [
              'readers',
              'events each',
              'events delivered/s',
              'lag of the last reader p50 ms',
              'p99 ms',
              'cpu µs per delivery',
            ],
            rows: [
              [
                number(readers),
                number(of('events')),
                number(of('deliveriesPerSecond')),
                figure(of('p50Ms')),
                figure(of('p99Ms')),
                figure(of('processorUsPerDelivery')),
              ],
            ],
          },
        ],
        samples,
        checks: [
          {
            what: `${number(readers)} readers have got every event once, in order, and each of ${number(signals)} signals`,
            met: samples.every(({ faults }) => faults === 0),
          },
        ],
      };
    }),
};
