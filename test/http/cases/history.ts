/** GET history: paging, long polling, tokens and the form of the events. */
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, type Ref, UNKNOWN_RUN } from '../client.js';

interface Event {
  eventId: string;
  eventType: number;
  eventTypeName: string;
  eventTime: string;
  [attributes: string]: unknown;
}

interface Page {
  workflow: Record<string, unknown> | null;
  events: Event[];
  runId: string;
  nextPageToken: string | null;
}

const attributesOf = (event: Event) =>
  Object.entries(event).find(([key]) => key.endsWith('EventAttributes'))![1] as Record<string, unknown>;

export function history(client: () => Client): void {
  const page = async (path: string, query = ''): Promise<Page> => {
    const reply = await client().get(`${path}/history${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
  const token = ({ nextPageToken }: Page) => `pageToken=${encodeURIComponent(nextPageToken!)}`;

  describe.each(['latest', 'pinned'])('GET history of the %s run', (form) => {
    const path = (run: Ref) => (form === 'latest' ? latest(run) : pinned(run));

    it('pages from the oldest event to the end', async () => {
      const run = await client().ended('eventful', 'x');
      const all = await page(path(run), '?pageSize=1000');
      expect(all.nextPageToken).toBeNull();
      expect(all.events.map(({ eventId }) => eventId)).toEqual(
        all.events.map((_, index) => String(index + 1)),
      );

      const paged: Event[] = [];
      let query = '?pageSize=7';
      for (;;) {
        const part = await page(path(run), query);
        expect(part.runId).toBe(run.runId);
        if (paged.length === 0) {
          expect(part.workflow).toEqual({
            ...run,
            status: 'completed',
            startTime: expect.stringMatching(/\.\d{3}Z$/),
            closeTime: expect.stringMatching(/\.\d{3}Z$/),
            historyLength: all.events.length,
            taskQueue: 'default',
          });
        } else expect(part.workflow).toBeNull();
        paged.push(...part.events);
        if (part.nextPageToken === null) break;
        expect(part.events).toHaveLength(7);
        query = `?pageSize=7&${token(part)}`;
      }
      expect(paged).toEqual(all.events);
    });

    it('gives twenty events by default, and no token when they are all', async () => {
      const run = await client().ended('eventful');
      expect((await page(path(run))).events).toHaveLength(20);
      const { events } = await page(path(run), '?pageSize=1000');
      expect((await page(path(run), `?pageSize=${events.length}`)).nextPageToken).toBeNull();
      const open = await client().start('collects');
      const { workflow, nextPageToken } = await page(path(open), '?pageSize=1000');
      expect(nextPageToken).toBeNull();
      expect(workflow).toMatchObject({ status: 'running', closeTime: null });
    });

    it('long polling waits for the next event, to the end of the run', async () => {
      const run = await client().start('collects');
      const poll = (more: string) => page(path(run), `?longPollTimeoutMs=20000&pageSize=100${more}`);
      const seen: Event[] = [];
      let part = await poll('');
      seen.push(...part.events);
      const settled = async () => {
        // Until the run waits: a poll that ends without an event.
        for (;;) {
          part = await page(path(run), `?longPollTimeoutMs=100&${token(part)}`);
          seen.push(...part.events);
          if (part.events.length === 0) return;
        }
      };
      await settled();
      expect(part).toMatchObject({ workflow: { status: 'running' }, nextPageToken: expect.any(String) });
      const waiting = poll(`&${token(part)}`);
      await client().post(`${latest(run)}/signal/add`, { payload: 1 });
      part = await waiting;
      expect(part.events.map(({ eventTypeName }) => eventTypeName)).toContain('WORKFLOW_EXECUTION_SIGNALED');
      seen.push(...part.events);
      await client().post(`${latest(run)}/signal/finish`);
      while (part.nextPageToken !== null) {
        part = await poll(`&${token(part)}`);
        seen.push(...part.events);
      }
      expect(part.workflow).toMatchObject({ status: 'completed', closeTime: expect.any(String) });
      expect(seen).toEqual((await page(path(run), '?pageSize=1000')).events);
    });

    it('long polling does not wait on a closed run, nor when it has events to give', async () => {
      const run = await client().ended('echo');
      const first = await page(path(run), '?longPollTimeoutMs=60000&pageSize=1');
      expect(first.events).toHaveLength(1);
      const rest = await page(path(run), `?longPollTimeoutMs=999999999&pageSize=1000&${token(first)}`);
      expect(rest.nextPageToken).toBeNull();
    });

    it.each([
      'pageSize=0',
      'pageSize=1001',
      'pageSize=x',
      'pageSize=',
      'includePayloads=1',
      'includePayloads=yes',
      'longPollTimeoutMs=-1',
      'longPollTimeoutMs=1.5',
      'pageToken=a&pageToken=b',
    ])('refuses %s', async (query) => {
      const run = await client().ended('echo');
      expectError(await client().get(`${path(run)}/history?${query}`), 400, 'ValidationError');
    });

    it('refuses tokens that are malformed, changed or of another run', async () => {
      const run = await client().ended('echo');
      const other = await client().ended('echo');
      const own = (await page(path(run), '?pageSize=1')).nextPageToken!;
      const foreign = (await page(path(other), '?pageSize=1')).nextPageToken!;
      const swap = (text: string, at: number) =>
        text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
      const changed = Array.from(own, (_, index) => swap(own, index));
      for (const bad of ['', 'x', `${own}A`, `${own}=`, own.slice(1), foreign, ...changed]) {
        const reply = await client().get(`${path(run)}/history?pageToken=${encodeURIComponent(bad)}`);
        expectError(reply, 400, 'InvalidPageTokenError');
      }
      expect((await page(path(run), `?pageToken=${own}`)).events[0]!.eventId).toBe('2');
    });
  });

  it('GET history?runId= pins the run, and a token stays with the run it came from', async () => {
    const first = await client().start('countsDown', 1);
    const last = (await client().result(first)).body as Ref;
    const byQuery = await page(latest(first), `?runId=${first.runId}&pageSize=1`);
    expect(byQuery.runId).toBe(first.runId);
    expect((await page(latest(first), '?pageSize=1')).runId).toBe(last.runId);
    const goesOn = await page(latest(first), `?pageSize=1000&${token(byQuery)}`);
    expect(goesOn.runId).toBe(first.runId);
    expect(goesOn.events.at(-1)!.eventTypeName).toBe('WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
    const mixed = await client().get(`${latest(first)}/history?runId=${last.runId}&${token(byQuery)}`);
    expectError(mixed, 400, 'InvalidPageTokenError');
    const unknown = await client().get(`${latest(first)}/history?runId=${UNKNOWN_RUN}`);
    expectError(unknown, 404, 'WorkflowNotFoundError');
    // On the pinned route the path says which run, and the key is one that it does not know.
    expect((await page(pinned(first), `?runId=${last.runId}`)).runId).toBe(first.runId);
  });

  describe('the events', () => {
    it('are of the form of the contract', async () => {
      const run = await client().ended('eventful', { secret: 'CANARY' });
      const { events } = await page(pinned(run), '?pageSize=1000&includePayloads=true');
      const of = (name: string) => events.filter(({ eventTypeName }) => eventTypeName === name);
      const [started] = of('WORKFLOW_EXECUTION_STARTED');
      expect(started).toEqual({
        eventId: '1',
        eventType: 1,
        eventTypeName: 'WORKFLOW_EXECUTION_STARTED',
        eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        workflowExecutionStartedEventAttributes: {
          workflowType: { name: 'eventful' },
          workflowId: run.workflowId,
          taskQueue: { name: 'default' },
          input: [{ secret: 'CANARY' }],
          attempt: 1,
          firstExecutionRunId: run.runId,
          originalExecutionRunId: run.runId,
        },
      });
      const [scheduled] = of('ACTIVITY_TASK_SCHEDULED');
      expect(scheduled).toMatchObject({
        eventType: 10,
        activityTaskScheduledEventAttributes: {
          activityType: { name: 'eventful#first' },
          stepName: 'first',
          input: [],
          startToCloseTimeout: '1200s',
          retryPolicy: { initialInterval: '1s', backoffCoefficient: 2, maximumAttempts: 3 },
        },
      });
      for (const { eventTypeName, ...event } of events) {
        if (!eventTypeName.startsWith('ACTIVITY_TASK_')) continue;
        expect(attributesOf(event as Event)).toMatchObject({
          activityType: { name: expect.stringMatching(/^eventful#(first|second|decline)$/) },
          stepName: expect.any(String),
        });
      }
      const completed = of('ACTIVITY_TASK_COMPLETED').find(
        (event) => attributesOf(event).scheduledEventId === scheduled!.eventId,
      );
      expect(completed).toMatchObject({
        activityTaskCompletedEventAttributes: {
          stepName: 'first',
          startedEventId: expect.stringMatching(/^\d+$/),
          result: [expect.any(String)],
        },
      });
      expect(attributesOf(of('ACTIVITY_TASK_FAILED')[0]!)).toMatchObject({
        failure: {
          message: 'no funds',
          type: 'CardDeclined',
          stackTrace: expect.stringContaining('CardDeclined'),
          cause: { message: 'socket closed', type: 'TypeError', stackTrace: expect.any(String) },
        },
      });
      expect(Object.keys(attributesOf(of('ACTIVITY_TASK_FAILED')[0]!).failure as object).sort()).toEqual([
        'cause',
        'message',
        'stackTrace',
        'type',
      ]);
      expect(of('TIMER_STARTED')).toMatchObject([
        { timerStartedEventAttributes: { timerId: '1', startToFireTimeout: '0.001s' } },
      ]);
      expect(of('CHILD_WORKFLOW_EXECUTION_COMPLETED')).toMatchObject([
        {
          childWorkflowExecutionCompletedEventAttributes: {
            workflowType: { name: 'child' },
            result: [{ secret: 'CANARY' }],
          },
        },
      ]);
      expect(JSON.stringify(events)).not.toMatch(/handedOut|childSeq|"settings"/);
    });

    it('carry no payloads unless asked for, and all else', async () => {
      const run = await client().ended('eventful', { secret: 'CANARY' });
      const full = (await page(pinned(run), '?pageSize=1000&includePayloads=true')).events;
      const PAYLOADS = new Set([
        'input',
        'result',
        'failure',
        'details',
        'lastCompletionResult',
        'lastFailure',
      ]);
      const stripped = full.map((event) =>
        Object.fromEntries(
          Object.entries(event).map(([key, value]) => [
            key,
            key.endsWith('EventAttributes')
              ? Object.fromEntries(Object.entries(value as object).filter(([name]) => !PAYLOADS.has(name)))
              : value,
          ]),
        ),
      );
      for (const query of ['', '&includePayloads=false']) {
        const { events } = await page(pinned(run), `?pageSize=1000${query}`);
        expect(events).toEqual(stripped);
        expect(JSON.stringify(events)).not.toMatch(/CANARY|no funds/);
      }
    });

    it('name their step also when it was scheduled on an earlier page', async () => {
      const run = await client().ended('eventful');
      const { events } = await page(pinned(run), '?pageSize=1000');
      let query = '?pageSize=1';
      for (const expected of events) {
        const part = await page(pinned(run), query);
        expect(part.events).toEqual([expected]);
        if (part.nextPageToken) query = `?pageSize=1&${token(part)}`;
      }
    });
  });
}
