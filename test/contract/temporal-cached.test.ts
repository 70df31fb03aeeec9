/** The contract suite on Temporal, whose workers keep the state of runs between turns. */
import { describeTemporal } from '../temporal/required.js';
import { contract } from './suite.js';
import { startTemporal } from './temporal.js';
import { TEMPORAL_DIFFERENCES } from './temporal-differences.js';

describeTemporal('Temporal, with cached runs', () => contract(startTemporal, 1_000, TEMPORAL_DIFFERENCES));
