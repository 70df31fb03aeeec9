import { describe } from 'vitest';
import { startSystem } from '../http/system.js';
import { clientOnEngine, clientOverChains } from './both-engines.js';

describe('on the embedded engine', () => {
  describe('a client', () => clientOnEngine(startSystem));
  describe('a client of a chain', () => clientOverChains(startSystem));
});
