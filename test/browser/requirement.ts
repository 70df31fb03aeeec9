/** Before any test: in CI a missing browser is a failure, never a suite that is quietly left out. */
import { findChromium } from '../../scripts/chromium-install.mjs';

export function setup(): void {
  const { CI, PERDURE_REQUIRE_CHROMIUM } = process.env;
  const isRequired = [CI, PERDURE_REQUIRE_CHROMIUM].some(
    (value) => value && value !== '0' && value !== 'false',
  );
  if (isRequired && findChromium() === undefined) {
    throw new Error('the tests need a browser here, and there is none: npm run chromium:install gets one');
  }
}
