/**
 * Gets a Chromium for the tests that need a real browser: `npm run chromium:install`. It comes from the system's own
 * packages, which bring the libraries that it needs along.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The one that was named, or any on the PATH. */
export function findChromium(env = process.env) {
  const { PERDURE_CHROMIUM: named, PATH = '' } = env;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`PERDURE_CHROMIUM is ${named}, and that is no program that can be executed`);
  }
  const folders = PATH.split(delimiter).filter((folder) => folder !== '');
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function install() {
  const found = findChromium();
  if (found) {
    console.log(`A Chromium is there: ${found}`);
    return 0;
  }
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  for (const args of [
    ['apt-get', 'update'],
    ['apt-get', 'install', '--yes', '--no-install-recommends', 'chromium'],
  ]) {
    const [command, ...rest] = [...sudo, ...args];
    spawnSync(command, rest, {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  }
  if (findChromium()) return 0;
  console.error(`There is no Chromium, and it could not be installed with apt-get. Install Chromium or Chrome as your system
has it, and put it on the PATH, or name it: PERDURE_CHROMIUM=/path/to/chromium npm test`);
  return 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(install());
