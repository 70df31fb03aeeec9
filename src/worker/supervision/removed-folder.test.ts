/** The folder in which everything was started may be removed while it runs, as deployments do with old releases. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive } from '../../../test/is-alive.js';
import { expectWorks, prepareSupervision, root, source, start, supervisor } from './supervised.fixture.js';

const PROGRAM = fileURLToPath(new URL('../../../dist/worker/main.js', import.meta.url));

prepareSupervision();

let release: string;
beforeEach(() => {
  release = mkdtempSync(join(tmpdir(), 'perdure-release-'));
});
afterEach(() => rmSync(release, { recursive: true, force: true }));

test('a worker is replaced there all the same', async () => {
  const before = process.cwd();
  process.chdir(release);
  try {
    const worker = await start();
    rmSync(release, { recursive: true });
    process.kill(supervisor!.pids()[0]!, 'SIGKILL');
    await source.until(() => worker.gone);
    await expectWorks(await source.worker(worker));
  } finally {
    process.chdir(before);
  }
});

test('a worker that begins there does not outlive its supervisor', async () => {
  const parent = spawn(process.execPath, ['-e', SUPERVISOR, PROGRAM, root], {
    ...{ cwd: release, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  const [said] = (await once(parent.stdout!, 'data')) as [Buffer];
  await once(parent, 'exit');
  const worker = Number(String(said));
  expect(worker).toBeGreaterThan(0);
  try {
    await expect.poll(() => isAlive(worker), { timeout: 20_000, interval: 100 }).toBe(false);
  } finally {
    if (isAlive(worker)) process.kill(worker, 'SIGKILL');
  }
});

/**
 * Removes its folder when the worker listens, gives it the time to be half-way, and dies as a process that is killed. What
 * was read of the files before is given, as it is to every process but the first.
 */
const SUPERVISOR = `
  const [program, directory] = process.argv.slice(1);
  const worker = require('node:child_process').fork(program, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
    serialization: 'advanced',
  });
  setTimeout(() => {
    require('node:fs').rmSync(process.cwd(), { recursive: true });
    const snapshot = { directory, files: [], host: { modules: {}, commonJs: {} } };
    worker.send({ kind: 'start', supervisor: process.pid, directory, options: {}, snapshot });
  }, 2_000);
  setTimeout(() => {
    console.log(worker.pid);
    process.kill(process.pid, 'SIGKILL');
  }, 4_000);
`;
