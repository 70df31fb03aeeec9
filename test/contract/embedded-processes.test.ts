/** What may happen to the processes around runs. Mostly this waits, so it has a file of its own. */
import { describe } from 'vitest';
import { takeOneIn } from '../share.js';
import { startEmbedded } from './embedded.js';
import { contractOfProcesses } from './suite.js';

describe('embedded, with processes that come and go', () => {
  takeOneIn(12);
  contractOfProcesses(startEmbedded, 1_000);
});
