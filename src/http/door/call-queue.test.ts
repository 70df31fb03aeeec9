import { once } from 'node:events';
import { createServer, get, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallQueue } from './call-queue.js';

let server: Server;
let queue: CallQueue;
let waiting: (() => void)[];
const handled: string[] = [];
/** By whoever handles calls, once it knows that they may come in. */
const letIn: string[] = [];
let waitedMs: number[];

beforeEach(async () => {
  waiting = [];
  waitedMs = [];
  handled.length = 0;
  letIn.length = 0;
  server = createServer((call, response) => {
    handled.push(call.url!);
    waitedMs.push(queue.waitedMs(call));
    if (call.url!.startsWith('/workflow')) queue.enter(call, () => letIn.push(call.url!));
    response.end('handled');
  });
  queue = new CallQueue(server, ({ headers }) => headers.authorization !== 'wrong', {
    enter: (go) => void waiting.push(go),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const url = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
const soon = () => AbortSignal.timeout(5_000);
const ask = (path: string) =>
  new Promise<IncomingMessage>((resolve, reject) =>
    get(url(path), { signal: soon() }, resolve).on('error', reject),
  );
const untilWaiting = (count: number) => expect.poll(() => waiting.length).toBe(count);

it.each(['/health', '/ready', '/health?probe=1'])('does not let %s wait', async (path) => {
  expect((await ask(path)).statusCode).toBe(200);
  expect(waiting).toEqual([]);
});

it.each(['/', '/workflow/run', '/healthy'])('lets %s wait for its turn', async (path) => {
  const answer = ask(path);
  await untilWaiting(1);
  expect(handled).toEqual([]);
  waiting[0]!();
  expect((await answer).statusCode).toBe(200);
  expect(handled).toEqual([path]);
});

it('lets nobody wait who may not call: their refusals would use up the turns of others', async () => {
  const headers = { authorization: 'wrong' };
  await new Promise((resolve, reject) =>
    get(url('/elsewhere'), { headers, signal: soon() }, resolve).on('error', reject),
  );
  expect(handled).toEqual(['/elsewhere']);
  expect(waiting).toEqual([]);
});

it('knows how long a call has waited', async () => {
  const answer = ask('/workflow/runs');
  await untilWaiting(1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  waiting[0]!();
  await answer;
  expect(waitedMs[0]).toBeGreaterThan(25);
});

it('handles nothing for who has hung up', async () => {
  const asked = get(url('/workflow/runs'));
  asked.on('error', () => {});
  await untilWaiting(1);
  asked.destroy();
  await expect
    .poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))))
    .toBe(0);
  waiting[0]!();
  expect(handled).toEqual([]);
});

it.each([
  ['one that says its size', { 'content-length': 20_000 }],
  ['one that does not', { 'transfer-encoding': 'chunked' }],
])('has a large body wait where it was counted: %s', async (_which, headers) => {
  const asked = request(url('/workflow/start'), { method: 'POST', headers, signal: soon() });
  asked.end('x'.repeat(20_000));
  await once(asked, 'response');
  expect(handled).toEqual(['/workflow/start']);
  expect(letIn).toEqual([]);
  waiting[0]!();
  expect(letIn).toEqual(['/workflow/start']);
});

it('lets nobody wait twice', async () => {
  const answer = ask('/workflow/runs');
  await untilWaiting(1);
  waiting[0]!();
  await answer;
  expect(letIn).toEqual(['/workflow/runs']);
  expect(waiting).toHaveLength(1);
});
