/** Section 5 of the contract, over a real engine. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../../src/core/errors.js';
import type { Command } from '../../src/core/history/command.js';
import { complete, step } from '../../src/embedded/scripted-worker.fixture.js';
import { Stage, type StageOptions } from './stage.js';

let stage: Stage;
const open = async (options?: StageOptions) => {
  stage = await Stage.open(options);
};
afterEach(() => stage.close());

const UNKNOWN_RUN = '01890000-0000-7000-8000-000000000000';

const continueWith = (input: string): Command => ({
  kind: 'continueAsNew',
  workflowType: 'flow',
  input: [input],
});

/** Eleven events. */
async function closedRun(workflowId: string, result?: string) {
  const run = await stage.start(workflowId);
  await stage.worker.turn(step(1));
  stage.worker.completeStep(await stage.worker.next('step'), result);
  await stage.worker.turn(complete());
  await stage.engine.outcome(run, { waitMs: 5_000 });
  return run;
}

describe('the stream of a run', () => {
  it('tells what the run is, its events as they happen, and that it is done', async () => {
    await open();
    const run = await stage.start('w');
    const reader = stage.read('/workflow/w/history/stream');
    await reader.until(({ events }) => events.length === 2);
    const { headers, statusCode } = await reader.response;
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    });
    expect(reader.frames[0]!.event).toBe('workflow');
    expect(JSON.parse(reader.frames[0]!.data!)).toEqual({
      ...run,
      status: 'running',
      startTime: expect.stringMatching(/Z$/),
      closeTime: null,
      historyLength: 2,
      taskQueue: 'default',
    });
    expect(reader.lastId).toBe(`${run.runId}/2`);

    await stage.worker.turn(step(1));
    await reader.until(({ events }) => events.length === 5);
    stage.worker.completeStep(await stage.worker.next('step'));
    await stage.worker.turn(complete());
    await reader.closed;
    expect(reader.isComplete).toBe(true);
    expect(reader.events).toEqual(await stage.historyOf(run));
    expect(reader.done).toEqual({ reason: 'WORKFLOW_EXECUTION_COMPLETED' });
    expect(reader.frames.at(-1)!.event).toBe('done');
    expect(reader.of('workflow')).toHaveLength(1);
  });

  it('numbers its batches by the event alone where the run is pinned', async () => {
    await open();
    const { runId } = await closedRun('w');
    const reader = stage.read(`/workflow/w/runs/${runId}/history/stream`);
    await reader.closed;
    expect(reader.lastId).toBe('11');
    expect(reader.events).toHaveLength(11);
  });

  it('is the one that the query names', async () => {
    await open();
    const { runId } = await closedRun('w');
    const { runId: newRunId } = await stage.engine.reset({ workflowId: 'w' }, { stepName: 'work' });
    const old = stage.read(`/workflow/w/history/stream?runId=${runId}`);
    await old.closed;
    expect(old.lastId).toBe(`${runId}/11`);
    const latest = stage.read('/workflow/w/history/stream');
    await latest.until(({ lastId }) => lastId?.startsWith(newRunId) === true);
  });

  it('carries payloads only when asked', async () => {
    await open();
    await closedRun('w', '{"secret":"canary"}');
    const [without, including] = [
      stage.read('/workflow/w/history/stream'),
      stage.read('/workflow/w/history/stream?includePayloads=true'),
    ];
    await Promise.all([without.closed, including.closed]);
    expect(JSON.stringify(without.frames)).not.toContain('canary');
    expect(JSON.stringify(including.frames)).toContain('canary');
    expect(await stage.read('/workflow/w/history/stream?includePayloads=1').status()).toBe(400);
  });

  it('cannot be forged by a payload', async () => {
    await open();
    const value = 'x\n\ndata: []\r\revent: done\r\n\u2028id: 9\u2029\u0085\0:';
    await closedRun('w', JSON.stringify(value));
    const reader = stage.read('/workflow/w/history/stream?includePayloads=true');
    await reader.closed;
    const events = reader.of('history').flatMap(({ data }) => JSON.parse(data!) as Record<string, unknown>[]);
    expect(events[6]).toMatchObject({ activityTaskCompletedEventAttributes: { result: [value] } });
    expect(reader.events).toHaveLength(11);
    expect(JSON.stringify(reader.frames)).not.toMatch(/[\u0085\u2028\u2029]/);
  });

  it('splits what is large, and loses nothing of it', async () => {
    await open();
    const large = JSON.stringify('ü'.repeat(100_000));
    const run = await stage.start('w');
    for (let i = 0; i < 30; i++) await stage.engine.signal(run, `s${i}`, [large]);
    await stage.engine.terminate(run, 'enough');
    const reader = stage.read('/workflow/w/history/stream?includePayloads=true');
    await reader.closed;
    expect(reader.events).toEqual(await stage.historyOf(run));
    expect(reader.of('history').length).toBeGreaterThan(10);
    expect(reader.done).toEqual({ reason: 'WORKFLOW_EXECUTION_TERMINATED' });
  });

  it('names the run that follows', async () => {
    await open();
    const run = await stage.start('w');
    const reader = stage.read('/workflow/w/history/stream');
    await reader.until(({ frames }) => frames.length > 0);
    await stage.worker.turn(continueWith('2'));
    await reader.closed;
    const { runId } = await stage.engine.describe({ workflowId: 'w' });
    expect(runId).not.toBe(run.runId);
    expect(reader.done).toEqual({ reason: 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW', newRunId: runId });
  });

  it('tells of an error and ends', async () => {
    await open();
    const run = await stage.start('w');
    const reader = stage.read('/workflow/w/history/stream');
    await reader.until(({ events }) => events.length === 2);
    stage.broken = new Error('select * from secrets');
    await stage.worker.turn(step(1));
    await reader.closed;
    expect(reader.isComplete).toBe(true);
    expect(JSON.parse(reader.of('server_error')[0]!.data!)).toEqual({
      error: 'InternalError',
      message: expect.not.stringContaining('select'),
      workflowId: 'w',
      runId: run.runId,
    });
    expect(reader.frames.at(-1)!.event).toBe('server_error');

    stage.broken = new PerdureError('EngineUnavailableError', 'no storage');
    const other = stage.read('/workflow/w/history/stream');
    await other.closed;
    expect(JSON.parse(other.of('server_error')[0]!.data!)).toMatchObject({ error: 'EngineUnavailableError' });
  });

  it('is kept open by comments', async () => {
    await open({ limits: { streamKeepaliveMs: 20 } });
    await stage.start('w');
    const reader = stage.read('/workflow/w/history/stream');
    await reader.until(({ frames }) => frames.filter(({ comment }) => comment !== undefined).length >= 3);
  });
});

