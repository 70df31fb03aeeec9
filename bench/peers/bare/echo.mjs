// A server that does nearly nothing: it shows how much the load generator can send on this machine, and so whether the
// generator was the limit of a measurement. Each connection has one request under way, which comes in one piece.
import { createServer } from 'node:net';

const answer = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"n":7}';

createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.write(answer));
  socket.on('error', () => socket.destroy());
}).listen(Number(process.argv[2]), '127.0.0.1');
