/**
 * Suites that need a Temporal server. Where there is none they are left out, which the end of the run tells
 * (test/reporter.ts); where that must not happen, as in CI, PERDURE_REQUIRE_TEMPORAL makes it a failure.
 */
import { describe, type TestOptions } from 'vitest';
import { SECOND_TRY } from '../second-try.js';
import { findTemporal, NEEDS_TEMPORAL } from './binary.js';

export function describeTemporal(name: string, suite: () => void): void;
export function describeTemporal(name: string, options: TestOptions, suite: () => void): void;
export function describeTemporal(name: string, ...rest: [() => void] | [TestOptions, () => void]): void {
  const [options, suite] = rest.length === 1 ? [{}, rest[0]] : rest;
  describe.skipIf(findTemporal() === undefined)(
    `${name} ${NEEDS_TEMPORAL}`,
    { ...SECOND_TRY, ...options },
    suite,
  );
}
