import { condition, defineSignal, setHandler, sleep, workflow, z } from 'perdure';
import { add } from '../../workflows/steps.js';

/** `waits` after a change that its open runs do not fit: it sleeps before its first step. */
export default workflow({
  name: 'waits',
  inputSchema: z.object({ steps: z.number() }),
  fn: async ({ steps }) => {
    let isTold = false;
    setHandler(defineSignal<[string]>('go'), () => {
      isTold = true;
    });
    await sleep('1 hour');
    for (let n = 0; n < steps; n++) await add({ a: n, b: 1 });
    await condition(() => isTold);
  },
});
