/** Before any test: in CI a missing Temporal server is a failure, never a suite that is quietly left out. */
import { findTemporal } from './binary.js';

export function setup(): void {
  const { CI, PERDURE_REQUIRE_TEMPORAL } = process.env;
  const isRequired = [CI, PERDURE_REQUIRE_TEMPORAL].some(
    (value) => value && value !== '0' && value !== 'false',
  );
  if (isRequired && findTemporal() === undefined) {
    throw new Error(
      'the tests need a Temporal server here, and there is none: npm run temporal:install gets one',
    );
  }
}
