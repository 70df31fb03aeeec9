// A dev server of Temporal: one process with everything in it, on a SQLite file that is synced like perdure's.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED_BINARY } from '../../scripts/temporal-install.mjs';
import { freePort, startServer } from '../lib/processes.mjs';
import { Unavailable } from './unavailable.mjs';

export function findTemporal() {
  const binary = process.env.PERDURE_TEMPORAL_CLI || INSTALLED_BINARY;
  if (!existsSync(binary)) {
    throw new Unavailable(
      'there is no Temporal dev server on this machine: `npm run temporal:install` gets one',
    );
  }
  return binary;
}

export const temporalVersion = () => execFileSync(findTemporal(), ['--version'], { encoding: 'utf8' }).trim();

export async function startTemporal(folder) {
  const port = await freePort();
  const pragmas = ['journal_mode=WAL', 'synchronous=FULL'].flatMap((pragma) => ['--sqlite-pragma', pragma]);
  const server = startServer(
    findTemporal(),
    [
      'server',
      'start-dev',
      '--headless',
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--db-filename',
      join(folder, 'temporal.db'),
      '--log-level',
      'error',
      ...pragmas,
    ],
    { logFile: join(folder, 'temporal.log') },
  );
  return { server, address: `127.0.0.1:${port}` };
}
