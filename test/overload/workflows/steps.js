import { step, stepContext } from 'perdure';

export const brief = step({ name: 'brief', fn: async (input) => input });

export const spend = step({
  name: 'spend',
  fn: async ({ costs }) => {
    for (let i = 0; i < costs; i++) stepContext().cost({ amount: '0.001', kind: 'llm' });
  },
});
