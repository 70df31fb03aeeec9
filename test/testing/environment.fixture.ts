/** A test environment of its own for each test, on the workflows beside this file. */
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach } from 'vitest';
import { createTestEnvironment, type TestEnvironment } from '../../src/testing/index.js';

export const workflows = fileURLToPath(new URL('workflows', import.meta.url));
export const START = Date.parse('2026-01-01T00:00:00.000Z');
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export class EnvironmentStage {
  env!: TestEnvironment;

  constructor() {
    beforeEach(async () => {
      this.env = await createTestEnvironment({ workflows, startTime: START });
    });
    afterEach(() => this.env.close());
  }

  /** Milliseconds of virtual time that have gone by. */
  readonly since = (): number => this.env.now().getTime() - START;
}
