/**
 * Requests that ask for another protocol. Once anything on the port takes WebSocket connections (the worker link),
 * Node would hand every upgrade to it, and clients that offer HTTP/2 with each plain request (Java's does) would get
 * no answer. Here only WebSocket counts as an upgrade; any other offer is ignored, as HTTP allows, and so is one behind calls
 * that were not answered yet, which would lose their answers.
 */
import { IncomingMessage } from 'node:http';
import { isOwedAnswers } from './unanswered.js';

export class UpgradableToWebSocketOnly extends IncomingMessage {
  /** Declared only: the constructor of IncomingMessage sets `upgrade` before a field of this class would exist. */
  declare private isAsked: boolean;

  get upgrade(): boolean {
    return this.isAsked && (this.method === 'CONNECT' || this.#isForWebSocket());
  }

  #isForWebSocket(): boolean {
    return /^websocket$/i.test(this.headers.upgrade ?? '') && !isOwedAnswers(this.socket);
  }

  /** Set by Node's parser. */
  set upgrade(asked: boolean) {
    this.isAsked = asked;
  }
}
