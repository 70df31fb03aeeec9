import { condition, defineQuery, defineSignal, defineUpdate, setHandler, workflow, z } from 'perdure';
import { add } from '../steps.js';

const go = defineSignal<[string]>('go');
const got = defineQuery<string | null>('got');
const push = defineUpdate<number, [number]>('push');

export default workflow({
  name: 'waits',
  inputSchema: z.object({ steps: z.number() }),
  signals: { go: { inputSchema: z.string() }, resume: {} },
  queries: { got: {} },
  updates: { push: { inputSchema: z.number(), outputSchema: z.number() } },
  fn: async ({ steps }) => {
    let word: string | null = null;
    let sum = 0;
    setHandler(go, (text) => {
      word = text;
    });
    setHandler(got, () => word);
    setHandler(push, (n) => sum + n, {
      validator: (n) => {
        if (n < 0) throw new Error('not negative');
      },
    });
    for (let n = 0; n < steps; n++) sum = await add({ a: sum, b: 1 });
    await condition(() => word !== null);
    return word;
  },
});
