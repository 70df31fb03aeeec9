/** Following a history over streams that break: every event once, whatever happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Client,
  type ClientOptions,
  ConnectionError,
  createClient,
  DataCorruptionError,
  EngineUnavailableError,
  InvalidLastEventIdError,
  UnexpectedAnswerError,
} from './index.js';
import { type Answerer, error, hangUp, json, ScriptedServer, stream } from './scripted-server.fixture.js';

const RUN = '01900000-0000-7000-8000-000000000001';
const NEXT = '01900000-0000-7000-8000-000000000002';

let server: ScriptedServer;
beforeEach(async () => {
  server = await new ScriptedServer().listen();
});
afterEach(() => server.close());

const client = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: server.url, ...options });

const event = (id: number, name = 'TIMER_STARTED', attributes: object = {}) => ({
  eventId: String(id),
  eventType: 17,
  eventTypeName: name,
  eventTime: '2026-01-01T00:00:00.000Z',
  someEventAttributes: attributes,
});
const COMPLETED = 'WORKFLOW_EXECUTION_COMPLETED';
const CONTINUED = 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW';

/** A batch, on the route that names the run or on the one that does not. */
const batch = (events: object[], run?: string): string => {
  const last = (events.at(-1) as { eventId: string }).eventId;
  return `id: ${run === undefined ? last : `${run}/${last}`}\nevent: history\ndata: ${JSON.stringify(events)}\n\n`;
};
const WORKFLOW = 'event: workflow\ndata: {}\n\n';
const done = (data: object = { reason: COMPLETED }) => `event: done\ndata: ${JSON.stringify(data)}\n\n`;
const noContent: Answerer = (response) => void response.writeHead(204).end();

async function collect(events: AsyncIterable<{ eventId: string; runId: string }>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { eventId, runId } of events) seen.push(`${runId === RUN ? 'run' : 'next'} ${eventId}`);
  return seen;
}

const resumes = () => server.received.map(({ headers }) => headers['last-event-id']);

