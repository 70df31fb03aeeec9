/** SIGTERM with calls that wait, open streams and running steps: all are answered, and nothing is lost. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { StreamReader } from './stage.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const GRACE_MS = 8_000;

let workplace: Workplace;
beforeEach(() => {
  workplace = new Workplace();
});
afterEach(() => workplace.clear());

const serve = () =>
  workplace.serve([
    '--workflows',
    WORKFLOWS,
    '--workers',
    '1',
    '--data',
    'data',
    '--shutdown-grace',
    `${GRACE_MS}ms`,
  ]);

async function post(url: string, path: string, body: unknown) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

it('ends in order, and goes on after the next start', async () => {
  const ledger = join(workplace.folder, 'ledger');
  writeFileSync(ledger, '');
  const began = () =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line === 'began').length;
  let server = await serve();
  const start = (workflowName: string, workflowId: string, input: unknown = null) =>
    post(server.url, '/workflow/start', { workflowName, workflowId, input });

  const slow = Array.from({ length: 20 }, (_, i) => `slow-${i}`);
  const endless = Array.from({ length: 20 }, (_, i) => `endless-${i}`);
  await start('waits', 'waiting');
  // The slow end within the grace, the endless never.
  await Promise.all(endless.map((id) => start('endless', id, { ledger, ms: 0 })));
  await Promise.all(slow.map((id) => start('slow', id, { ledger, ms: 2_000 })));
  await expect.poll(began, { timeout: 60_000, interval: 20 }).toBe(slow.length + endless.length);

  const { port } = new URL(server.url);
  const streams = Array.from(
    { length: 100 },
    () => new StreamReader(Number(port), '/workflow/waiting/history/stream', {}),
  );
  await Promise.all(streams.map((stream) => stream.until(({ eventCount }) => eventCount > 0)));
  const runs = Array.from({ length: 50 }, () =>
    post(server.url, '/workflow/run', { workflowName: 'waits', input: null, timeout: 60_000 }),
  );
  const results = Array.from({ length: 50 }, () => fetch(`${server.url}/workflow/waiting/result?wait=60000`));
  const waitingCalls = async () =>
    Number(/^perdure_calls_waiting (\d+)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);
  await expect.poll(waitingCalls, { timeout: 60_000, interval: 20 }).toBe(100);

  let isOver = false;
  const exited = server.exited.finally(() => {
    isOver = true;
  });
  server.child.kill('SIGTERM');
  const ids: string[] = [];
  for (const { status, body } of await Promise.all(runs)) {
    expect(status).toBe(503);
    expect(body).toMatchObject({ error: 'EngineUnavailableError', workflowId: expect.any(String) });
    ids.push(body.workflowId as string);
  }
  for (const { status } of await Promise.all(results)) expect([424, 503]).toContain(status);
  await Promise.all(streams.map(({ closed }) => closed));
  expect(streams.every(({ isComplete }) => isComplete)).toBe(true);
  // All of them while steps still had their time.
  expect(isOver).toBe(false);
  expect(await exited).toBe(0);

  const workedBefore = readFileSync(ledger, 'utf8');
  server = await serve();
  for (const id of slow) {
    const response = await fetch(`${server.url}/workflow/${id}/result?wait=20000`);
    expect(await response.json()).toMatchObject({ status: 'completed', output: 'worked' });
  }
  // What was done in the grace was stored: no step that had completed ran again.
  const worked = (text: string) => text.split('\n').filter((line) => /^[0-9a-f-]{36}$/.test(line)).length;
  expect(worked(workedBefore)).toBe(slow.length);
  expect(worked(readFileSync(ledger, 'utf8'))).toBe(slow.length);
  for (const id of [...endless, ...ids, 'waiting']) {
    const response = await fetch(`${server.url}/workflow/${id}/status`);
    expect(await response.json()).toMatchObject({ status: 'running' });
  }
  const resumed = new StreamReader(Number(new URL(server.url).port), '/workflow/waiting/history/stream', {
    headers: { 'last-event-id': streams[0]!.lastId! },
  });
  expect(await resumed.status()).toBe(200);
  await post(server.url, '/workflow/waiting/signal/tell', { payload: 'end' });
  await resumed.closed;
  expect(resumed.done).toEqual({ reason: 'WORKFLOW_EXECUTION_COMPLETED' });
  const all = [...streams[0]!.events, ...resumed.events].map((event) => Number(event.split(' ')[0]));
  expect(all).toEqual(all.map((_, i) => i + 1));
});
