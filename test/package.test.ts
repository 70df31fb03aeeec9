/** Holds what a newcomer relies on: that the package installs, and that what it names is there. */
import { accessSync, constants, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../', import.meta.url);
const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'));

interface Manifest {
  bin: Record<string, string>;
  exports: Record<string, Record<string, string>>;
}

interface Lock {
  packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>;
}

describe('the package', () => {
  const manifest = readJson('package.json') as Manifest;

  it('has what its entry points name', () => {
    for (const target of Object.values(manifest.exports).flatMap((entry) => Object.values(entry))) {
      accessSync(new URL(target, ROOT), constants.R_OK);
    }
    for (const program of Object.values(manifest.bin)) accessSync(new URL(program, ROOT), constants.X_OK);
  });

  it('is found by its own name, as authors import it', async () => {
    const resolved = import.meta.resolve('perdure');
    expect(fileURLToPath(resolved)).toBe(fileURLToPath(new URL('dist/sdk/index.js', ROOT)));
  });
});

describe('the lock file', () => {
  const { packages } = readJson('package-lock.json') as Lock;

  // A registry that lacks the builds for other platforms leaves them out, and then `npm ci` refuses everywhere.
  it('names the optional packages of every platform', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  it('is bound to no registry', () => {
    expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  });
});
