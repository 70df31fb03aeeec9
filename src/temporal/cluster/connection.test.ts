/** How a cluster is called, and what is said of one that does not serve. */
import { once } from 'node:events';
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { PlainAbort } from '../../core/abort.js';
import { Cluster, type TemporalSettings } from './connection.js';
import { CODE } from './errors.js';

let server: Http2Server;
let cluster: Cluster;
const sockets = new Set<Socket>();
afterEach(async () => {
  await cluster.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

async function clusterThat(
  answers: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  settings: Partial<TemporalSettings> = {},
): Promise<Cluster> {
  server = createServer();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    answers(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  cluster = await Cluster.open({ address, namespace: 'default', ...settings });
  return cluster;
}

const refusing = (code: number) => (stream: ServerHttp2Stream) =>
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code) },
    { endStream: true },
  );

test.each([
  { what: 'has too much to do', answers: refusing(CODE.RESOURCE_EXHAUSTED), said: 'refuses calls' },
  { what: 'says nothing', answers: () => {}, said: 'does not answer in time' },
  { what: 'is about to end', answers: refusing(CODE.UNAVAILABLE), said: 'cannot be reached' },
])('of one that $what, that it $said', async ({ answers, said }) => {
  await expect((await clusterThat(answers)).ready()).rejects.toMatchObject({
    name: 'EngineUnavailableError',
    message: expect.stringContaining(said),
  });
});

test('by calls that name the namespace and carry the key', async () => {
  const calls: IncomingHttpHeaders[] = [];
  const cluster = await clusterThat(
    (stream, headers) => {
      calls.push(headers);
      refusing(CODE.PERMISSION_DENIED)(stream);
    },
    { namespace: 'orders', apiKey: 'a key', tls: false },
  );

  await expect(cluster.ready()).rejects.toThrow('refuses the credentials');
  expect(calls).toEqual([
    expect.objectContaining({
      ':path': '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace',
      'temporal-namespace': 'orders',
      authorization: 'Bearer a key',
    }),
  ]);
});

test.each([
  { when: 'its caller leaves', end: (_: Cluster, caller: PlainAbort) => caller.abort() },
  { when: 'the connection is closed', end: (cluster: Cluster) => void cluster.close() },
])('by a call that is called off when $when', { timeout: 15_000 }, async ({ end }) => {
  const held: ServerHttp2Stream[] = [];
  const cluster = await clusterThat((stream) => held.push(stream));
  const caller = new PlainAbort();
  const { namespace } = cluster;
  const ended = cluster
    .call((service) => service.describeNamespace({ namespace }), { abort: caller, timeoutMs: 3_600_000 })
    .catch((error) => error);
  await vi.waitUntil(() => held.length === 1);
  const calledOff = once(held[0] as ServerHttp2Stream, 'aborted');

  end(cluster, caller);
  expect(await ended).toMatchObject({ name: 'EngineUnavailableError' });
  await calledOff;
});

test('by no call of a caller who has left already', async () => {
  const calls: ServerHttp2Stream[] = [];
  const cluster = await clusterThat((stream) => calls.push(stream));
  const caller = new PlainAbort();
  caller.abort();
  const { namespace } = cluster;

  const call = cluster.call((service) => service.describeNamespace({ namespace }), { abort: caller });
  await expect(call).rejects.toThrow('the caller has left');
  expect(calls).toEqual([]);
});
