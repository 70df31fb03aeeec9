/**
 * The requests of each connection that were not answered yet. On one that carries several requests one after the other, their
 * answers come before anything else that is said: whoever reads the next answer takes it for the one to the next request,
 * and would take for refused what was done.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Almost always one. A list and no Set, which would hold on to what was in it (core/values/turnover.ts): connections live long. */
const UNANSWERED = Symbol('unanswered');
type Connection = Socket & { [UNANSWERED]?: IncomingMessage[] };

/** `then` is called whenever one of its connection has been answered. */
export function owe(
  request: IncomingMessage,
  response: ServerResponse,
  then: (socket: Socket) => void,
): void {
  const socket: Connection = request.socket;
  socket[UNANSWERED] ??= [];
  const requests = socket[UNANSWERED];
  requests.push(request);
  response.on('close', () => {
    requests.splice(requests.indexOf(request), 1);
    then(socket);
  });
}

/** One that did not arrive whole is itself what is refused. */
export function isOwedAnswers(socket: Connection): boolean {
  return socket[UNANSWERED]?.some(({ complete }) => complete) === true;
}
