/**
 * The requests of each connection that were not answered yet. On one that carries several requests one after the other, their
 * answers come before anything else that is said: whoever reads the next answer takes it for the one to the next request,
 * and would take for refused what was done.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const unanswered = new WeakMap<Socket, Set<IncomingMessage>>();

/** `then` is called whenever one of its connection has been answered. */
export function owe(
  request: IncomingMessage,
  response: ServerResponse,
  then: (socket: Socket) => void,
): void {
  const { socket } = request;
  let ofSocket = unanswered.get(socket);
  if (!ofSocket) {
    ofSocket = new Set();
    unanswered.set(socket, ofSocket);
  }
  ofSocket.add(request);
  response.on('close', () => {
    ofSocket.delete(request);
    then(socket);
  });
}

/** One that did not arrive whole is itself what is refused. */
export function isOwedAnswers(socket: Socket): boolean {
  for (const { complete } of unanswered.get(socket) ?? []) if (complete) return true;
  return false;
}
