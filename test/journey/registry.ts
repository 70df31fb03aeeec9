/**
 * A registry of packages on loopback, for installations as users make them where there is no network: it has this package as
 * it was packed, and every other one as it is installed here, in the versions of the lock file. What packages build or
 * fetch for a platform when they are installed is in them already, so npm is told to run none of their scripts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = 'node_modules/';

type Manifest = { name: string; version: string } & Record<string, unknown>;

interface Version {
  manifest: Manifest;
  /** Undefined for those of other platforms, which nobody fetches. */
  tarball?: (response: ServerResponse) => void;
}

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

export class LocalRegistry {
  readonly #packages = new Map<string, Map<string, Version>>();
  readonly #server: Server;

  private constructor(packed: string) {
    const own = readJson(join(ROOT, 'package.json')) as Manifest;
    this.#add(own, (response) => void createReadStream(packed).pipe(response));
    const { packages } = readJson(join(ROOT, 'package-lock.json')) as { packages: Record<string, Manifest> };
    for (const [path, locked] of Object.entries(packages)) {
      if (path === '') continue;
      const folder = join(ROOT, path);
      if (existsSync(folder))
        this.#add(readJson(join(folder, 'package.json')), (response) => pack(folder, response));
      else
        this.#add({ ...locked, name: locked.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length) });
    }
    this.#server = createServer((request, response) => this.#answer(request.url!, response));
  }

  /** `packed` is the file that npm has made of this package. */
  static async start(packed: string): Promise<LocalRegistry> {
    const registry = new LocalRegistry(packed);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #add(manifest: Manifest, tarball?: Version['tarball']): void {
    const { name, version } = manifest;
    const versions = this.#packages.get(name) ?? new Map<string, Version>();
    this.#packages.set(name, versions);
    if (!versions.get(version)?.tarball) versions.set(version, { manifest, tarball });
  }

  #answer(url: string, response: ServerResponse): void {
    const [name = '', version] = decodeURIComponent(url.slice(1)).split('/-/');
    const versions = this.#packages.get(name);
    const tarball = version === undefined ? undefined : versions?.get(version)?.tarball;
    if (tarball) {
      tarball(response);
      return;
    }
    if (!versions || version !== undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
      return;
    }
    const listed = [...versions.values()].map(({ manifest }) => [
      manifest.version,
      { ...manifest, dist: { tarball: `${this.url}${encodeURIComponent(name)}/-/${manifest.version}` } },
    ]);
    const latest = [...versions.keys()].at(-1);
    const body = { name, 'dist-tags': { latest }, versions: Object.fromEntries(listed) };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

/**
 * The files of the package itself. Those that are installed below it are packages of their own, and of what was built the
 * compiler's leavings go: they are links to what it made, which npm does not take out of a package.
 */
function pack(folder: string, response: ServerResponse): void {
  const name = basename(folder);
  const excluded = ['node_modules', 'build/Release/obj', 'build/Release/obj.target'].map(
    (path) => `--exclude=${name}/${path}`,
  );
  const tar = spawn('tar', [...excluded, '-cf', '-', '-C', dirname(folder), name], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  tar.stdout.pipe(response);
}
