/** What runs on a cluster that comes and goes. */
import { condition, defineSignal, setHandler, sleep, workflow } from 'perdure';
import { marks, namesOfVariables } from './steps.js';

export interface Work {
  /** Of the call that starts it, whatever becomes of that call. */
  token: string;
  ledger: string;
  steps: number;
}

export const works = workflow({
  name: 'works',
  fn: async ({ token, ledger, steps }: Work) => {
    const done: number[] = [];
    for (let place = 0; place < steps; place++) {
      done.push(await marks({ token, ledger, place }));
      await sleep('100ms');
    }
    return done;
  },
});

export const collects = workflow({
  name: 'collects',
  fn: async () => {
    const seen: number[] = [];
    let isOver = false;
    setHandler(defineSignal<[number]>('add'), (value) => {
      seen.push(value);
    });
    setHandler(defineSignal('finish'), () => {
      isOver = true;
    });
    await condition(() => isOver);
    return seen;
  },
});

export const echo = workflow({ name: 'echo', fn: async (input: unknown) => input });

export const tellsEnvironment = workflow({ name: 'tellsEnvironment', fn: async () => namesOfVariables() });
