/**
 * Gets a Temporal dev server for the tests: `npm run temporal:install`.
 *
 * It goes into a cache outside of this folder, so that every clone shares it. Built in a folder of its own and put in
 * place by a rename: whoever finds the file has all of it, however many of these run at a time.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The newest version that `go install` takes. */
const VERSION = '1.5.1';
const MODULE = `github.com/temporalio/cli/cmd/temporal@v${VERSION}`;

const CACHE = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
export const INSTALLED_BINARY = join(CACHE, 'perdure', `temporal-${VERSION}`, 'temporal');

function install() {
  const { PERDURE_TEMPORAL_CLI: named } = process.env;
  if (named) {
    console.log(`PERDURE_TEMPORAL_CLI names the Temporal program to use: ${named}`);
    return 0;
  }
  if (runs(INSTALLED_BINARY)) {
    console.log(`The Temporal dev server ${VERSION} is there: ${INSTALLED_BINARY}`);
    return 0;
  }
  if (spawnSync('go', ['version']).status !== 0) {
    console.error(`There is no Go on this machine to build the Temporal dev server with. Either
  install Go and run "npm run temporal:install" again, or
  download Temporal's program as its documentation says (https://docs.temporal.io/cli/setup-cli),
  and put it on the PATH as "temporal", or name it: PERDURE_TEMPORAL_CLI=/path/to/temporal npm test`);
    return 1;
  }
  console.log(`Building the Temporal dev server ${VERSION} with Go; this takes about five minutes, once`);
  const folder = dirname(INSTALLED_BINARY);
  mkdirSync(folder, { recursive: true });
  const building = mkdtempSync(join(folder, 'building-'));
  try {
    const { status, error } = spawnSync('go', ['install', MODULE], {
      cwd: building,
      env: { ...process.env, GOBIN: building },
      stdio: 'inherit',
    });
    const built = join(building, 'temporal');
    if (status !== 0 || !runs(built)) {
      console.error(`go install ${MODULE} has failed${error ? `: ${error.message}` : ''}`);
      return 1;
    }
    renameSync(built, INSTALLED_BINARY);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  console.log(`The Temporal dev server ${VERSION} is in ${INSTALLED_BINARY}`);
  return 0;
}

function runs(binary) {
  try {
    accessSync(binary, constants.X_OK);
  } catch {
    return false;
  }
  return spawnSync(binary, ['--version']).status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(install());
