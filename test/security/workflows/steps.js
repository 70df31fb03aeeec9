import { step } from 'perdure';

export const looks = step({
  name: 'looks',
  fn: async (input) => ({ own: Object.keys(input), polluted: {}.polluted ?? null }),
});

export const fails = step({
  name: 'fails',
  options: { retry: { maximumAttempts: 1 } },
  fn: async () => {
    // The log tells the beginning of a message, which operators need, and no more of it.
    throw new Error(
      `STEP_CANARY ${'.'.repeat(500)} ${JSON.stringify(process.env)} ${process.argv.join(' ')}`,
    );
  },
});
