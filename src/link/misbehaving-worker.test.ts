import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { ToWorker } from '../core/task.js';
import { connect, listenAnew, raw, source, TOKEN, url, warnings } from './linked.fixture.js';
import { linkUrl, packFrames } from './protocol.js';

function nested(levels: number): object {
  let schema: object = { type: 'string' };
  for (let i = 0; i < levels; i++) schema = { not: schema };
  return schema;
}

describe('a worker that misbehaves loses its connection and nothing else happens', () => {
  const frame = (...messages: unknown[]) => packFrames(messages as object[])[0]!;
  const attempt = { runId: 'r', scheduledEventId: 5, attempt: 1 };
  test.each<[string, string | Buffer]>([
    ['text', 'hello'],
    ['bytes that are no frame', Buffer.from([0xc1, 0xc1, 0xff])],
    ['a frame that is no list', frame({ kind: 'draining' }).subarray(1)],
    ['an empty frame', Buffer.alloc(0)],
    ['null', frame(null)],
    ['an unknown kind', frame({ kind: 'becomeRoot' })],
    ['a kind that every object has', frame({ kind: 'constructor' })],
    ['a missing field', frame({ kind: 'turnMissed', turnId: 1 })],
    ['a turnId that is a text', frame({ kind: 'turnMissed', turnId: '1', runId: 'r' })],
    [
      'a command that does not exist',
      frame({ kind: 'turnCompleted', turnId: 1, runId: 'r', commands: [{ kind: 'toString' }], answers: [] }),
    ],
    [
      'a command without its fields',
      frame({
        kind: 'turnCompleted',
        turnId: 1,
        runId: 'r',
        commands: [{ kind: 'startTimer', timerId: '1' }],
        answers: [],
      }),
    ],
    [
      'a timer of minus one',
      frame({
        kind: 'turnCompleted',
        turnId: 1,
        runId: 'r',
        commands: [{ kind: 'startTimer', timerId: '1', durationMs: -1 }],
        answers: [],
      }),
    ],
    ['a result that is no text', frame({ kind: 'stepCompleted', result: { a: 1 }, ...attempt })],
    [
      'a failure without a type',
      frame({ kind: 'stepFailed', failure: { kind: 'application', message: 'm' }, ...attempt }),
    ],
    ['an attempt of 1.5', frame({ kind: 'stepCompleted', ...attempt, attempt: 1.5 })],
    [
      'a catalog name with a slash',
      frame({
        kind: 'register',
        catalog: 'a/b',
        workflows: [],
        slots: { turns: 1, steps: 1 },
        resultFormat: 'current',
        identity: 'x',
        codeId: 'y',
      }),
    ],
  ])('%s', async (_name, data) => {
    const socket = raw();
    await once(socket, 'open');
    const other = connect();
    await other.opened.atLeast(1);
    socket.send(data);
    await once(socket, 'close');
    await source.disconnected.atLeast(1);
    expect(await warnings.atLeast(1)).toHaveLength(1);
    expect(source.received.items).toEqual([]);
    other.client.send({ kind: 'draining' });
    await source.received.atLeast(1);
    expect(source.disconnected.items).toEqual([0]);
  });

  test.each([
    ['a schema that is nested without end', nested(1_000), /nested too deeply/],
    ['a catalog that is too large', { description: 'x'.repeat(17 * 1024 * 1024) }, /more than \d+ bytes/],
  ])('%s, and the worker is told', async (_name, inputSchema, reason) => {
    const socket = raw();
    await once(socket, 'open');
    const entry = { name: 'w', description: null, path: 'w.ts', inputSchema, outputSchema: null };
    const lists = { aliases: [], steps: [], signals: [], queries: [], updates: [] };
    socket.send(
      frame({
        kind: 'register',
        catalog: 'default',
        workflows: [{ entry: { ...entry, ...lists }, settings: {}, declaresSignals: false }],
        slots: { turns: 1, steps: 1 },
        resultFormat: 'current',
        identity: 'x',
        codeId: 'y',
      }),
    );
    const [code, text] = (await once(socket, 'close')) as [number, Buffer];
    expect(code).toBe(1008);
    expect(text.toString()).toMatch(reason);
    expect(source.received.items).toEqual([]);
  });

  test('what came before the malformed message counts, what comes after does not', async () => {
    const socket = raw();
    await once(socket, 'open');
    socket.send(
      frame({ kind: 'turnMissed', turnId: 1, runId: 'r' }, { kind: 'nonsense' }, { kind: 'draining' }),
    );
    await once(socket, 'close');
    expect(source.received.items.map(({ kind }) => kind)).toEqual(['turnMissed']);
  });

  test('a message that our own code cannot handle', async () => {
    source.throwOn = 'draining';
    const { client, closed, opened } = connect();
    await opened.atLeast(1);
    client.send({ kind: 'draining' });
    await closed.atLeast(1);
    await source.disconnected.atLeast(1);
  });

  test('silence', async () => {
    await listenAnew({ pingIntervalMs: 10, silenceMs: 30 });
    const socket = new WebSocket(linkUrl(url), {
      headers: { authorization: `Bearer ${TOKEN}` },
      autoPong: false,
    });
    await once(socket, 'close');
    expect((await warnings.atLeast(1))[0]).toContain('not answered');
  });

  test('a worker that answers pings is kept', async () => {
    await listenAnew({ pingIntervalMs: 5, silenceMs: 20 });
    const socket = raw();
    let pings = 0;
    await new Promise<void>((resolve) => socket.on('ping', () => ++pings === 20 && resolve()));
    expect(source.disconnected.items).toEqual([]);
    socket.terminate();
  });

  test('not reading', async () => {
    await listenAnew({ maxBufferedBytes: 1_000_000 });
    const socket = raw();
    await once(socket, 'open');
    socket.pause();
    await source.connected.atLeast(1);
    const big: ToWorker = { kind: 'forget', runId: 'x'.repeat(4_000_000) };
    for (let i = 0; i < 50 && source.disconnected.items.length === 0; i++) {
      source.senders[0]!(big);
      await new Promise(setImmediate);
    }
    expect(source.disconnected.items).toEqual([0]);
    expect(warnings.items[0]).toContain('does not read');
    socket.terminate();
  });

  test('a server that falls silent is left', async () => {
    await listenAnew({ pingIntervalMs: 100_000 });
    const { closed, opened } = connect({ silenceMs: 30 });
    await closed.atLeast(1);
    await opened.atLeast(2);
  });
});
