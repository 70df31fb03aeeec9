/** The contract suite on the embedded engine, every turn of which replays its run from the first event. */
import { describe } from 'vitest';
import { startEmbedded } from './embedded.js';
import { contract } from './suite.js';

describe('embedded, every turn replayed from the first event', () => contract(startEmbedded, 0));
