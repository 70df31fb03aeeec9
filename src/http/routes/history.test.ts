import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../../core/errors.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { HistoryOptions, HistoryPage, RunSelector } from '../../engine.js';
import { call, engine, post, serve, server } from '../served.fixture.js';

interface Answer {
  events: { eventId: string }[];
  runId: string;
  nextPageToken: string | null;
  error?: string;
}

let runId: string;
/** What the engine was asked for. */
let reads: (HistoryOptions & { of: string | undefined })[];

beforeEach(async () => {
  await serve();
  runId = await started('w');
  reads = [];
});
afterEach(() => server.close());

async function started(workflowId: string): Promise<string> {
  const start = await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId });
  return ((await start.json()) as { runId: string }).runId;
}

const eventsUpTo = (count: number): HistoryEvent[] =>
  Array.from({ length: count }, (_, at) => ({
    ...{ id: at + 1, at: at + 1, type: 'WORKFLOW_EXECUTION_SIGNALED' },
    attributes: { signalName: 's', input: [] },
  })) as HistoryEvent[];

/** The run has `count` events, of which no more than `atATime` are read. */
function serveEvents(count: number, { ended = false, atATime = Number.POSITIVE_INFINITY } = {}): void {
  Object.assign(engine, {
    history: async ({ runId: of }: RunSelector, options: HistoryOptions): Promise<HistoryPage> => {
      reads.push({ of, ...options });
      const { afterEventId, limit } = options;
      const asked = eventsUpTo(count).slice(afterEventId, afterEventId + limit);
      const events = asked.slice(0, atATime);
      const isCut = events.length < asked.length;
      return { runId: of ?? runId, events, ended: ended && !isCut, ...(isCut && { isCut }) };
    },
  });
}

async function page(path: string): Promise<Answer> {
  return (await (await call(`/workflow/${path}`)).json()) as Answer;
}
const idsOf = ({ events }: Answer) => events.map(({ eventId }) => Number(eventId));

describe('the pages of a history', () => {
  it.each([
    ['as long as asked for', Number.POSITIVE_INFINITY],
    ['cut by the engine', 1],
  ])('follow on each other to the end of it: %s', async (_what, atATime) => {
    serveEvents(5, { ended: true, atATime });
    const seen: number[] = [];
    let token: string | null = '';
    for (let pages = 0; token !== null && pages < 10; pages++) {
      const next: Answer = await page(`w/history?pageSize=2${token && `&pageToken=${token}`}`);
      seen.push(...idsOf(next));
      token = next.nextPageToken;
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('stay those of the run that they began with', async () => {
    serveEvents(3);
    const { nextPageToken } = await page('w/history?pageSize=2');
    const later = '01890000-0000-7000-8000-000000000002';
    const { describe } = engine;
    // Another run of the workflow has begun meanwhile.
    engine.describe = async (selector) => ({
      ...(await describe.call(engine, selector)),
      runId: selector.runId ?? later,
    });
    const rest = await page(`w/history?pageToken=${nextPageToken}`);
    expect([rest.runId, idsOf(rest)]).toEqual([runId, [3]]);
    const foreign = await call(`/workflow/w/runs/${later}/history?pageToken=${nextPageToken}`);
    expect(foreign.status).toBe(400);
    expect(await foreign.json()).toMatchObject({ error: 'InvalidPageTokenError' });
  });

  it('are not those of another workflow', async () => {
    serveEvents(3);
    const { nextPageToken } = await page('w/history?pageSize=2');
    await started('other');
    const foreign = await call(`/workflow/other/history?pageToken=${nextPageToken}`);
    expect(foreign.status).toBe(400);
    expect(await foreign.json()).toMatchObject({ error: 'InvalidPageTokenError' });
    // What else goes wrong is told as what it is.
    engine.describe = async ({ runId }) => {
      if (runId === undefined) return { runId: 'latest' } as never;
      throw new PerdureError('EngineUnavailableError', 'the engine is away');
    };
    expect((await call(`/workflow/other/history?pageToken=${nextPageToken}`)).status).toBe(503);
  });
});

describe('who waits for events', () => {
  it('gets a token to go on from as long as the run is open, also when nothing has come', async () => {
    serveEvents(2);
    const all = await page('w/history?longPollTimeoutMs=1');
    expect(idsOf(all)).toEqual([1, 2]);
    const none = await page(`w/history?longPollTimeoutMs=1&pageToken=${all.nextPageToken}`);
    expect([none.events, none.nextPageToken]).toEqual([[], all.nextPageToken]);
    expect((await page('w/history')).nextPageToken).toBeNull();
    serveEvents(3, { ended: true });
    const last = await page(`w/history?longPollTimeoutMs=1&pageToken=${all.nextPageToken}`);
    expect([idsOf(last), last.nextPageToken]).toEqual([[3], null]);
  });

  it('waits for a minute at most, for the run that was looked at', async () => {
    serveEvents(0);
    await page('w/history?longPollTimeoutMs=86400000');
    expect(reads.map(({ of, waitMs }) => [of, waitMs])).toEqual([
      [undefined, undefined],
      [runId, 60_000],
    ]);
  });
});
