import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  sleep,
  uuid4,
  workflow,
} from 'perdure';

/** Counts down, one run each. */
export const countsDown = workflow({
  name: 'countsDown',
  fn: async (input, context) => {
    const { left, ids } = input as { left: number; ids?: string[] };
    const seen = [...(ids ?? []), uuid4()];
    if (left === 0) return { runs: seen.length, distinct: new Set(seen).size, runId: context.info.runId };
    return context.control.continueAsNew({ left: left - 1, ids: ids ? seen : undefined });
  },
});

export const continuesThenFails = workflow({
  name: 'continuesThenFails',
  fn: async (input, context) => {
    if (input === 0) throw new Error('at the end of the chain');
    return context.control.continueAsNew(Number(input) - 1);
  },
});

const add = defineSignal<[number]>('add');

/** Every few signals a new run takes over; none may be lost between them. */
export const sums = workflow({
  name: 'sums',
  fn: async (input, context) => {
    const { target, ...rest } = input as { target: number; sum?: number; count?: number; runs?: number };
    let sum = rest.sum ?? 0;
    let count = rest.count ?? 0;
    const runs = (rest.runs ?? 0) + 1;
    let here = 0;
    setHandler(add, (value) => {
      sum += value;
      count++;
      here++;
    });
    setHandler(defineUpdate<number>('total'), () => sum);
    setHandler(defineQuery<number>('sum'), () => sum);
    await condition(() => here >= 3 || count >= target);
    if (count >= target) return { sum, count, runs };
    return context.control.continueAsNew({ target, sum, count, runs });
  },
});

/** Its second run waits. */
export const continuesAndWaits = workflow({
  name: 'continuesAndWaits',
  fn: async (input, context) => {
    if (input === 'first') return context.control.continueAsNew('second');
    await condition(() => false);
  },
});

export const suggests = workflow({
  name: 'suggests',
  fn: async (_input, context) => {
    let sleeps = 0;
    while (!context.control.isContinueAsNewSuggested() && sleeps < 100) {
      await sleep(1);
      sleeps++;
    }
    return {
      suggested: context.control.isContinueAsNewSuggested(),
      historyLength: context.info.historyLength,
    };
  },
});
