/**
 * Speaks for a worker whose user code keeps it from speaking (core/task.ts, 5): from another thread of its process, over
 * a connection of its own, which is made when it is first needed.
 */
import { WebSocket } from 'ws';
import type { FromWorker, ToWorker } from '../core/task.js';
import { linkUrl, packFrames, unpackFrame } from './protocol.js';

export interface WitnessOptions {
  /** Of the server's HTTP port, such as `http://127.0.0.1:3001`. */
  serverUrl: string;
  token?: string;
  /** Of the worker that it speaks for. */
  workerId: string;
}

type Word = Extract<FromWorker, { kind: 'blocked' | 'lastWords' }>;

export class Witness {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #socket: WebSocket | undefined;

  constructor(
    { serverUrl, token }: WitnessOptions,
    /** Steps that have not begun wait for the worker. */
    private readonly onOthersWait: () => void,
  ) {
    this.#url = linkUrl(serverUrl);
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** Resolves when the word has left, or cannot be said within the time. */
  say(word: Word, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const impatience = setTimeout(resolve, withinMs);
      const done = () => {
        clearTimeout(impatience);
        resolve();
      };
      const socket = this.#connection();
      const send = () => socket.send(packFrames([word])[0]!, done);
      if (socket.readyState === WebSocket.OPEN) send();
      else socket.once('open', send);
      socket.once('close', done);
    });
  }

  #connection(): WebSocket {
    const { CONNECTING, OPEN } = WebSocket;
    const known = this.#socket;
    if (known && (known.readyState === CONNECTING || known.readyState === OPEN)) return known;
    const socket = new WebSocket(this.#url, { perMessageDeflate: false, headers: this.#headers });
    // Nothing can be done here about a server that is away; the worker's own connection tells of it.
    socket.on('error', () => {});
    socket.on('message', (data) => {
      for (const message of unpackFrame(data as Buffer) as ToWorker[]) {
        if (message.kind === 'othersWait') this.onOthersWait();
      }
    });
    this.#socket = socket;
    return socket;
  }
}
