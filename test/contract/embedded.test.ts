/** The contract suite on the embedded engine, with the workers' cache and without. */
import { describe } from 'vitest';
import { startEmbedded } from './embedded.js';
import { contract } from './suite.js';

describe('embedded, with cached runs', () => contract(startEmbedded, 1_000));

describe('embedded, every turn replayed from the first event', () => contract(startEmbedded, 0));
