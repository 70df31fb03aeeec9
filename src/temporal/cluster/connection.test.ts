/** What is said of a cluster that does not serve. */
import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Cluster } from './connection.js';
import { CODE } from './errors.js';

let server: Http2Server;
let cluster: Cluster;
const sockets = new Set<Socket>();
afterEach(async () => {
  await cluster.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

async function clusterThat(answers: (stream: ServerHttp2Stream) => void): Promise<Cluster> {
  server = createServer();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    answers(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  cluster = await Cluster.open({ address, namespace: 'default' });
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
