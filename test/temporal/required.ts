/**
 * Suites that need a Temporal server. Where there is none they are left out, which the end of the run tells
 * (test/reporter.ts); where that must not happen, as in CI, PERDURE_REQUIRE_TEMPORAL makes it a failure.
 */
import { beforeEach, describe, type TestContext, type TestOptions } from 'vitest';
import { SECOND_TRY } from '../second-try.js';
import { findTemporal, NEEDS_TEMPORAL } from './binary.js';
import { DevServer } from './dev-server.js';

export function describeTemporal(name: string, suite: () => void): void;
export function describeTemporal(name: string, options: TestOptions, suite: () => void): void;
export function describeTemporal(name: string, ...rest: [() => void] | [TestOptions, () => void]): void {
  const [options, suite] = rest.length === 1 ? [{}, rest[0]] : rest;
  describe.skipIf(findTemporal() === undefined)(
    `${name} ${NEEDS_TEMPORAL}`,
    { ...SECOND_TRY, ...options },
    () => {
      beforeEach(findServers);
      suite();
    },
  );
}

const AWAY = /cannot be reached|does not answer in time|EngineUnavailableError/;

/** A second try has a server to be tried on: one that could not be reached in the first would be away in this one, too. */
async function findServers({ task }: TestContext): Promise<void> {
  const { retryCount = 0, errors = [] } = task.result ?? {};
  if (retryCount > 0 && errors.some(({ message }) => AWAY.test(message))) await DevServer.reviveAll();
}
