/** Many readers, and readers that do not read, cost little. */
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { complete, step } from '../../src/embedded/scripted-worker.fixture.js';
import { Stage, type StreamReader } from './stage.js';

let stage: Stage;
afterEach(() => stage.close());

describe('a thousand streams of one run', () => {
  const READERS = 1_000;

  it('read each new batch once', { timeout: 120_000 }, async () => {
    stage = await Stage.open();
    const run = await stage.start('w');
    const paths = [
      '/workflow/w/history/stream',
      '/workflow/w/history/stream?includePayloads=true',
      `/workflow/w/runs/${run.runId}/history/stream`,
      `/workflow/w/runs/${run.runId}/history/stream?includePayloads=true`,
    ];
    const readers: StreamReader[] = [];
    for (let i = 0; i < READERS; i++) {
      const reader = stage.read(paths[i % paths.length]!);
      readers.push(reader);
      if (i % 100 === 99) await Promise.all(readers.slice(-100).map((each) => each.until(hasEvents(2))));
    }
    expect(stage.waiting).toBe(1);

    const readsBefore = stage.reads;
    for (let i = 1; i <= 10; i++) {
      await stage.worker.turn(step(i));
      // Some are larger than what a socket takes at once.
      const result = JSON.stringify('x'.repeat(i % 3 === 0 ? 40_000 : 10));
      stage.worker.completeStep(await stage.worker.next('step'), result);
      await Promise.all(readers.map((each) => each.until(hasEvents(2 + 6 * i))));
    }
    await stage.worker.turn(complete());
    await Promise.all(readers.map(({ closed }) => closed));

    const history = await stage.historyOf(run);
    for (const reader of readers) expect(reader.events).toEqual(history);
    const batches = Math.max(...readers.map((reader) => reader.of('history').length));
    expect(batches).toBeGreaterThan(10);
    // A read for each batch, and those that began to wait.
    expect(stage.reads - readsBefore).toBeLessThanOrEqual(2 * batches);
    expect(stage.waiting).toBe(0);
  });
});

const hasEvents = (count: number) => (reader: StreamReader) => reader.eventCount >= count;

describe('readers that do not read', () => {
  const READERS = 30;
  const EVENT_BYTES = 100_000;
  const EVENTS = 100;

  it('hold at most a frame each, are dropped, and can resume', { timeout: 120_000 }, async () => {
    stage = await Stage.open({ limits: { streamStallMs: 2_000 } });
    const sockets = new Set<Socket>();
    stage.server.raw.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    const run = await stage.start('w');
    await stage.worker.turn();
    const path = '/workflow/w/history/stream?includePayloads=true';
    const readers = Array.from({ length: READERS }, () => stage.read(path, { isPaused: true }));
    await Promise.all(readers.map((reader) => reader.response));
    expect(sockets.size).toBe(READERS);

    let most = 0;
    for (let i = 0; i < EVENTS; i++) {
      await stage.engine.signal(run, 'more', [JSON.stringify('x'.repeat(EVENT_BYTES))]);
      await stage.worker.turn();
      for (const { writableLength } of sockets) most = Math.max(most, writableLength);
    }
    await stage.engine.terminate(run, 'enough');
    expect(most).toBeGreaterThan(0);
    // One frame is one large event or some small ones, and the socket's own measure.
    expect(most).toBeLessThan(EVENT_BYTES + 100_000);
    // Nobody else is held up meanwhile.
    const healthy = stage.read(path);
    await healthy.closed;
    const history = await stage.historyOf(run);
    expect(healthy.events).toEqual(history);

    await expect.poll(() => sockets.size, { timeout: 20_000 }).toBe(0);
    const [first] = readers;
    await first!.resume();
    await first!.closed;
    const rest = stage.read(path, { headers: { 'last-event-id': first!.lastId! } });
    await rest.closed;
    expect([...first!.events, ...rest.events]).toEqual(history);
  });

  it('leave nothing behind when they hang up', async () => {
    stage = await Stage.open();
    await stage.start('w');
    const readers = Array.from({ length: 20 }, () => stage.read('/workflow/w/history/stream'));
    await Promise.all(readers.map((reader) => reader.until(hasEvents(2))));
    expect(stage.waiting).toBe(1);
    for (const reader of readers) reader.hangUp();
    await expect.poll(() => stage.waiting, { timeout: 1_000, interval: 5 }).toBe(0);
  });
});
