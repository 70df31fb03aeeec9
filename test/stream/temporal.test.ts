/** Streams on Temporal: what the engine behind them must not lose. The format itself is tested on the embedded engine. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Client, latest, pinned, type Ref, until } from '../http/client.js';
import type { HttpSystem } from '../http/system.js';
import { startTemporalSystem } from '../http/temporal-system.js';
import { describeTemporal } from '../temporal/required.js';
import { StreamReader } from './stage.js';

const CUTS = 60;
/** What a stream asks for at a time when there is nothing new (src/http/stream/tail.ts). */
const POLL_MS = 60_000;

describeTemporal('streams', () => {
  let system: HttpSystem;
  let client: Client;
  beforeAll(async () => {
    system = await startTemporalSystem();
    client = await Client.connect(system.server.url);
  });
  afterAll(() => system?.stop());

  function read(path: string, lastId?: string, bytes?: number): StreamReader {
    const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
    return new StreamReader(Number(new URL(client.url).port), `${path}/history/stream`, { headers, bytes });
  }

  async function historyOf(run: Ref): Promise<string[]> {
    const { status, body, text } = await client.get(`${pinned(run)}/history?pageSize=1000`);
    expect(status, text).toBe(200);
    return (body.events as { eventId: string; eventTypeName: string }[]).map(
      ({ eventId, eventTypeName }) => `${eventId} ${eventTypeName}`,
    );
  }

  it('tell what the run is, its events as they happen, and that it is done', async () => {
    const run = await client.start('threeSteps', 'wait');
    const reader = read(pinned(run));
    await reader.until(({ events }) => events.filter((each) => each.endsWith('TASK_COMPLETED')).length >= 6);
    expect(JSON.parse(reader.frames[0]!.data!)).toMatchObject({ ...run, status: 'running' });
    await client.post(`${latest(run)}/signal/finish`);
    await reader.closed;
    expect(reader.done).toEqual({ reason: 'WORKFLOW_EXECUTION_COMPLETED' });
    const history = await historyOf(run);
    expect(reader.events).toEqual(history);
    expect(history.map((event) => Number.parseInt(event, 10))).toEqual(history.map((_, index) => index + 1));
    expect(await read(pinned(run), reader.lastId).status()).toBe(204);
  });

  it(`survive ${CUTS} cuts`, { timeout: 120_000 }, async () => {
    const run = await client.start('collects');
    const received: string[] = [];
    let lastId: string | undefined;
    for (let cut = 0; cut < CUTS; cut++) {
      const reader = read(latest(run), lastId, 1 + Math.floor(Math.random() * 3_000));
      // Something happens while it reads, so that it does not end by waiting.
      const signals = async () => {
        for (let isOpen = true; isOpen; ) {
          await client.post(`${latest(run)}/signal/add`, { payload: cut });
          isOpen = await Promise.race([
            reader.closed.then(() => false),
            new Promise<true>((go) => setImmediate(go, true)),
          ]);
        }
      };
      await Promise.all([reader.closed, signals()]);
      received.push(...reader.events);
      lastId = reader.lastId ?? lastId;
    }
    await client.post(`${latest(run)}/signal/finish`);
    const last = read(latest(run), lastId);
    await last.closed;
    received.push(...last.events);
    expect(received).toEqual(await historyOf(run));
    expect(received.length).toBeGreaterThan(CUTS);
  });

  it('name the run that follows, and go on with it', async () => {
    const { workflowId, runId } = await client.start('countsDown', 2);
    await client.result({ workflowId });
    let lastId = `${runId}/1`;
    const runs: string[] = [];
    let next: unknown = runId;
    while (next !== undefined) {
      const reader = read(latest({ workflowId }), lastId);
      await reader.closed;
      expect(JSON.parse(reader.of('workflow')[0]!.data!)).toMatchObject({ runId: next });
      runs.push(next as string);
      lastId = reader.lastId!;
      next = (reader.done as { newRunId?: string }).newRunId;
    }
    expect(new Set(runs).size).toBe(3);
    expect(await read(latest({ workflowId }), lastId).status()).toBe(204);
  });

  it('stop asking when the reader leaves', async () => {
    const run = await client.start('collects');
    const history = vi.spyOn(system.engine, 'history');
    const reader = read(pinned(run));
    await until(async () => history.mock.calls.some(([, { waitMs = 0 }]) => waitMs >= POLL_MS));
    reader.hangUp();
    const began = performance.now();
    await Promise.allSettled(history.mock.results.map(({ value }) => value));
    expect(performance.now() - began).toBeLessThan(POLL_MS / 2);
    const asked = history.mock.calls.length;
    await client.post(`${latest(run)}/signal/add`, { payload: 1 });
    expect(history.mock.calls.length).toBe(asked);
    history.mockRestore();
  });
});
