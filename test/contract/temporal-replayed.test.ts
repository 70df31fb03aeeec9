/** The contract suite on Temporal, whose workers replay every turn from the first event. */
import { describeTemporal } from '../temporal/required.js';
import { contract } from './suite.js';
import { startTemporal } from './temporal.js';
import { TEMPORAL_DIFFERENCES } from './temporal-differences.js';

const WITHOUT_A_CACHE = {
  ...TEMPORAL_DIFFERENCES,
  'queries leave no event behind, however many (I13)':
    'without a cache, which is for tests alone, Temporal keeps one task of a run at a time: of many queries at once some are never answered',
};

describeTemporal('Temporal, with replayed runs', () => contract(startTemporal, 0, WITHOUT_A_CACHE));
