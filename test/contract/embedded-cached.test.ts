/** The contract suite on the embedded engine, whose workers keep the state of runs between turns. */
import { describe } from 'vitest';
import { startEmbedded } from './embedded.js';
import { contractOfRuns, contractOfTurmoil } from './suite.js';

describe('embedded, with cached runs', () => {
  contractOfRuns(startEmbedded, 1_000);
  contractOfTurmoil(startEmbedded, 1_000);
});
