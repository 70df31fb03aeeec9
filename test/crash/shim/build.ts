/** The shim, compiled when it is needed: it belongs to the machine that it runs on. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const NO_SHIM =
  'power cuts and failing disks need Linux and a C compiler (cc), and there is none here';

let built: string | undefined;

/** The path of the library; undefined where it cannot be made. */
export function diskShim(): string | undefined {
  if (built !== undefined || process.platform !== 'linux') return built;
  const library = join(mkdtempSync(join(tmpdir(), 'perdure-shim-')), 'disk.so');
  const source = fileURLToPath(new URL('disk.c', import.meta.url));
  const flags = ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'];
  const { status, error, stderr } = spawnSync('cc', flags, { encoding: 'utf8' });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined;
  if (status !== 0) throw new Error(`the shim does not compile: ${stderr}`);
  built = library;
  return built;
}

/** The environment of a process whose data folder the shim watches. */
export function shimmed(dataDir: string, settings: Record<string, string>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { LD_PRELOAD: diskShim(), DISK_SHIM_DIR: dataDir };
  for (const [name, value] of Object.entries(settings)) env[`DISK_SHIM_${name}`] = value;
  return env;
}
