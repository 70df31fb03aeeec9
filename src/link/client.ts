/**
 * The worker's end of the link: dials the server, and dials again for as long as it is not closed.
 *
 * What was sent on a connection that is lost is lost with it; `onClose` tells the worker, which then forgets what
 * was under way (core/task.ts, 3).
 */
import type { IncomingMessage } from 'node:http';
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';
import { type RawData, WebSocket } from 'ws';
import type { Log } from '../core/log.js';
import type { FromWorker, ToWorker } from '../core/task.js';
import { Outbox } from './outbox.js';
import { linkUrl, MAX_FRAME_BYTES, packFrames, unpackFrame } from './protocol.js';

export interface LinkClientOptions {
  /** Of the server's HTTP port, such as `http://127.0.0.1:3001`. */
  serverUrl: string;
  token?: string;
  log: Log;
  onOpen(): void;
  /** The messages of one frame, in order. */
  onMessages(messages: ToWorker[]): void;
  /** Only after an `onOpen`. */
  onClose(): void;
  /** The first wait before dialling again; it doubles up to `maxRetryMs`. */
  minRetryMs?: number;
  maxRetryMs?: number;
  /** A server that says nothing for so long, not even a ping, is taken for lost. */
  silenceMs?: number;
}

/** A server that stays away is worth a line now and then, not one per attempt. */
const LOG_EVERY_MS = 30_000;
const STABLE_MS = 5_000;
/** What dialling again does not mend. */
const REFUSED = /^HTTP (401|403|429)\b/;

export class LinkClient {
  readonly #url: string;
  readonly #outbox = new Outbox<FromWorker>((messages) => this.#deliver(messages));
  #socket: WebSocket | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #openedAt = 0;
  #quietChecks = 0;
  #listening: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: LinkClientOptions) {
    this.#url = linkUrl(options.serverUrl);
    this.#dial();
  }

  /** Dropped without a word while there is no connection. */
  send(message: FromWorker): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#outbox.add(message);
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** What was sent so far leaves now. */
  flush(): void {
    this.#outbox.flush();
  }

  /** Resolves once the server has seen what was sent so far, and what it had sent by then has arrived here. */
  async roundTrip(): Promise<void> {
    this.#outbox.flush();
    // The first answer may overtake messages that wait in the server's outbox; the second does not.
    for (let i = 0; i < 2; i++) {
      const socket = this.#socket;
      if (socket?.readyState !== WebSocket.OPEN) return;
      await new Promise<void>((resolve) => {
        socket.once('pong', resolve);
        socket.once('close', resolve);
        socket.ping();
      });
    }
  }

  /** Sends what is waiting and ends the connection for good. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const socket = this.#socket;
    if (!socket || socket.readyState === WebSocket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const impatience = setTimeout(() => socket.terminate(), 1_000);
      socket.once('close', () => {
        clearTimeout(impatience);
        resolve();
      });
      this.#outbox.flush();
      socket.close(1000);
    });
  }

  #dial(): void {
    const { token } = this.options;
    const socket = new WebSocket(this.#url, {
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      handshakeTimeout: 10_000,
      // Masking keeps web pages from speaking to careless proxies; a worker is none, and it costs as much as a turn.
      generateMask: (mask) => mask.fill(0),
      skipUTF8Validation: true,
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    });
    this.#socket = socket;
    let opened = false;
    let reason = '';
    socket.on('open', () => {
      opened = true;
      this.#openedAt = performance.now();
      this.#listen(socket);
      this.options.onOpen();
    });
    socket.on('message', (data) => this.#receive(data));
    socket.on('ping', () => {
      this.#quietChecks = 0;
    });
    socket.on('unexpected-response', (_request, response) => {
      void refusal(response).then((text) => {
        reason = text;
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      reason ||= (error as NodeJS.ErrnoException).code ?? error.message;
    });
    socket.on('close', (code, text) => {
      this.#outbox.clear();
      clearInterval(this.#listening);
      // A server that takes the connection and drops it at once is no better than none.
      if (opened && performance.now() - this.#openedAt > STABLE_MS) {
        this.#failures = 0;
        this.#loggedAt = Number.NEGATIVE_INFINITY;
      }
      if (opened) this.options.onClose();
      if (this.#closed) return;
      this.#redial(reason || text.toString() || `closed with code ${code}`);
    });
  }

  /** Counts checks rather than time: after user code has blocked the worker, what arrived meanwhile is read first. */
  #listen(socket: WebSocket): void {
    const { silenceMs = 45_000 } = this.options;
    this.#quietChecks = 0;
    this.#listening = setInterval(() => {
      if (++this.#quietChecks > 3) socket.terminate();
    }, silenceMs / 3);
  }

  #redial(reason: string): void {
    const { minRetryMs = 50, maxRetryMs = 2_000, log, serverUrl } = this.options;
    const now = performance.now();
    if (now - this.#loggedAt >= LOG_EVERY_MS) {
      this.#loggedAt = now;
      if (REFUSED.test(reason)) {
        log.error(
          { server: serverUrl, reason },
          `the server refuses this worker (${reason}). Until it is taken it does no work`,
        );
      } else log.warn({ server: serverUrl, reason }, `no connection to the server (${reason}); trying again`);
    }
    const ceiling = Math.min(maxRetryMs, minRetryMs * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 20);
    this.#retry = setTimeout(() => this.#dial(), ceiling * (0.5 + Math.random() / 2));
  }

  #deliver(messages: FromWorker[]): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    for (const frame of packFrames(messages)) socket.send(frame);
  }

  #receive(data: RawData): void {
    this.options.onMessages(unpackFrame(data as Buffer) as ToWorker[]);
  }
}

/** The server's own words, when they are few. */
function refusal(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      if (text.length < 1_000) text += chunk;
    });
    response.on('close', () => resolve(`HTTP ${response.statusCode}: ${text.slice(0, 1_000)}`));
    response.on('error', () => resolve(`HTTP ${response.statusCode}`));
  });
}
