/** Never lets go of what runs it: only for replays, which can be ended. */
import { workflow } from 'perdure';

export const spinsForEver = workflow({
  name: 'spinsForEver',
  fn: async () => {
    for (;;) {}
  },
});

export const awaitsForEver = workflow({
  name: 'awaitsForEver',
  fn: async () => {
    for (;;) await null;
  },
});
