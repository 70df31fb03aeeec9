import { startTemporalSystem } from '../http/temporal-system.js';
import { describeTemporal } from '../temporal/required.js';
import { clientOnEngine, clientOverChains } from './both-engines.js';

describeTemporal('a client on Temporal', () => clientOnEngine(startTemporalSystem));
describeTemporal('a client of a chain on Temporal', () => clientOverChains(startTemporalSystem));
