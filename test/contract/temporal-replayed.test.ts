/**
 * What runs do on Temporal when its workers replay every turn from the first event. What happens to the processes around
 * them is the same with a cache, and is not waited for twice.
 */

import { takeOneIn } from '../share.js';
import { describeTemporal } from '../temporal/required.js';
import { contractOfRuns } from './suite.js';
import { startTemporal } from './temporal.js';
import { DIFFERENCES_OF_RUNS } from './temporal-differences.js';

const WITHOUT_A_CACHE = {
  'queries leave no event behind, however many (I13)':
    'without a cache, which is for tests alone, Temporal keeps one task of a run at a time: of many queries at once some are never answered',
};

describeTemporal('Temporal, with replayed runs', () => {
  takeOneIn(5);
  contractOfRuns(startTemporal, 0, { ...DIFFERENCES_OF_RUNS, ...WITHOUT_A_CACHE });
});
