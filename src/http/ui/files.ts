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
  readonly #assets = new Map<string, Promise<PageFile>>();
  #names: Promise<Set<string>> | undefined;
  #index: Promise<string> | undefined;
  readonly #pages = new Map<number, Promise<PageFile>>();

  /** Whether the server wants a token, which the page then asks for. */
  constructor(private readonly wantsToken: boolean) {}

  /** A script, style or picture. @throws NotFoundError */
  async asset(name: string): Promise<PageFile> {
    this.#names ??= readdir(ASSETS).then((names) => new Set(names), notBuilt);
    const type = TYPES[extname(name)];
    if (type === undefined || !(await this.#names).has(name)) {
      throw new PerdureError('NotFoundError', 'The dashboard has no such file: load the page again');
    }
    let file = this.#assets.get(name);
    if (!file) {
      file = readFile(new URL(name, ASSETS)).then((content) => packed(type, content));
      this.#assets.set(name, file);
    }
    return file;
  }

  /** The page for an address that many folders below its own. */
  async page(depth: number): Promise<PageFile> {
    this.#index ??= readFile(new URL('index.html', FOLDER), 'utf8').catch(notBuilt);
    const index = await this.#index;
    let page = this.#pages.get(depth);
    if (!page) {
      const up = depth === 0 ? './' : '../'.repeat(depth);
      const text = index
        .replace('<base href="./">', `<base href="${up}">`)
        .replace(
          'name="perdure-token" content="none"',
          `name="perdure-token" content="${this.wantsToken ? 'needed' : 'none'}"`,
        );
      page = packed('text/html; charset=utf-8', Buffer.from(text));
      this.#pages.set(depth, page);
    }
    return page;
  }
}

async function packed(type: string, content: Buffer): Promise<PageFile> {
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  return { type, etag, content, gzipped: await compress(content) };
}

function notBuilt(): never {
  throw new PerdureError('NotFoundError', 'The dashboard has not been built: npm run build makes it');
}
