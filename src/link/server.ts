/**
 * The server's end of the link: workers dial the server's own port, and each connection becomes a session of the
 * engine. Whatever a worker sends or fails to do ends its own connection at most.
 *
 * 1. Nobody gets past the handshake without being authorised.
 * 2. What waits to be sent to one worker is bounded; a worker that does not read is disconnected.
 * 3. When a connection ends, for whatever reason, its session is told exactly once.
 */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { Log } from '../core/log.js';
import type { FromWorker, ToWorker } from '../core/task.js';
import { requestId } from '../core/values/request-id.js';
import type { TaskSource, WorkerSession } from '../engine.js';
import { shapeProblem } from './from-worker.js';
import { Outbox } from './outbox.js';
import { LINK_PATH, LINK_VERSION, MAX_FRAME_BYTES, packFrames, unpackFrame } from './protocol.js';

export interface WorkerLinkOptions {
  /** Whether the request may open a link, or when to ask again; asked before the handshake. */
  authorize(request: IncomingMessage): boolean | { retryAfterSeconds: number };
  /** What a worker without the right token is told to do; there may be none that it could have. */
  remedy?: string;
  log: Log;
  /** How often a quiet connection is asked whether it is still there. */
  pingIntervalMs?: number;
  /**
   * A worker that says nothing for so long is taken for lost. Longer than a worker may legitimately be busy with
   * one synchronous piece of user code: its own watchdog ends it after a minute of that.
   */
  silenceMs?: number;
  /** Bytes that may wait in a worker's socket before more are sent: a few whole histories. */
  maxBufferedBytes?: number;
}

export interface WorkerLink {
  close(): Promise<void>;
  connections(): number;
}

export function attachWorkerLink(server: Server, source: TaskSource, options: WorkerLinkOptions): WorkerLink {
  const { log, pingIntervalMs = 10_000, silenceMs = 75_000, maxBufferedBytes = 256 * 1024 * 1024 } = options;
  const { remedy = 'Give it that in API_AUTH_TOKEN' } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
  });
  const connections = new Set<Connection>();
  let closing = false;

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    // Not by `new URL`: what anybody may send need not be one, and nobody would catch what it throws.
    const [path, query] = (request.url ?? '').split('?', 2);
    if (path !== LINK_PATH) return refuseElsewhere(socket, request);
    const authorized = options.authorize(request);
    if (authorized === false) {
      return refuse(socket, 401, `A worker needs the token of this server. ${remedy}`);
    }
    if (authorized !== true) {
      const { retryAfterSeconds } = authorized;
      return refuse(socket, 429, TOO_MANY, { 'Retry-After': String(retryAfterSeconds) });
    }
    const version = new URLSearchParams(query).get('version');
    if (version !== String(LINK_VERSION)) {
      return refuse(
        socket,
        426,
        `This server speaks version ${LINK_VERSION} of the worker link and the worker speaks ${version ?? 'none'}: run the same version of perdure on both sides`,
      );
    }
    if (closing) return refuse(socket, 503, 'The server is shutting down');
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const remote = `${request.socket.remoteAddress}:${request.socket.remotePort}`;
      const connection = new Connection(webSocket, source, log, remote, maxBufferedBytes);
      connections.add(connection);
      webSocket.on('close', () => connections.delete(connection));
    });
  };
  server.on('upgrade', onUpgrade);

  const maxUnanswered = Math.ceil(silenceMs / pingIntervalMs);
  const pings = setInterval(() => {
    for (const connection of connections) connection.ping(maxUnanswered);
  }, pingIntervalMs);
  pings.unref();

  return {
    connections: () => connections.size,
    async close() {
      closing = true;
      server.off('upgrade', onUpgrade);
      clearInterval(pings);
      await Promise.all([...connections].map((connection) => connection.close()));
    },
  };
}

/** Who asks for another protocol where there is none is no worker, and reads errors as the API writes them. */
function refuseElsewhere(socket: Duplex, { headers }: IncomingMessage): void {
  const message = 'Nothing here accepts a protocol upgrade';
  refuse(socket, 404, JSON.stringify({ error: 'NotFoundError', message }), {
    'X-Request-ID': requestId(headers),
    'Content-Type': 'application/json; charset=utf-8',
  });
}

