/** The real program with a token, and callers who speak to it in their own words. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { freePort, Service, temporaryFolder } from '../recovery/service.js';

const workflows = fileURLToPath(new URL('./workflows', import.meta.url));
const READY_MS = 110_000;

export class Guarded {
  readonly token = randomBytes(24).toString('hex');
  readonly folder = temporaryFolder();
  readonly dataDir = join(this.folder.path, 'data');
  service!: Service;

  static async start(flags: string[] = []): Promise<Guarded> {
    const guarded = new Guarded();
    await guarded.begin(flags);
    return guarded;
  }

  /** Also again, after the last one has ended. */
  async begin(flags: string[] = []): Promise<void> {
    const tokenFile = join(this.folder.path, 'token');
    writeFileSync(tokenFile, this.token, { mode: 0o600 });
    this.service = Service.launch({
      ...{ workflows, dataDir: this.dataDir, port: await freePort(), workers: 1 },
      flags: ['--token-file', tokenFile, '--host', '127.0.0.1', ...flags],
    });
    const deadline = performance.now() + READY_MS;
    for (;;) {
      const ready = await this.call('/workflow/catalog').catch(() => undefined);
      if (ready?.status === 200 && ((await ready.json()) as { workflows: [] }).workflows.length > 0) return;
      if (performance.now() > deadline) throw new Error(`it does not get ready: ${this.service.output}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  get port(): number {
    return this.service.options.port;
  }

  call(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, ...init.headers };
    return fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
  }

  post(path: string, body: unknown = {}): Promise<Response> {
    return this.call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async close(): Promise<void> {
    await this.service.kill();
    this.folder.remove();
  }
}

export function openSocket(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}

/** Sends bytes as they are, and gives what comes back until the server ends the connection. */
export async function rawExchange(port: number, request: string | Buffer): Promise<string> {
  const socket = openSocket(port);
  socket.write(request);
  return text(socket);
}
