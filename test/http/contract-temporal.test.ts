/** The wire contract on Temporal. */
import { describeTemporal } from '../temporal/required.js';
import { httpContract } from './contract.js';
import { startTemporalSystem } from './temporal-system.js';

describeTemporal('the HTTP API', () => httpContract(startTemporalSystem));
