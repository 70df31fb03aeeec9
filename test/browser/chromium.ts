/** A real browser, and pages that are served to it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../../scripts/chromium-install.mjs';

/** Nothing of it calls anybody by itself. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: FLAGS, headless: true });
}

export interface Site {
  origin: string;
  close(): Promise<void>;
}

/** Serves files from memory: path to content. */
export async function serveSite(files: Record<string, string>): Promise<Site> {
  const server = createServer((request, response) => {
    const content = files[request.url!];
    const type = request.url!.endsWith('.js') ? 'text/javascript' : 'text/html';
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` });
    response.end(content);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
