import { condition, defineQuery, defineUpdate, setHandler, workflow, z } from 'perdure';
import * as steps from './steps.js';

/** What everybody else does while one of the others is at work. */
export const healthy = workflow({
  name: 'healthy',
  fn: async (input) => [await steps.brief(input), await steps.brief(input)],
});

const calling = (step) => workflow({ name: `step_${step.name}`, fn: async () => step() });
export const stepLoops = calling(steps.loops);
export const stepLoopsLater = calling(steps.loopsLater);
export const stepExits = calling(steps.exits);
export const stepIsKilled = calling(steps.isKilled);
export const stepFillsHeap = calling(steps.fillsHeap);
export const stepThrowsLongMessage = calling(steps.throwsLongMessage);
export const stepReplacesBuiltIns = calling(steps.replacesBuiltIns);

export const turnLoops = workflow({
  name: 'turn_loops',
  fn: async () => {
    for (;;);
  },
});

export const turnFillsHeap = workflow({
  name: 'turn_fills_heap',
  fn: async () => {
    const all = [];
    for (;;) all.push(new Array(10_000).fill({ some: 'thing' }));
  },
});

export const turnThrowsLongMessage = workflow({
  name: 'turn_throws_long_message',
  fn: async () => {
    throw new Error('x'.repeat(100_000));
  },
});

const endlessQuery = defineQuery('endless');
const endlessUpdate = defineUpdate('endless');
export const messages = workflow({
  name: 'messages',
  fn: async () => {
    setHandler(endlessQuery, () => {
      for (;;);
    });
    setHandler(endlessUpdate, () => 1, {
      validator: () => {
        for (;;);
      },
    });
    await condition(() => false);
  },
});

export const tree = workflow({
  name: 'tree',
  fn: async () => {
    await Promise.all([tree(null), tree(null)]);
  },
});

export const chain = workflow({
  name: 'chain',
  fn: async (_, context) => context.control.continueAsNew(null),
});

export const pattern = workflow({
  name: 'pattern',
  inputSchema: z.object({ text: z.string().regex(/^(a+)+$/) }),
  fn: async () => 1,
});