describe('a reader that comes back', () => {
  const ids =
    (path: string) =>
    async (lastEventId: string, by: 'header' | 'query' = 'header') => {
      const reader =
        by === 'header'
          ? stage.read(path, { headers: { 'last-event-id': lastEventId } })
          : stage.read(`${path}?lastEventId=${encodeURIComponent(lastEventId)}`);
      await reader.closed;
      return { status: await reader.status(), first: reader.events[0]?.split(' ')[0], reader };
    };

  it('goes on where it was, on both routes, by header or query', async () => {
    await open();
    const { runId } = await closedRun('w');
    const unpinned = ids('/workflow/w/history/stream');
    const pinned = ids(`/workflow/w/runs/${runId}/history/stream`);
    for (const by of ['header', 'query'] as const) {
      expect(await unpinned(`${runId}/4`, by)).toMatchObject({ status: 200, first: '5' });
      expect(await unpinned('4', by)).toMatchObject({ status: 200, first: '5' });
      expect(await pinned('4', by)).toMatchObject({ status: 200, first: '5' });
      expect(await pinned(`${runId}/4`, by)).toMatchObject({ status: 200, first: '5' });
      expect(await unpinned('0', by)).toMatchObject({ status: 200, first: '1' });
      expect(await unpinned('', by)).toMatchObject({ status: 200, first: '1' });
    }
    const both = stage.read('/workflow/w/history/stream?lastEventId=9', {
      headers: { 'last-event-id': 'nonsense' },
    });
    await both.closed;
    expect(both.events[0]).toMatch(/^10 /);
  });

  it('is told that there is nothing more', async () => {
    await open();
    const { runId } = await closedRun('w');
    for (const path of ['/workflow/w/history/stream', `/workflow/w/runs/${runId}/history/stream`]) {
      for (const id of ['11', '12', '999999999999999', `${runId}/11`]) {
        expect(await ids(path)(id)).toMatchObject({ status: 204 });
      }
    }
    expect(await ids(`/workflow/w/history/stream`)(`${runId}/10`)).toMatchObject({
      status: 200,
      first: '11',
    });
  });

  it.each([
    'x',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '1, 2',
    '9999999999999999',
    'not-a-run/3',
    `${UNKNOWN_RUN}/`,
    `${UNKNOWN_RUN}/1/2`,
    '/3',
    '٣',
  ])('with %j is refused', async (id) => {
    await open();
    await closedRun('w');
    for (const by of ['header', 'query'] as const) {
      // A header carries bytes; this id has more than one per character.
      if (by === 'header' && id === '٣') continue;
      const { status, reader } = await ids('/workflow/w/history/stream')(id, by);
      expect(status).toBe(400);
      expect(await reader.json()).toMatchObject({ error: 'InvalidLastEventIdError' });
    }
  });

  it('with a cursor of another run than the pinned one is refused', async () => {
    await open();
    const { runId } = await closedRun('w');
    for (const path of [
      `/workflow/w/runs/${runId}/history/stream?lastEventId=${UNKNOWN_RUN}/3`,
      `/workflow/w/history/stream?runId=${runId}&lastEventId=${UNKNOWN_RUN}/3`,
      `/workflow/w/history/stream?lastEventId=3&lastEventId=4`,
    ]) {
      const reader = stage.read(path);
      expect(await reader.json()).toMatchObject({ error: 'InvalidLastEventIdError' });
    }
  });

  it('ahead of an open run waits', async () => {
    await open();
    const run = await stage.start('w');
    const reader = stage.read('/workflow/w/history/stream', { headers: { 'last-event-id': '3' } });
    await reader.until(({ frames }) => frames.length === 1);
    await stage.worker.turn(step(1));
    await reader.until(({ events }) => events.length === 2);
    expect(reader.events).toEqual((await stage.historyOf(run)).slice(3));
  });

  it('after the end of a run goes on with the one that came after it', async () => {
    await open();
    const first = await stage.start('w');
    await stage.worker.turn(continueWith('2'));
    await stage.worker.turn(continueWith('3'));
    await stage.worker.turn(complete());
    await stage.engine.outcome({ workflowId: 'w' }, { waitMs: 5_000 });

    // From the middle of the first run, as EventSource does it: over the ends of the runs to the end of the chain.
    const runs: string[] = [];
    let lastEventId = `${first.runId}/2`;
    for (let i = 0; i < 3; i++) {
      const { reader, status } = await ids('/workflow/w/history/stream')(lastEventId);
      expect(status).toBe(200);
      runs.push((JSON.parse(reader.of('workflow')[0]!.data!) as { runId: string }).runId);
      expect(reader.events).toEqual(
        (await stage.historyOf({ workflowId: 'w', runId: runs[i]! })).slice(i === 0 ? 2 : 0),
      );
      lastEventId = reader.lastId!;
    }
    expect(new Set(runs).size).toBe(3);
    expect(await ids('/workflow/w/history/stream')(lastEventId)).toMatchObject({ status: 204 });
  });

  it('after the end of a closed run that was reset goes on with the new one', async () => {
    await open();
    const { runId } = await closedRun('w');
    const { runId: newRunId } = await stage.engine.reset({ workflowId: 'w' }, { stepName: 'work' });
    const reader = stage.read('/workflow/w/history/stream', {
      headers: { 'last-event-id': `${runId}/11` },
    });
    await reader.until(({ events }) => events.length > 0);
    expect(reader.lastId).toMatch(new RegExp(`^${newRunId}/`));
    expect(reader.events[0]).toMatch(/^1 /);
    const removed = stage.read(`/workflow/w/history/stream?lastEventId=${UNKNOWN_RUN}/5`);
    await removed.until(({ events }) => events.length > 0);
    expect(removed.events[0]).toMatch(/^1 /);
  });
});

