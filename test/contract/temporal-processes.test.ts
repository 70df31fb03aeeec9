/** What may happen to the processes around runs on Temporal. Mostly this waits, so it has a file, and a server, of its own. */

import { takeOneIn } from '../share.js';
import { describeTemporal } from '../temporal/required.js';
import { contractOfProcesses } from './suite.js';
import { startTemporal } from './temporal.js';
import { DIFFERENCES_OF_PROCESSES } from './temporal-differences.js';

describeTemporal('Temporal, with processes that come and go', () => {
  takeOneIn(4);
  contractOfProcesses(startTemporal, 1_000, DIFFERENCES_OF_PROCESSES);
});
