/**
 * The package as users get it: packed, and installed by npm into an empty folder. Needs a registry; without one it is left out,
 * which the end of the run says.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const run = promisify(execFile);
/** A version whose range for the API leaves out its latest: the copy that everybody shares has to be an older one. */
const SDK = '@opentelemetry/sdk-trace-node@2.12.0';

let folder: string;
let missing: string | undefined;
let said = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-install-'));
  const packed = await npm(ROOT, 'pack', '--ignore-scripts', '--json', '--pack-destination', folder);
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  const probe = await npm(folder, 'view', SDK, 'version', '--fetch-retries=0', '--fetch-timeout=10000').catch(
    (error: Error) => error,
  );
  if (probe instanceof Error) {
    missing = 'the registry of packages cannot be reached';
    return;
  }
  // better-sqlite3 would be compiled or downloaded.
  const installed = await npm(folder, 'install', '--ignore-scripts', join(folder, filename), SDK);
  said = installed.stdout + installed.stderr;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const npm = (cwd: string, ...args: string[]) => run('npm', args, { cwd, maxBuffer: 16 * 1024 * 1024 });

it('is installed without a warning about the version of Node', ({ skip }) => {
  if (missing) skip(missing);
  expect(said).toMatch(/added \d+ packages/);
  expect(said).not.toMatch(/EBADENGINE/);
  expect(said).not.toMatch(/ERESOLVE|deprecated/);
});

it('shares one copy of the API of OpenTelemetry with an SDK', ({ skip }) => {
  if (missing) skip(missing);
  const manifests = readdirSync(join(folder, 'node_modules'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => /(^|node_modules\/)@opentelemetry\/api\/package\.json$/.test(path),
  );
  expect(manifests).toEqual(['@opentelemetry/api/package.json']);
  const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', manifests[0]!), 'utf8')) as {
    version: string;
  };
  expect(version).toMatch(/^1\.9\./);
});

it('has the program and the module that authors import', ({ skip }) => {
  if (missing) skip(missing);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const program = join(folder, 'node_modules', '.bin', 'perdure');
  expect(execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()).toBe(version);
  const names = execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      "import * as sdk from 'perdure'; console.log(typeof sdk.workflow, typeof sdk.step)",
    ],
    { cwd: folder, encoding: 'utf8' },
  );
  expect(names.trim()).toBe('function function');
});
