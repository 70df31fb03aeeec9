import { describe } from 'vitest';
import { startSystem } from '../http/system.js';
import { everyCommand } from './every-command.js';

describe('every command on the embedded engine', () => everyCommand(startSystem, { hasBackups: true }));
