/**
 * The files of the dashboard as the build left them. They are read once: a server serves the page that it was installed
 * with.
 *
 * Only what stands in the folder is served, by its name as a whole, so there is no path to climb out with.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PerdureError } from '../../core/errors.js';

/** The same place from src/ and from dist/. */
const FOLDER = new URL('../../../dist/ui/', import.meta.url);
const ASSETS = new URL('assets/', FOLDER);

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  type: string;
  etag: string;
  content: Buffer;
  /** The same, compressed. */
  gzipped: Buffer;
}

const compress = promisify(gzip);

export class PageFiles {
  readonly #names = new Readings<'assets', Set<string>>();
  readonly #assets = new Readings<string, PageFile>();
  readonly #index = new Readings<'index', string>();
  readonly #pages = new Readings<number, PageFile>();

  /** Whether the server wants a token, which the page then asks for. */
  constructor(private readonly wantsToken: boolean) {}

  /** A script, style or picture. @throws NotFoundError */
  async asset(name: string): Promise<PageFile> {
    const names = await this.#names.once('assets', () =>
      readdir(ASSETS).then((names) => new Set(names), unread),
    );
    const type = TYPES[extname(name)];
    if (type === undefined || !names.has(name)) {
      throw new PerdureError('NotFoundError', 'The dashboard has no such file: load the page again');
    }
    return this.#assets.once(name, () =>
      readFile(new URL(name, ASSETS)).then((content) => packed(type, content)),
    );
  }

  /** The page for an address that many folders below its own. */
  async page(depth: number): Promise<PageFile> {
    const index = await this.#index.once('index', () =>
      readFile(new URL('index.html', FOLDER), 'utf8').catch(unread),
    );
    return this.#pages.once(depth, () => {
      const up = depth === 0 ? './' : '../'.repeat(depth);
      const text = index
        .replace('<base href="./">', `<base href="${up}">`)
        .replace(
          'name="perdure-token" content="none"',
          `name="perdure-token" content="${this.wantsToken ? 'needed' : 'none'}"`,
        );
      return packed('text/html; charset=utf-8', Buffer.from(text));
    });
  }
}

/** What was read is kept, a failure is not: the process may have been short of descriptors for a moment. */
class Readings<Key, Value> {
  readonly #kept = new Map<Key, Promise<Value>>();

  once(key: Key, read: () => Promise<Value>): Promise<Value> {
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const reading = read();
    this.#kept.set(key, reading);
    reading.catch(() => this.#kept.delete(key));
    return reading;
  }
}

async function packed(type: string, content: Buffer): Promise<PageFile> {
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  return { type, etag, content, gzipped: await compress(content) };
}

function unread(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error;
  throw new PerdureError('NotFoundError', 'The dashboard has not been built: npm run build makes it');
}
