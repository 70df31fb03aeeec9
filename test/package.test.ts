/** Holds what a newcomer relies on: that the package installs, and that what it names is there. */
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { satisfies } from 'semver';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../', import.meta.url);
const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'));

interface Manifest {
  engines: { node: string };
  files: string[];
  dependencies: Record<string, string>;
  repository: { url: string };
  bin: Record<string, string>;
  exports: Record<string, Record<string, string>>;
}

interface Lock {
  packages: Record<
    string,
    {
      resolved?: string;
      dev?: boolean;
      devOptional?: boolean;
      engines?: { node?: string };
      optionalDependencies?: Record<string, string>;
    }
  >;
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

describe('what is read first', () => {
  const manifest = readJson('package.json') as Manifest;
  const page = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
  const shipped = [
    ...manifest.files.filter((entry) => entry.endsWith('.md')),
    ...readdirSync(new URL('docs', ROOT))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  const links = shipped.flatMap((from) =>
    [...page(from).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => ({ from, to: to! })),
  );
  const isShipped = (path: string) =>
    manifest.files.some((entry) => path === entry || path.startsWith(`${entry}/`));

  it('is shipped with the package', () => {
    expect(shipped).toEqual(expect.arrayContaining(['README.md', 'docs/writing-workflows.md']));
    expect(links.length).toBeGreaterThan(20);
  });

  it.each(links)('$from leads to $to', ({ from, to }) => {
    if (/^https?:/.test(to)) {
      const ofRepository = /^https:\/\/github\.com\/perdure\/perdure\/(?:blob|tree)\/main\/(.+)$/.exec(to);
      if (ofRepository) accessSync(new URL(ofRepository[1]!, ROOT));
      return;
    }
    const [path = '', anchor] = to.split('#');
    const target = path === '' ? from : posix.join(posix.dirname(from), path);
    expect(isShipped(target), `${target} is in the package`).toBe(true);
    accessSync(new URL(target, ROOT));
    if (anchor !== undefined) expect(anchorsOf(page(target))).toContain(anchor);
  });

  it('leads from the README to every page', () => {
    const linked = links.filter(({ from }) => from === 'README.md').map(({ to }) => to.split('#')[0]);
    const pages = shipped.filter((path) => path.startsWith('docs/'));
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((path) => !linked.includes(path))).toEqual([]);
  });

  it('says how to get it, and where it comes from', () => {
    expect(page('README.md')).toContain('npm install perdure\n');
    expect(manifest.repository.url).toBe('git+https://github.com/perdure/perdure.git');
  });
});

/** The headings of a page as links name them. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .trim()
      .replaceAll(' ', '-'),
  );

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

  // Users resolve by the ranges of the manifests, not by this file: what one of ours would bring along is pinned in our own.
  it('has nothing for users that wants a newer Node than the package does', () => {
    const { engines, dependencies } = readJson('package.json') as Manifest;
    const oldest = engines.node.replace('>=', '');
    const used = Object.entries(packages).filter(
      ([path, { dev, devOptional }]) => path && !dev && !devOptional,
    );
    expect(used.length).toBeGreaterThan(50);
    const tooNew = used.filter(([, { engines }]) => engines?.node && !satisfies(`${oldest}.0`, engines.node));
    expect(tooNew.map(([path]) => path)).toEqual([]);
    const exact = Object.entries(dependencies).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version));
    expect(exact).toEqual([]);
  });

  it('is bound to no registry', () => {
    expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  });
});