describe('following one run', () => {
  const follow = (options: Partial<ClientOptions> = {}) =>
    collect(client(options).handle('w', RUN).history({ follow: true }));

  it('ends with the run', async () => {
    server.script(
      stream([
        WORKFLOW,
        batch([event(1), event(2)]),
        ': keepalive\n\n',
        batch([event(3, COMPLETED)]),
        done(),
      ]),
    );
    expect(await follow()).toEqual(['run 1', 'run 2', 'run 3']);
    expect(server.received[0]).toMatchObject({ target: `/workflow/w/runs/${RUN}/history/stream` });
  });

  it.each<[string, Answerer]>([
    ['breaks', stream([WORKFLOW, batch([event(1), event(2)])], 'breaks')],
    [
      'breaks in the middle of a batch',
      stream([batch([event(1), event(2)]), batch([event(3)]).slice(0, 30)], 'breaks'),
    ],
    ['ends, as those of a server that stops', stream([batch([event(1), event(2)])])],
    [
      'says that the engine is away',
      stream([
        batch([event(1), event(2)]),
        'event: server_error\ndata: {"error":"EngineUnavailableError","message":"m"}\n\n',
      ]),
    ],
  ])('goes on after the last event of a stream that %s', async (_what, first) => {
    server.script(first, hangUp, error(503, 'EngineUnavailableError', {}, { 'retry-after': '0' }));
    server.script(stream([WORKFLOW, batch([event(3), event(4, COMPLETED)]), done()]));
    expect(await follow()).toEqual(['run 1', 'run 2', 'run 3', 'run 4']);
    expect(resumes()).toEqual([undefined, '2', '2', '2']);
  });

  it('gives no event twice, also when a server sends one again', async () => {
    server.script(
      stream([batch([event(1), event(2)])], 'breaks'),
      stream([batch([event(2), event(3, COMPLETED)])]),
    );
    expect(await follow()).toEqual(['run 1', 'run 2', 'run 3']);
  });

  it.each<[string, Answerer]>([
    ['of a run that goes on', stream([WORKFLOW, batch([event(1), event(2)], RUN)])],
    [
      'of a run that another one goes on for',
      stream([batch([event(1), event(2, CONTINUED, { newExecutionRunId: NEXT })], RUN)]),
    ],
  ])('is given up where nothing but what it has comes again and again: %s', async (_what, same) => {
    server.script(same);
    const history = client({ retryForMs: 500 }).handle('w').history({ follow: true, timeoutMs: 3_000 });
    await expect(collect(history)).rejects.toBeInstanceOf(ConnectionError);
    expect(server.received.length).toBeLessThan(20);
  });

  it.each([
    'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    'START_CHILD_WORKFLOW_EXECUTION_FAILED',
    'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
  ])('goes on after %s, which is the end of something else', async (name) => {
    server.script(stream([batch([event(1, name)]), batch([event(2, COMPLETED)])]));
    expect(await follow()).toEqual(['run 1', 'run 2']);
  });

  it('ends when the last event came and the word that it was the last did not', async () => {
    server.script(stream([batch([event(1, COMPLETED)])], 'breaks'));
    expect(await follow()).toEqual(['run 1']);
    expect(server.received).toHaveLength(1);
  });

  it('ends at once on a run that is closed and read', async () => {
    server.script(noContent);
    const history = client()
      .handle('w', RUN)
      .history({ follow: true, lastEventId: `${RUN}/9` });
    expect(await collect(history)).toEqual([]);
    expect(resumes()).toEqual(['9']);
  });

  it('does not go over to the run that comes after', async () => {
    server.script(
      stream([batch([event(1, CONTINUED, { newExecutionRunId: NEXT })]), done({ newRunId: NEXT })]),
    );
    expect(await follow()).toEqual(['run 1']);
  });

  it('gives up when the server does not come back, and when it refuses', async () => {
    server.script(hangUp);
    await expect(follow({ retryForMs: 300 })).rejects.toBeInstanceOf(ConnectionError);
    server.script(hangUp, error(400, 'InvalidLastEventIdError'));
    await expect(follow()).rejects.toBeInstanceOf(InvalidLastEventIdError);
  });

  it('has its patience back with every event', async () => {
    const piece = (id: number) => stream([batch([event(id)])], 'breaks');
    for (let id = 1; id <= 6; id++) server.script(piece(id));
    server.script(stream([batch([event(7, COMPLETED)])]));
    // All breaks together take longer than one may.
    expect(await follow({ retryForMs: 150 })).toHaveLength(7);
  });

  it.each<[string, string[], new (...args: never[]) => Error]>([
    [
      'an opening and an error',
      [WORKFLOW, 'event: server_error\ndata: {"error":"EngineUnavailableError","message":"m"}\n\n'],
      EngineUnavailableError,
    ],
    ['an opening alone', [WORKFLOW], ConnectionError],
  ])('gives up on a server whose streams are %s', async (_what, texts, expected) => {
    server.script(stream(texts));
    await expect(follow({ retryForMs: 300 })).rejects.toBeInstanceOf(expected);
  });

  it('has its patience back with every stream that has lasted', async () => {
    const retryForMs = 150;
    const quiet: Answerer = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(WORKFLOW);
      await sleep(2 * retryForMs);
      response.destroy();
    };
    server.script(quiet, quiet, quiet, stream([batch([event(1, COMPLETED)])]));
    expect(await follow({ retryForMs })).toEqual(['run 1']);
  });

  it('says what is wrong for good', async () => {
    server.script(stream(['event: server_error\ndata: {"error":"DataCorruptionError","message":"m"}\n\n']));
    await expect(follow()).rejects.toBeInstanceOf(DataCorruptionError);
    server.script(json(200, { not: 'a stream' }));
    await follow().catch(() => {});
    await expect(follow()).rejects.toBeInstanceOf(UnexpectedAnswerError);
    for (const frame of ['history\ndata: [nonsense', 'history\ndata: null', 'server_error\ndata: null']) {
      server.script(stream([`id: 1\nevent: ${frame}\n\n`]));
      await follow().catch(() => {});
      await expect(follow()).rejects.toBeInstanceOf(UnexpectedAnswerError);
    }
  });
});