const TOO_MANY = 'A worker needs the token of this server, and too many wrong ones came from its address';

function refuse(
  socket: Duplex,
  status: number,
  reason: string,
  headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {},
): void {
  const all = { 'Content-Type': 'text/plain; charset=utf-8', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(reason)}\r\nConnection: close\r\n\r\n${reason}`,
    // A peer that does not end its side would keep the socket otherwise, beyond every timeout and the end of the server.
    () => socket.destroy(),
  );
}

/** As much as the frame that closes a WebSocket may carry. */
const MAX_FAREWELL_BYTES = 123;

class Connection {
  readonly #session: WorkerSession;
  readonly #outbox: Outbox<ToWorker>;
  #unanswered = 0;
  #open = true;

  constructor(
    private readonly socket: WebSocket,
    source: TaskSource,
    private readonly log: Log,
    private readonly remote: string,
    private readonly maxBufferedBytes: number,
  ) {
    this.#outbox = new Outbox((messages) => this.#deliver(messages));
    this.#session = source.connect(
      (message) => {
        if (this.#open) this.#outbox.add(message);
      },
      (reason) => this.#drop(reason),
      () => this.#outbox.flush(),
    );
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => {
      this.#unanswered = 0;
      if (this.#open) this.#session.seen?.();
    });
    socket.on('error', (error) => log.warn({ worker: remote, err: error }, 'worker link failed'));
    socket.on('close', () => this.#ended());
  }

  ping(maxUnanswered: number): void {
    if (this.#unanswered++ >= maxUnanswered) this.#drop('it has not answered for too long');
    else this.socket.ping();
  }

  /** Says goodbye, and does not wait longer than a second for the other side to say it too. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      const impatience = setTimeout(() => this.socket.terminate(), 1_000);
      this.socket.once('close', () => {
        clearTimeout(impatience);
        resolve();
      });
      this.#outbox.flush();
      this.socket.close(1001, 'the server is shutting down');
    });
  }

  #deliver(messages: ToWorker[]): void {
    if (!this.#open) return;
    if (this.socket.bufferedAmount > this.maxBufferedBytes) {
      this.#drop(`it does not read: ${this.socket.bufferedAmount} bytes wait for it`);
      return;
    }
    try {
      for (const frame of packFrames(messages)) this.socket.send(frame);
    } catch (error) {
      this.log.error({ worker: this.remote, err: error }, 'messages to a worker could not be packed');
      this.#drop('a message to it could not be sent');
    }
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.#unanswered = 0;
    let messages: unknown[];
    try {
      if (!isBinary) throw new TypeError('a frame is binary');
      messages = unpackFrame(data as Buffer);
    } catch (error) {
      this.#drop(`it sent a frame that cannot be read: ${(error as Error).message}`);
      return;
    }
    for (const message of messages) if (this.#open) this.#handle(message);
  }

  #handle(message: unknown): void {
    const problem = shapeProblem(message);
    if (problem) {
      // Said to the worker too: what it registers is its author's to mend.
      this.#drop(`it sent a malformed message: ${problem}`, problem);
      return;
    }
    try {
      this.#session.receive(message as FromWorker);
    } catch (error) {
      this.log.error({ worker: this.remote, err: error }, 'a message of a worker could not be handled');
      this.#drop('its message could not be handled');
    }
  }

  /** `farewell` is what the worker is told. */
  #drop(reason: string, farewell?: string): void {
    if (!this.#open) return;
    this.log.warn({ worker: this.remote, reason }, `worker disconnected: ${reason}`);
    if (farewell === undefined) this.socket.terminate();
    else {
      this.socket.close(1008, Buffer.from(farewell).subarray(0, MAX_FAREWELL_BYTES));
      // One that does not answer the farewell is left all the same.
      setTimeout(() => this.socket.terminate(), 1_000).unref();
    }
    this.#ended();
  }

  #ended(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#outbox.clear();
    this.#session.disconnected();
  }
}
