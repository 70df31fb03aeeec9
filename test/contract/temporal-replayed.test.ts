/** The contract suite on Temporal, whose workers replay every turn from the first event. */
import { describeTemporal } from '../temporal/required.js';
import { contract } from './suite.js';
import { startTemporal } from './temporal.js';
import { TEMPORAL_DIFFERENCES } from './temporal-differences.js';

describeTemporal('Temporal, with replayed runs', () => contract(startTemporal, 0, TEMPORAL_DIFFERENCES));