describe('following a workflow over its runs', () => {
  const first = stream([
    batch([event(1), event(2, CONTINUED, { newExecutionRunId: NEXT })], RUN),
    done({ newRunId: NEXT }),
  ]);
  const second = stream([WORKFLOW, batch([event(1), event(2, COMPLETED)], NEXT), done()]);
  const ALL = ['run 1', 'run 2', 'next 1', 'next 2'];

  it('goes over to the run that comes after', async () => {
    server.script(first, second);
    expect(await collect(client().handle('w').history({ follow: true }))).toEqual(ALL);
    expect(resumes()).toEqual([undefined, `${RUN}/2`]);
    expect(server.received[0]!.target).toBe('/workflow/w/history/stream');
  });

  it('goes over to it when the stream broke at the end of the first', async () => {
    const cut = stream([batch([event(1), event(2, CONTINUED, { newExecutionRunId: NEXT })], RUN)], 'breaks');
    server.script(cut, second);
    expect(await collect(client().handle('w').history({ follow: true }))).toEqual(ALL);
  });

  it('does not rush a server that ends its streams at once', async () => {
    server.script(first, ...Array(3).fill(stream([WORKFLOW])), second);
    const pauses = vi.spyOn(globalThis, 'setTimeout');
    expect(await collect(client().handle('w').history({ follow: true }))).toEqual(ALL);
    const backoffs = pauses.mock.calls.map(([, ms]) => ms!).filter((ms) => ms < 1_000);
    pauses.mockRestore();
    expect(backoffs.length).toBeGreaterThanOrEqual(3);
  });

  it('waits for it where the server does not know of it yet', async () => {
    server.script(first, noContent, second);
    expect(await collect(client().handle('w').history({ follow: true }))).toEqual(ALL);
  });

  it('begins with the run that was started, whichever is the latest', async () => {
    server.script(json(200, { workflowId: 'w', runId: RUN }), first, second);
    const handle = await client().workflow('subscription').start({});
    expect(await collect(handle.history({ follow: true, includePayloads: true }))).toEqual(ALL);
    expect(resumes()).toEqual([undefined, `${RUN}/0`, `${RUN}/2`]);
    expect(server.received[1]!.target).toBe('/workflow/w/history/stream?includePayloads=true');
  });
});

describe('a reader', () => {
  it('that leaves closes its connection', async () => {
    server.script(stream([batch([event(1)])], 'stays'));
    for await (const { eventId } of client().handle('w', RUN).history({ follow: true }))
      if (eventId === '1') break;
    await expect.poll(() => server.connections()).toBe(0);
  });

  it('that is slow is not read ahead of', async () => {
    const large = batch([event(1, 'TIMER_STARTED', { text: 'x'.repeat(64 * 1024) })]);
    let written = 0;
    server.script((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const write = () => {
        while (written < 1_000) {
          written++;
          if (
            !response.write(
              large.replace('id: 1', `id: ${written}`).replace('"eventId":"1"', `"eventId":"${written}"`),
            )
          )
            return void response.once('drain', write);
        }
        response.end();
      };
      write();
    });
    const history = client().handle('w', RUN).history({ follow: true });
    await history.next();
    // What the sockets hold, and no more: the server is stopped long before it has sent the 64 MB.
    await expect
      .poll(
        async () => {
          const before = written;
          await new Promise((resolve) => setTimeout(resolve, 200));
          return written - before;
        },
        { timeout: 10_000 },
      )
      .toBe(0);
    expect(written).toBeLessThan(500);
    await history.return();
  });

  it('has a time for all of it', async () => {
    server.script(stream([batch([event(1)])], 'stays'));
    const history = client().handle('w', RUN).history({ follow: true, timeoutMs: 300 });
    await expect(collect(history)).rejects.toMatchObject({ name: 'CallTimeoutError' });
  });

  it('of pages gets all of one run', async () => {
    server.script(
      json(200, { workflow: {}, events: [event(1), event(2)], runId: RUN, nextPageToken: 't' }),
      hangUp,
      json(200, { workflow: null, events: [event(3)], runId: RUN, nextPageToken: null }),
    );
    expect(await collect(client().handle('w').history({ includePayloads: true }))).toEqual([
      'run 1',
      'run 2',
      'run 3',
    ]);
    expect(server.received[2]!.target).toBe(
      '/workflow/w/history?includePayloads=true&pageSize=500&pageToken=t',
    );
  });

  it('cannot resume pages by the id of an event', () => {
    expect(() => client().handle('w').history({ lastEventId: '1' })).toThrow(/follow: true/);
  });
});
