/**
 * Answers probes on a port of its own, as a thread of its own (probes.ts): however many callers the main thread has in front
 * of it, a probe is the next one here. It does not say of itself that it is well: it passes on what the main thread says.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { localUrl } from '../local-url.js';
import { Hearsay } from './hearsay.js';
import type { FromMain, ProbeThreadData, ToMain } from './messages.js';
import { type Answer, answer, type Request, requestOf } from './one-request.js';

/** Few, since they take descriptors from callers. */
const MAX_CONNECTIONS = 64;

const main = parentPort!;
const { host, port } = workerData as ProbeThreadData;
const tell = (message: ToMain) => main.postMessage(message);
const hearsay = new Hearsay();
const connections = new Set<Socket>();
/** Those whose request is there, and those who have been answered and have not hung up. */
const heard = new WeakSet<Socket>();
const answered = new Set<Socket>();
/** Those who wait for what the main thread says of itself. */
const waiting = new Set<() => void>();

main.on('message', (message: FromMain) => {
  switch (message.kind) {
    case 'alive':
      return hearsay.isAlive();
    case 'readiness': {
      hearsay.readiness(message.whyNot, performance.now());
      for (const go of waiting) go();
      return;
    }
    case 'close':
      process.exit();
  }
});

const server = createServer({ allowHalfOpen: true }, (socket) => {
  connections.add(socket);
  socket
    .on('error', () => {})
    .once('close', () => {
      connections.delete(socket);
      answered.delete(socket);
    });
  void serve(socket);
  if (connections.size > MAX_CONNECTIONS) leaveOne(socket);
});
server.on('error', ({ code, message }: NodeJS.ErrnoException) =>
  tell({ kind: 'failed', error: { code, message } }),
);
server.listen({ host, port }, () =>
  tell({ kind: 'listening', url: localUrl(server.address() as AddressInfo) }),
);

/**
 * Who has been answered needs nothing more. Who holds a connection without asking anything is no probe, and the oldest of them
 * least of all; the newest had no time to ask.
 */
function leaveOne(newest: Socket): void {
  const [oldestAnswered] = answered;
  const [oldest] = connections;
  const isSilent = (socket: Socket) => socket !== newest && !heard.has(socket);
  const left = oldestAnswered ?? [...connections].find(isSilent) ?? oldest!;
  connections.delete(left);
  answered.delete(left);
  left.destroy();
}

async function serve(socket: Socket): Promise<void> {
  const request = await requestOf(socket);
  heard.add(socket);
  answer(socket, request, await answerTo(request));
  if (connections.has(socket)) answered.add(socket);
}

async function answerTo(request: Request | undefined): Promise<Answer> {
  if (request === undefined) return refusal(400, 'ValidationError', 'This is no request of HTTP/1.1');
  const { method, path } = request;
  if ((method !== 'GET' && method !== 'HEAD') || (path !== '/health' && path !== '/ready')) {
    return refusal(404, 'NotFoundError', 'This port has GET /health and GET /ready alone');
  }
  if (hearsay.mustAsk(performance.now())) tell({ kind: 'ask' });
  if (path === '/health') return verdict('ok', hearsay.whyNotHealthy(performance.now()));
  await readinessWithin(hearsay.patienceMs(performance.now()));
  return verdict('ready', hearsay.whyNotReady(performance.now()));
}

const refusal = (status: number, error: string, message: string): Answer => ({
  status,
  body: { error, message },
});

function verdict(well: string, whyNot: string | undefined): Answer {
  if (whyNot === undefined) return { status: 200, body: { status: well } };
  return { status: 503, body: { status: 'unavailable', reason: whyNot } };
}

async function readinessWithin(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const go = () => {
      clearTimeout(giveUp);
      waiting.delete(go);
      resolve();
    };
    const giveUp = setTimeout(go, ms);
    waiting.add(go);
  });
}
