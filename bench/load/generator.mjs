// The load generator, a process of its own: keep-alive connections that each send the next request when the answer to
// the last one has arrived. It is hand-written because on a machine with two cores the generator competes with what it
// measures, and this costs about half the processor time per request that a general client (autocannon) does.
//
// argv[2]: JSON { port, method, path, body, expect, connections, spread, and either seconds + warmUpSeconds, or count }.
// The seconds become more, up to `mostSeconds`, until there are `leastAnswers`.
// In path and body `$i` becomes the number of the request, and `$r` a number from 1 to `spread` that goes round. Prints one
// line of JSON; what the generator itself used of a processor is in it, so that a reader can tell when it was the limit.
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { latencies as quantiles } from '../lib/statistics.mjs';

const {
  port,
  method = 'POST',
  path,
  body = '',
  expect,
  connections,
  spread = 1,
  seconds,
  warmUpSeconds = 0,
  leastAnswers = 0,
  mostSeconds = seconds,
  count = Infinity,
} = JSON.parse(process.argv[2]);

/** An answer that takes longer than this after the end will not come; without the bound a hung server would hang us. */
const GRACE_MS = 60_000;

let sent = 0;
let measuring = warmUpSeconds === 0;
let stopped = false;
let hasGivenUp = false;
let answers = 0;
let unanswered = 0;
const latencies = [];
const wrongAnswers = [];
const openSockets = new Set();

const isOver = () => stopped || sent >= count;

const request = (text, at) =>
  `${method} ${at} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${
    method === 'GET' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  }\r\n${text}`;

const isNumbered = /\$[ir]/.test(path + body);
const fixedRequest = request(body, path);

function nextRequest() {
  sent++;
  if (!isNumbered) return fixedRequest;
  const fill = (text) => text.replaceAll('$i', String(sent)).replaceAll('$r', String(1 + (sent % spread)));
  return request(fill(body), fill(path));
}

const LAST_CHUNK = '\r\n0\r\n\r\n';

/** The length of the whole answer at the start of `text`, or undefined while some of it is missing. */
function answerLength(text) {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = text.slice(0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length === null) {
    if (!/\r\ntransfer-encoding: *chunked/i.test(head))
      throw new Error(`An answer without a length cannot be read: ${head}`);
    const end = text.indexOf(LAST_CHUNK, headEnd + 2);
    return end < 0 ? undefined : end + LAST_CHUNK.length;
  }
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
    // 202 is how a start is acknowledged by those who put it into a queue.
    const isRight = /^HTTP\/1\.1 20[02] /.test(received) && received.includes(expect);
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
    if (sentAt !== undefined && hasGivenUp) unanswered++;
    else if (sentAt !== undefined) wrongAnswers.push('The connection ended before its answer came');
    // A server that refuses connections must end the measurement rather than be dialled in a tight loop.
    if (isOver() || wrongAnswers.length > 1_000) finished();
    else drive(finished);
  });
}

let startedAt = performance.now();
let endedAt;
let cpu = process.cpuUsage();
if (seconds !== undefined) {
  setTimeout(() => {
    measuring = true;
    latencies.length = 0;
    startedAt = performance.now();
    cpu = process.cpuUsage();
    setTimeout(endOnceAnswered, seconds * 1_000);
  }, warmUpSeconds * 1_000);
}

function endOnceAnswered() {
  const elapsedMs = performance.now() - startedAt;
  if (latencies.length < leastAnswers && elapsedMs < mostSeconds * 1_000) {
    setTimeout(endOnceAnswered, 100);
    return;
  }
  endedAt = performance.now();
  measuring = false;
  stopped = true;
  cpu = process.cpuUsage(cpu);
  setTimeout(() => {
    hasGivenUp = true;
    for (const socket of openSockets) socket.destroy();
  }, GRACE_MS).unref();
}

await Promise.all(Array.from({ length: connections }, () => new Promise(drive)));
if (endedAt === undefined) {
  endedAt = performance.now();
  cpu = process.cpuUsage(cpu);
}

const elapsedMs = endedAt - startedAt;
process.stdout.write(
  `${JSON.stringify({
    perSecond: latencies.length / (elapsedMs / 1_000),
    ...quantiles(latencies),
    answers: latencies.length,
    answersWithWarmUp: answers,
    unanswered,
    generatorBusy: (cpu.user + cpu.system) / 1_000 / elapsedMs,
    wrongAnswers: wrongAnswers.length,
    firstWrongAnswer: wrongAnswers[0],
  })}\n`,
);
