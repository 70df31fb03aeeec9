// The load generator, a process of its own: keep-alive connections that each send the next request when the answer to
// the last one has arrived. It is hand-written because on a machine with two cores the generator competes with what it
// measures, and this costs about half the processor time per request that a general client (autocannon) does.
//
// argv[2]: JSON { port, path, body, expect, connections, and either seconds + warmUpSeconds, or count }.
// `$i` in the body becomes the number of the request. Prints one line of JSON.
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

const {
  port,
  path,
  body,
  expect,
  connections,
  seconds,
  warmUpSeconds = 0,
  count = Infinity,
} = JSON.parse(process.argv[2]);

const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: `;
const numbered = body.includes('$i');
const fixedRequest = `${head}${Buffer.byteLength(body)}\r\n\r\n${body}`;

let sent = 0;
let measuring = warmUpSeconds === 0;
let stopped = false;
let answers = 0;
const latencies = [];
const wrongAnswers = [];
const openSockets = new Set();

const isOver = () => stopped || sent >= count;

function nextRequest() {
  sent++;
  if (!numbered) return fixedRequest;
  const text = body.replaceAll('$i', String(sent));
  return `${head}${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** The length of the whole answer at the start of `text`, or undefined while some of it is missing. */
function answerLength(text) {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd));
  if (length === null)
    throw new Error(`An answer without a length cannot be read: ${text.slice(0, headEnd)}`);
  const total = headEnd + 4 + Number(length[1]);
  return text.length >= total ? total : undefined;
}

/** Keeps one connection busy until the measurement is over; one that the server ends after an answer is dialled anew. */
function drive(finished) {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let received = '';
  let sentAt;
  const send = () => {
    if (isOver()) {
      socket.end();
      return;
    }
    sentAt = performance.now();
    socket.write(nextRequest());
  };
  openSockets.add(socket);
  socket.setEncoding('latin1');
  socket.on('connect', send);
  socket.on('data', (chunk) => {
    received += chunk;
    const length = answerLength(received);
    if (length === undefined) return;
    const isRight = received.startsWith('HTTP/1.1 200') && received.includes(expect);
    if (!isRight) wrongAnswers.push(received.slice(0, 2_000));
    else if (measuring) latencies.push(performance.now() - sentAt);
    const isLast = /\r\nconnection: close\r\n/i.test(received.slice(0, length));
    received = received.slice(length);
    sentAt = undefined;
    answers++;
    if (isLast) socket.end();
    else send();
  });
  socket.on('error', (error) => wrongAnswers.push(`The connection broke: ${error.message}`));
  socket.on('close', () => {
    openSockets.delete(socket);
    if (sentAt !== undefined) wrongAnswers.push('The connection ended before its answer came');
    // A server that refuses connections must end the measurement rather than be dialled in a tight loop.
    if (isOver() || wrongAnswers.length > 1_000) finished();
    else drive(finished);
  });
}

let startedAt = performance.now();
let endedAt;
if (seconds !== undefined) {
  setTimeout(() => {
    measuring = true;
    latencies.length = 0;
    startedAt = performance.now();
    setTimeout(() => {
      endedAt = performance.now();
      measuring = false;
      stopped = true;
      // An answer that takes longer than this will not come; without the bound a hung server would hang the benchmark.
      setTimeout(() => {
        for (const socket of openSockets) socket.destroy();
      }, 10_000).unref();
    }, seconds * 1_000);
  }, warmUpSeconds * 1_000);
}

await Promise.all(Array.from({ length: connections }, () => new Promise(drive)));
endedAt ??= performance.now();

latencies.sort((a, b) => a - b);
const quantile = (q) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))];
process.stdout.write(
  `${JSON.stringify({
    perSecond: latencies.length / ((endedAt - startedAt) / 1_000),
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    answers: latencies.length,
    answersWithWarmUp: answers,
    wrongAnswers: wrongAnswers.length,
    firstWrongAnswer: wrongAnswers[0],
  })}\n`,
);
