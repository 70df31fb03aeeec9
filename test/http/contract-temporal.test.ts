/** The wire contract on Temporal. */

import { takeOneIn } from '../share.js';
import { describeTemporal } from '../temporal/required.js';
import { httpContract } from './contract.js';
import { startTemporalSystem } from './temporal-system.js';

takeOneIn(3);

describeTemporal('the HTTP API', () => httpContract(startTemporalSystem));
