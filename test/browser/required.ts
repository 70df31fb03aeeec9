/** Suites that need a browser. Where there is none they are left out, which the end of the run tells (test/reporter.ts). */
import { describe } from 'vitest';
import { findChromium } from '../../scripts/chromium-install.mjs';
import { SECOND_TRY } from '../second-try.js';
import { NEEDS_CHROMIUM } from './names.js';

export function describeInBrowser(name: string, suite: () => void): void {
  describe.skipIf(findChromium() === undefined)(`${name} ${NEEDS_CHROMIUM}`, SECOND_TRY, suite);
}
