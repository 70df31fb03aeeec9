// The floor that any durable service stands on: HTTP in, one row synced to disk, the same body out.
// `group` commits what arrives together in one transaction, `single` makes one transaction per request.
import Database from 'better-sqlite3';
import fastify from 'fastify';

const [port, file, mode] = process.argv.slice(2);

const db = new Database(file);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
const journal = db.pragma('journal_mode', { simple: true });
const synchronous = db.pragma('synchronous', { simple: true });
if (journal !== 'wal' || synchronous !== 2) {
  throw new Error(
    `SQLite runs with journal_mode=${journal} synchronous=${synchronous}, which is not durable`,
  );
}
db.exec('CREATE TABLE request (id INTEGER PRIMARY KEY, body TEXT NOT NULL)');
const insert = db.prepare('INSERT INTO request (body) VALUES (?)');

let waiting = [];

const commitWaiting = db.transaction((requests) => {
  for (const { body } of requests) insert.run(body);
});

function flush() {
  const requests = waiting;
  waiting = [];
  commitWaiting(requests);
  for (const { resolve } of requests) resolve();
}

const commit = {
  single: (body) => {
    insert.run(body);
  },
  group: (body) =>
    new Promise((resolve) => {
      // The event loop reads every readable socket before it comes to setImmediate, so the batch is whatever came in
      // while the last commit held the process.
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ body, resolve });
    }),
}[mode];

const server = fastify();
server.post('/echo', async (request) => {
  await commit(JSON.stringify(request.body));
  return request.body;
});
await server.listen({ host: '127.0.0.1', port: Number(port) });
