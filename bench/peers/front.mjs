// The least that makes a library callable over HTTP: `POST /<name>[/<id>]` calls the handler of that name with the body.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

export function serve(port, handlers) {
  createServer(async (request, response) => {
    try {
      const [, name, id] = request.url.split('/');
      const handle = handlers[name];
      const answer = await handle(await json(request), id);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    } catch (error) {
      response.writeHead(500).end(JSON.stringify({ error: String(error) }));
    }
  }).listen(Number(port), '127.0.0.1');
}
