import { workflow, z } from 'perdure';
import { charge, refuse } from './steps.js';

export const declined = workflow({
  name: 'declined',
  inputSchema: z.string(),
  fn: (card) => charge(card),
});

/** More failures at once than anybody wants to read. */
export const flood = workflow({
  name: 'flood',
  inputSchema: z.number(),
  fn: async (steps) => {
    const settled = await Promise.allSettled(Array.from({ length: steps }, () => refuse()));
    return settled.filter(({ status }) => status === 'rejected').length;
  },
});
