/**
 * What runs do on the embedded engine when every turn replays its run from the first event. What happens to the processes
 * around them is the same with a cache, and is not waited for twice.
 */
import { describe } from 'vitest';
import { takeOneIn } from '../share.js';
import { startEmbedded } from './embedded.js';
import { contractOfRuns, contractOfTurmoil } from './suite.js';

describe('embedded, every turn replayed from the first event', () => {
  takeOneIn(8);
  contractOfRuns(startEmbedded, 0);
  contractOfTurmoil(startEmbedded, 0);
});
