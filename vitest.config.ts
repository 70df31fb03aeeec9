import { defineConfig } from 'vitest/config';
import { LeftOut } from './test/reporter.js';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/temporal/requirement.ts'],
    reporters: ['default', new LeftOut()],
    // Processes rather than threads: better-sqlite3 and worker processes belong to a process of their own.
    pool: 'forks',
    // A durable run takes milliseconds; what takes this long hangs.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
  },
});
