import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Processes rather than threads: better-sqlite3 and worker processes belong to a process of their own.
    pool: 'forks',
    // A durable run takes milliseconds; what takes this long hangs.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
  },
});
