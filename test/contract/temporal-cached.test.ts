/** What runs do on Temporal, whose workers keep their state between turns. */

import { takeOneIn } from '../share.js';
import { describeTemporal } from '../temporal/required.js';
import { contractOfRuns, contractOfTurmoil } from './suite.js';
import { startTemporal } from './temporal.js';
import { DIFFERENCES_OF_RUNS } from './temporal-differences.js';

/** A call takes some twenty times as long as on the embedded engine. */
const CALLS_IN_TURMOIL = 400;

describeTemporal('Temporal, with cached runs', () => {
  takeOneIn(2);
  contractOfRuns(startTemporal, 1_000, DIFFERENCES_OF_RUNS);
  contractOfTurmoil(startTemporal, 1_000, CALLS_IN_TURMOIL);
});