describe('who gets no stream', () => {
  it('is told why, as JSON', async () => {
    await open({ token: 'a-token', limits: { streams: 1 } });
    const { runId } = await stage.start('w');
    const refused = async (path: string, headers = {}) => {
      const reader = stage.read(path, { headers });
      const { headers: answered } = await reader.response;
      return { status: await reader.status(), body: await reader.json(), headers: answered };
    };
    expect(await refused('/workflow/nobody/history/stream')).toMatchObject({
      status: 404,
      body: { error: 'WorkflowNotFoundError' },
    });
    expect(await refused(`/workflow/w/runs/${UNKNOWN_RUN}/history/stream`)).toMatchObject({ status: 404 });
    expect(await refused(`/workflow/other/runs/${runId}/history/stream`)).toMatchObject({ status: 404 });
    expect(await refused('/workflow/w/runs/1/history/stream')).toMatchObject({ status: 400 });
    expect(await refused('/workflow/w/history/stream', { authorization: 'Bearer no' })).toMatchObject({
      status: 401,
      body: { error: 'UnauthorizedError' },
    });
    const first = stage.read('/workflow/w/history/stream');
    await first.until(({ frames }) => frames.length > 0);
    expect(await refused('/workflow/w/history/stream')).toMatchObject({
      status: 429,
      body: { error: 'TooManyRequestsError' },
      headers: { 'retry-after': '1' },
    });
    first.hangUp();
    await expect.poll(() => stage.read('/workflow/w/history/stream').status(), { interval: 10 }).toBe(200);
  });

  it('is who asks with another method', async () => {
    await open();
    await stage.start('w');
    for (const method of ['HEAD', 'POST']) {
      const response = await fetch(`${stage.server.url}/workflow/w/history/stream`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET');
    }
  });
});

describe('a server that stops', () => {
  it('says that it is not ready', async () => {
    await open();
    const socket = connect(Number(new URL(stage.server.url).port), '127.0.0.1');
    // A request that is under way when the server begins to close.
    const [accepted] = await Promise.all([once(stage.server.raw, 'connection'), once(socket, 'connect')]);
    socket.write('GET /ready HTTP/1.1\r\nHost: localhost\r\n');
    await once(accepted[0] as Socket, 'data');
    const closed = stage.server.close();
    socket.write('\r\n');
    const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
    expect(answer).toMatch(/^HTTP\/1\.1 503 .*"reason":"the server is shutting down"/s);
    socket.destroy();
    await closed;
  });

  it('ends the streams in order', async () => {
    await open();
    await stage.start('w');
    const readers = Array.from({ length: 50 }, () => stage.read('/workflow/w/history/stream'));
    await Promise.all(readers.map((reader) => reader.until(({ events }) => events.length === 2)));
    await stage.server.close();
    await Promise.all(readers.map(({ closed }) => closed));
    expect(readers.every(({ isComplete }) => isComplete)).toBe(true);
    expect(stage.waiting).toBe(0);
  });
});
