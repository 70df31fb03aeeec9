import { describe } from 'vitest';
import { startSystem } from '../http/system.js';
import { takeOneIn } from '../share.js';
import { everyCommand } from './every-command.js';

takeOneIn(2);

describe('every command on the embedded engine', () => everyCommand(startSystem, { hasBackups: true }));
