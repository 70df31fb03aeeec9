import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { sendHttpRequest } from '../http-steps.js';
import { allowPrivateAddresses } from './exchange.js';

const canMakeCertificates = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(!canMakeCertificates)('over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-'));
  let server: Server;
  let port: number;
  let connections = 0;

  beforeAll(async () => {
    const request =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost';
    execFileSync('openssl', request.split(' '), { cwd: folder, stdio: 'pipe' });
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => readFileSync(join(folder, file)));
    server = createServer({ key, cert }, ({ url }, response) => {
      if (url === '/down') response.writeHead(302, { location: `http://localhost:${port}/` });
      response.end('over TLS');
    });
    server.on('connection', () => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    allowPrivateAddresses('none');
  });

  test('a request is answered, and a certificate that nobody vouches for is refused', async () => {
    allowPrivateAddresses('all');
    const url = `https://localhost:${port}/`;
    await expect(sendHttpRequest({ url })).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    expect((await sendHttpRequest({ url })).body).toBe('over TLS');
  });

  test('a redirect to plain HTTP is refused', async () => {
    allowPrivateAddresses('all');
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const refusal = sendHttpRequest({ url: `https://localhost:${port}/down` });
    await expect(refusal).rejects.toThrow('redirects from https to http');
    await expect(refusal).rejects.toMatchObject({ nonRetryable: true });
  });

  test('a private address is not reached either', async () => {
    connections = 0;
    for (const host of ['localhost', '127.0.0.1']) {
      await expect(sendHttpRequest({ url: `https://${host}:${port}/` })).rejects.toMatchObject({
        name: 'BlockedAddressError',
      });
    }
    expect(connections).toBe(0);
  });
});
