// Readers of one run's stream, in a process of their own, and the one who signals that run. Each signal is sent when the
// last reader has the one before, so that what is measured is the way of one event to all of them.
//
// argv[2]: JSON { port, workflowId, readers, signals }. Prints one line of JSON.
import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { latencies } from '../lib/statistics.mjs';

const { port, workflowId, readers, signals } = JSON.parse(process.argv[2]);
/** Beyond this somebody has lost an event. */
const PATIENCE_MS = 30_000;

let faults = 0;
let events = 0;
let awaited;

/** Follows the stream; tells `onSignal` the number of signals it has had, and counts what is not next in order. */
function follow(onSignal) {
  return new Promise((connected, failed) => {
    const call = request(
      { host: '127.0.0.1', port, path: `/workflow/${workflowId}/history/stream` },
      (response) => {
        if (response.statusCode !== 200) failed(new Error(`a stream was answered ${response.statusCode}`));
        let text = '';
        let last = 0;
        let signalled = 0;
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
          for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
            const frame = text.slice(0, end);
            text = text.slice(end + 2);
            const data = /^data: (.*)$/m.exec(frame);
            if (!/^event: history$/m.test(frame) || data === null) continue;
            for (const { eventId, eventTypeName } of JSON.parse(data[1])) {
              if (Number(eventId) !== last + 1) faults++;
              last = Number(eventId);
              if (eventTypeName === 'WORKFLOW_EXECUTION_SIGNALED') onSignal(++signalled);
            }
            events = Math.max(events, last);
            connected(() => call.destroy());
          }
        });
        response.on('error', () => {});
      },
    );
    call.on('error', failed);
    call.end();
  });
}

function signal() {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: `/workflow/${workflowId}/signal/add`,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200
            ? resolve()
            : reject(new Error(`a signal was answered ${response.statusCode}`)),
        );
      },
    );
    call.on('error', reject);
    call.end('{"payload":1}');
  });
}

const leave = await Promise.all(
  Array.from({ length: readers }, () => follow((number) => awaited?.arrived(number))),
);
const lags = [];
const startedAt = performance.now();
for (let number = 1; number <= signals; number++) {
  const sentAt = performance.now();
  let missing = readers;
  const all = new Promise((resolve) => {
    awaited = {
      arrived: (arrived) => {
        if (arrived === number && --missing === 0) resolve();
      },
    };
    setTimeout(() => {
      faults += missing;
      resolve();
    }, PATIENCE_MS).unref();
  });
  await Promise.all([signal(), all]);
  lags.push(performance.now() - sentAt);
}
const elapsedMs = performance.now() - startedAt;
for (const end of leave) end();
process.stdout.write(
  `${JSON.stringify({
    events,
    faults,
    deliveriesPerSecond: (readers * events) / (elapsedMs / 1_000),
    ...latencies(lags),
  })}\n`,
);
process.exit(0);
