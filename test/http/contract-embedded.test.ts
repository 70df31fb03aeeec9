/** The wire contract on the embedded engine. */
import { describe } from 'vitest';
import { httpContract } from './contract.js';
import { startSystem } from './system.js';

describe('the HTTP API on the embedded engine', () => httpContract(startSystem));
