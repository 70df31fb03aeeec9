/**
 * A model that costs nothing, for the example: as slow, busy and unreliable as one that does. It looks up the price of each
 * thing it is asked about, adds them up and answers.
 *
 *   node examples/agent/model.mjs [port]
 */
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

/** How it behaves, call by call, over and over. */
const MOODS = ['answers', 'busy', 'answers', 'broken', 'slow'];

/** @param {{ port?: number, slowMs?: number, retryAfterSeconds?: number }} options */
export async function startModel({ port = 0, slowMs = 2_000, retryAfterSeconds = 1 } = {}) {
  let calls = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => (body += piece));
    request.on('end', () => {
      const mood = MOODS[calls++ % MOODS.length];
      if (mood === 'busy') return response.writeHead(429, { 'retry-after': String(retryAfterSeconds) }).end();
      if (mood === 'broken') return response.writeHead(503).end('out of order');
      setTimeout(() => answer(JSON.parse(body), response), mood === 'slow' ? slowMs : 10);
    });
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}`,
    calls: () => calls,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

function answer({ messages }, response) {
  const reply = nextMove(messages);
  const inputTokens = messages.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0);
  const usage = { inputTokens: inputTokens * 100, outputTokens: 50 };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ reply, usage }));
}

function nextMove(messages) {
  const wanted = ['apple', 'bread', 'cheese'].filter((what) => messages[0].text.includes(what));
  const said = messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
  const next = wanted.find((what) => !said.some((text) => text.startsWith(`${what} costs`)));
  if (next) return { tool: 'lookUpPrice', argument: next };
  const sum = said.find((text) => /^\d+$/.test(text));
  if (sum) return { answer: `That is ${sum} cents.` };
  return { tool: 'addUp', argument: said.map((text) => /\d+/.exec(text)?.[0]).join(' ') };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await startModel({ port: Number(process.argv[2] ?? 4010) });
  console.log(`the model listens on ${url}`);
}
