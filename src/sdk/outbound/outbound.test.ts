import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { addressPolicy, isPublicAddress } from '../../core/values/addresses.js';
import { sendHttpRequest } from '../http-steps.js';
import { allowPrivateAddresses, exchange } from './exchange.js';

/** What names lead to, one answer after the other; the last one stays. */
const names = vi.hoisted(() => new Map<string, { address: string; family: number }[][]>());
vi.mock('node:dns', async (original) => {
  const dns = await original<typeof import('node:dns')>();
  const lookup = (hostname: string, options: object, callback: (...args: unknown[]) => void) => {
    const answers = names.get(hostname);
    if (!answers) return dns.lookup(hostname, options, callback as never);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    process.nextTick(callback, null, answer);
  };
  return { ...dns, default: { ...dns, lookup }, lookup };
});

/** Whoever connects to it has sent a packet. */
let canary: Server;
let connections = 0;
let port: number;

beforeAll(async () => {
  canary = createServer((socket) => {
    connections++;
    socket.resume();
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi');
  });
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  port = (canary.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => canary.close(resolve)));
afterEach(() => {
  connections = 0;
  names.clear();
  allowPrivateAddresses('none');
});

const v4 = (address: string) => ({ address, family: 4 });
const v6 = (address: string) => ({ address, family: 6 });

async function expectBlocked(url: string): Promise<void> {
  const refusal = sendHttpRequest({ url });
  await expect(refusal, url).rejects.toMatchObject({ name: 'BlockedAddressError', nonRetryable: true });
  await expect(refusal, url).rejects.toThrow('--allow-private-addresses');
  expect(connections, url).toBe(0);
}

describe('a private address', () => {
  test.each([
    ['dotted', '127.0.0.1'],
    ['short', '127.1'],
    ['decimal', '2130706433'],
    ['hexadecimal', '0x7f000001'],
    ['octal', '0177.0.0.1'],
    ['with hexadecimal parts', '0x7f.0.0.0x1'],
    ['in full-width digits', '１２７.0.0.1'],
    ['any', '0.0.0.0'],
    ['zero', '0'],
    ['with a dot at its end', '127.0.0.1.'],
    ['of IPv6', '[::1]'],
    ['of IPv6, any', '[::]'],
    ['of IPv4 in IPv6', '[::ffff:127.0.0.1]'],
    ['of IPv4 in IPv6, hexadecimal', '[::ffff:7f00:1]'],
    ['of IPv4 in IPv6, the older way', '[::127.0.0.1]'],
    ['through NAT64', '[64:ff9b::7f00:1]'],
    ['through local NAT64', '[64:ff9b:1::7f00:1]'],
    ['through 6to4', '[2002:7f00:1::]'],
    ['through Teredo', '[2001:0:7f00:1::]'],
    ['of the metadata of a cloud', '169.254.169.254'],
    ['of the metadata of a cloud, in IPv6', '[fd00:ec2::254]'],
    ['as a name', 'localhost'],
    ['as a name in capitals', 'LOCALHOST'],
  ])('%s is not reached', async (_how, host) => {
    await expectBlocked(`http://${host}:${port}/`);
  });

  test.each([
    ['alone', [v4('10.0.0.1')]],
    ['beside a public one', [v4('93.184.215.14'), v4('127.0.0.1')]],
    ['of IPv6 beside a public one', [v4('93.184.215.14'), v6('::1')]],
    ['of IPv4 in IPv6', [v6('::ffff:127.0.0.1')]],
  ])('behind a name is not reached (%s)', async (_how, answer) => {
    names.set('rebound.example', [answer]);
    await expectBlocked(`http://rebound.example:${port}/`);
  });

  test('is not reached when a name changes its mind between two requests', async () => {
    names.set('flip.example', [[v4('127.0.0.1')], [v4('127.0.0.2')]]);
    allowPrivateAddresses(['127.0.0.1']);
    expect((await sendHttpRequest({ url: `http://flip.example:${port}/` })).body).toBe('hi');
    connections = 0;
    await expectBlocked(`http://flip.example:${port}/`);
  });

  test('is not reached through a redirect', async () => {
    const server = createHttpServer((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.2:${port}/` }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    allowPrivateAddresses(['127.0.0.1']);
    await expectBlocked(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await new Promise((resolve) => server.close(resolve));
  });

  test('is reached where the operator allows it', async () => {
    allowPrivateAddresses('all');
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      expect((await sendHttpRequest({ url: `http://${host}:${port}/` })).body).toBe('hi');
    }
    expect(connections).toBe(3);
  });

  test.each([
    [
      '10.255.255.255',
      '100.64.0.1',
      '172.31.0.1',
      '192.168.1.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
    ],
    ['fe80::1', 'fe80::1%eth0', 'fc00::1', 'ff02::1', '100::1', '2001:db8::1', '5f00::1', 'nonsense', ''],
    Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []),
  ])('is %s, and more', (...addresses) => {
    for (const address of addresses) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });

  test('is not what the internet has', () => {
    for (const address of [
      '1.1.1.1',
      '9.255.255.255',
      '11.0.0.1',
      '100.128.0.1',
      '172.32.0.1',
      '2606:4700::1111',
    ]) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
  });

  test('may be allowed by its network', () => {
    const isAllowed = addressPolicy(['10.1.0.0/16', 'fd00::/8', '127.0.0.1']);
    const judged = ['10.1.2.3', '10.2.0.1', 'fd12::1', 'fe80::1', '127.0.0.1', '127.0.0.2', '1.1.1.1'].map(
      isAllowed,
    );
    expect(judged).toEqual([true, false, true, false, true, false, true]);
    for (const wrong of ['10.0.0.0/33', '10.0.0.0/', 'localhost', '10.0.0.0/8/8', '']) {
      expect(() => addressPolicy([wrong])).toThrow('is not an address');
    }
  });
});

describe('an answer', () => {
  test('that is compressed is read, and counted as what it becomes', async () => {
    allowPrivateAddresses('all');
    const server = createHttpServer((request, response) => {
      const bytes = request.url === '/bomb' ? 20 * 1024 * 1024 : 100;
      response.setHeader('content-encoding', 'gzip');
      if (request.method === 'HEAD') response.end();
      else response.end(gzipSync(Buffer.alloc(bytes, 'x')));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await sendHttpRequest({ url })).body).toBe('x'.repeat(100));
    expect((await sendHttpRequest({ url, method: 'HEAD' })).body).toBeNull();
    await expect(sendHttpRequest({ url: `${url}/bomb` })).rejects.toThrow('more than 10485760 bytes');
    await new Promise((resolve) => server.close(resolve));
  });

  test('is not waited for when the step is told to stop, whether it has begun or not', async () => {
    allowPrivateAddresses('all');
    const server = createHttpServer((request, response) => {
      if (request.url === '/begun') response.write('a beginning');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const outgoing = { method: 'GET', headers: new Headers(), body: undefined };
    const reason = new Error('the step was cancelled');

    const silent = new AbortController();
    const never = exchange(url, { ...outgoing, signal: silent.signal });
    server.once('request', () => silent.abort(reason));
    await expect(never).rejects.toBe(reason);
    await expect(exchange(url, { ...outgoing, signal: silent.signal })).rejects.toBe(reason);

    const begun = new AbortController();
    const answer = await exchange(new URL('/begun', url), { ...outgoing, signal: begun.signal });
    const text = answer.text();
    begun.abort(reason);
    await expect(text).rejects.toBe(reason);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('is for one request: headers of the connection are refused', async () => {
    allowPrivateAddresses('all');
    const url = `http://127.0.0.1:${port}/`;
    for (const name of ['Content-Length', 'Transfer-Encoding', 'Connection', 'Upgrade']) {
      await expect(sendHttpRequest({ url, headers: { [name]: '1' } })).rejects.toMatchObject({
        nonRetryable: true,
      });
    }
    expect(connections).toBe(0);
  });
});
