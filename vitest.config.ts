import { defineConfig } from 'vitest/config';
import { Outliving } from './test/outliving.js';
import { LeftOut, SecondTries } from './test/reporter.js';
import { LongestFirst } from './test/sequence.js';

const ALL = ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts', 'dashboard/**/*.test.ts'];
/** All cases of the contract at once on a dev server of Temporal: two of these would want more than two cores. */
const BUSY_ON_TEMPORAL = [
  'test/contract/temporal-{cached,replayed}.test.ts',
  'test/http/contract-temporal.test.ts',
  'test/differential/{budgets,differential}.test.ts',
];
/** What these drown or measure: another file beside them would be in the way. */
const ALONE = [
  'src/worker/supervision/**/*.test.ts',
  'test/{crash,overload,rolling}/**/*.test.ts',
  'test/recovery/hostile.test.ts',
  'test/stream/load.test.ts',
];
/** Short ones that leave nothing behind: a process for each would take longer than they do. */
const IN_ONE_PROCESS = ['src/{client,core,http}/**/*.test.ts', 'dashboard/**/*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'two at a time',
          include: ALL,
          exclude: [...BUSY_ON_TEMPORAL, ...ALONE, ...IN_ONE_PROCESS],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'in one process',
          include: IN_ONE_PROCESS,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'busy on Temporal',
          include: BUSY_ON_TEMPORAL,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
    globalSetup: ['test/temporal/requirement.ts', 'test/browser/requirement.ts'],
    reporters: ['default', new LeftOut(), new SecondTries(), new Outliving()],
    sequence: { sequencer: LongestFirst },
    // Processes rather than threads: better-sqlite3 and worker processes belong to a process of their own.
    pool: 'forks',
    // A durable run takes milliseconds; what takes this long hangs, even on a machine that others keep busy.
    testTimeout: 120_000,
    // Before and after a case whole systems start and end.
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 10_000,
  },
});
