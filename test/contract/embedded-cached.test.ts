/** The contract suite on the embedded engine, whose workers keep the state of runs between turns. */
import { describe } from 'vitest';
import { startEmbedded } from './embedded.js';
import { contract } from './suite.js';

describe('embedded, with cached runs', () => contract(startEmbedded, 1_000));
