import { condition, defineQuery, defineSignal, defineUpdate, setHandler, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { loopShortly, misbehave, neighbour, quiet } from './steps.js';

export const callsMisbehaving = workflow({
  name: 'callsMisbehaving',
  fn: async (input: Parameters<typeof misbehave>[0]) => {
    const before = await quiet(input);
    return { before, worst: await misbehave(input) };
  },
});

export const callsLooping = workflow({
  name: 'callsLooping',
  fn: async (input: Place) => loopShortly(input),
});

export const callsNeighbour = workflow({
  name: 'callsNeighbour',
  fn: async (input: Place) => neighbour(input),
});

const poison = defineSignal('poison');

/** A turn that never ends, once it has been poisoned. */
export const endlessTurn = workflow({
  name: 'endlessTurn',
  fn: async () => {
    let poisoned = false;
    setHandler(poison, () => {
      poisoned = true;
    });
    await condition(() => poisoned);
    for (;;);
  },
});

/** Handlers that never end; the run itself is well. */
export const endlessHandlers = workflow({
  name: 'endlessHandlers',
  fn: async () => {
    let isOver = false;
    setHandler(defineQuery<void>('loop'), () => {
      for (;;);
    });
    setHandler(defineUpdate<void>('loop'), () => {}, {
      validator: () => {
        for (;;);
      },
    });
    setHandler(defineSignal('end'), () => {
      isOver = true;
    });
    await condition(() => isOver);
    return 'well';
  },
});

/** A promise chain that feeds itself never lets the turn end either. */
export const endlessMicrotasks = workflow({
  name: 'endlessMicrotasks',
  fn: async () => {
    for (;;) await null;
  },
});

export const greedyTurn = workflow({
  name: 'greedyTurn',
  fn: async () => {
    const hoard: unknown[] = [];
    for (;;) hoard.push(new Array(100_000).fill({}).map(() => ({ hoard: Math.random() })));
  },
});

export const quietOnes = workflow({
  name: 'quietOnes',
  fn: async (input: Place) => {
    const results: string[] = [];
    for (let turn = 0; turn < 3; turn++) results.push(await quiet(input));
    return results;
  },
});

export const updatedByStep = workflow({
  name: 'updatedByStep',
  fn: async (input: Place) => {
    let result: string | undefined;
    setHandler(defineUpdate<string>('ask'), async () => {
      await quiet(input);
      result = await neighbour(input);
      return result;
    });
    await condition(() => result !== undefined);
    return result;
  },
});
