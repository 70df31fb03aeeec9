/** The tests as `npm test` runs them: of what is asked many times over, a share (test/share.ts). */
import { mergeConfig } from 'vitest/config';
import everything from './vitest.config.js';

export default mergeConfig(everything, { test: { provide: { isShare: true } } });
