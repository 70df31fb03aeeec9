import { uuid4, workflow } from 'perdure';
import { draw } from './steps.js';

export const lottery = workflow({ name: 'lottery', fn: async () => draw() });

/** Without the bug: what the SDK draws is the same whenever the run is replayed. */
export const fairLottery = workflow({
  name: 'fairLottery',
  fn: async () => ({ ticket: Math.floor(Math.random() * 1e9), id: uuid4() }),
});
