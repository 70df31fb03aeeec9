import { describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../../src/core/history/event.js';
import { FOREVER_MS, type Run, type Stage, unique } from '../stage.js';

export function historyCases(stage: Stage): void {
  async function inPages(run: Run, limit: number): Promise<HistoryEvent[]> {
    const events: HistoryEvent[] = [];
    for (let page = 0; page < 200; page++) {
      const {
        events: more,
        ended,
        runId,
      } = await stage.engine.history(run.pinned, {
        afterEventId: events.length,
        limit,
      });
      expect(runId).toBe(run.runId);
      expect(more.length).toBeLessThanOrEqual(limit);
      events.push(...more);
      if (ended) return events;
    }
    throw new Error('the history has no end');
  }

  describe('history', () => {
    test('pages of every size concatenate to the same events, numbered densely from 1 (HI-01)', async () => {
      const run = await stage.start('serialSteps', { ...stage.place(), count: 4 });
      await run.result();
      const whole = await inPages(run, 1000);
      expect(whole.map((event) => event.id)).toEqual(whole.map((_, index) => index + 1));
      for (const limit of [1, 2, 3, 7, whole.length - 1, whole.length, whole.length + 1]) {
        expect(await inPages(run, limit)).toEqual(whole);
      }
      const times = whole.map((event) => event.at);
      expect([...times].sort((a, b) => a - b)).toEqual(times);
      expect((await run.describe()).historyLength).toBe(whole.length);
    });

    test('turns stand around the commands that they gave', async () => {
      const run = await stage.start('serialSteps', { ...stage.place(), count: 1 });
      await run.result();
      expect((await run.history()).map((event) => event.type)).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'WORKFLOW_TASK_SCHEDULED',
        'WORKFLOW_TASK_STARTED',
        'WORKFLOW_TASK_COMPLETED',
        'ACTIVITY_TASK_SCHEDULED',
        'ACTIVITY_TASK_STARTED',
        'ACTIVITY_TASK_COMPLETED',
        'WORKFLOW_TASK_SCHEDULED',
        'WORKFLOW_TASK_STARTED',
        'WORKFLOW_TASK_COMPLETED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('a page beyond the end is empty and says that the run has ended', async () => {
      const run = await stage.start('echo', 1);
      await run.result();
      const { length } = await run.history();
      const page = await stage.engine.history(run.pinned, {
        afterEventId: length,
        limit: 10,
        waitMs: 20_000,
      });
      expect(page).toMatchObject({ runId: run.runId, events: [], ended: true });
    });

    test('without a wait, a caller that has caught up gets an empty page at once', async () => {
      const run = await stage.start('waitForever');
      await run.until('WORKFLOW_TASK_COMPLETED');
      const { length } = await run.history();
      const page = await stage.engine.history(run.pinned, { afterEventId: length, limit: 10 });
      expect(page).toMatchObject({ runId: run.runId, events: [], ended: false });
      await run.terminate();
    });

    test('a long poll that nothing happens to ends after its time (HI-04)', async () => {
      const run = await stage.start('waitForever');
      await run.until('WORKFLOW_TASK_COMPLETED');
      const { length } = await run.history();
      const before = Date.now();
      const page = await stage.engine.history(run.pinned, { afterEventId: length, limit: 10, waitMs: 120 });
      expect(page).toMatchObject({ runId: run.runId, events: [], ended: false });
      expect(Date.now() - before).toBeGreaterThanOrEqual(115);
      await run.terminate();
    });

    test('a long poll is released by the next event, which is on disk (HI-04)', async () => {
      const run = await stage.start('collects');
      await run.query('seen');
      const { length } = await run.history();
      const poll = stage.engine.history(run.pinned, { afterEventId: length, limit: 10, waitMs: 20_000 });
      await run.signal('add', 1);
      const page = await poll;
      expect(page.events[0]).toMatchObject({ id: length + 1, type: 'WORKFLOW_EXECUTION_SIGNALED' });
      await run.terminate();
    });

    test('a long poll ends when its caller goes away (HI-05)', async () => {
      const run = await stage.start('waitForever');
      await run.until('WORKFLOW_TASK_COMPLETED');
      const { length } = await run.history();
      const caller = new AbortController();
      const poll = stage.engine
        .history(run.pinned, { afterEventId: length, limit: 10, waitMs: FOREVER_MS, abort: caller.signal })
        .catch(() => undefined);
      caller.abort();
      await poll;
      await run.terminate();
    });

    test('pages lead to what has happened since the first of them was read', async () => {
      const run = await stage.start('collects');
      for (let i = 0; i < 5; i++) await run.signal('add', i);
      await run.query('seen');
      const seen: HistoryEvent[] = [];
      const read = async (limit: number) => {
        const { events } = await stage.engine.history(run.pinned, { afterEventId: seen.length, limit });
        seen.push(...events);
      };
      for (let page = 0; page < 4; page++) await read(1);
      await run.signal('add', 5);
      await run.signal('finish');
      await run.outcome();
      await read(1_000);
      expect(seen).toEqual(await run.history());
    });

    test('what a reader saw while the run went on is what stands there in the end (I3)', async () => {
      const run = await stage.start('serialSteps', { ...stage.place(), count: 10 });
      const followed: HistoryEvent[] = [];
      for (let page = 0; page < 500; page++) {
        const { events, ended } = await stage.engine.history(run.pinned, {
          afterEventId: followed.length,
          limit: 3,
          waitMs: 5_000,
        });
        followed.push(...events);
        if (ended) break;
      }
      expect(followed).toEqual(await run.history());
    });
  });

  describe('list', () => {
    test('a run is listed as soon as its start is answered, and with its end as soon as that is (HI-10)', async () => {
      const run = await stage.start('waitForever');
      const filter = { workflowId: run.workflowId };
      expect((await stage.engine.list(filter, { limit: 5 })).runs).toEqual([
        {
          workflowId: run.workflowId,
          runId: run.runId,
          workflowType: 'waitForever',
          catalog: stage.system.catalog,
          status: 'running',
          startedAt: expect.any(Number),
          completedAt: null,
        },
      ]);
      await run.terminate();
      expect((await stage.engine.list(filter, { limit: 5 })).runs[0]).toMatchObject({
        status: 'terminated',
        completedAt: expect.any(Number),
      });
    });

    test('filters by prefix, type, status and time, newest first (HI-10)', async () => {
      const workflowIdPrefix = unique('list');
      const runs: Run[] = [];
      for (const [index, type] of ['echo', 'waitForever', 'throws', 'echo'].entries()) {
        runs.push(await stage.start(type, 1, { workflowId: `${workflowIdPrefix}%_${index}` }));
      }
      await Promise.all([0, 2, 3].map((index) => runs[index]!.outcome()));
      const ids = async (filter: object) =>
        (await stage.engine.list({ workflowIdPrefix, ...filter }, { limit: 10 })).runs.map(
          (run) => run.runId,
        );
      const [a, b, c, d] = runs.map((run) => run.runId);
      expect(await ids({})).toEqual([d, c, b, a]);
      expect(await ids({ workflowType: 'echo' })).toEqual([d, a]);
      expect(await ids({ status: 'running' })).toEqual([b]);
      expect(await ids({ status: 'failed' })).toEqual([c]);
      expect(await ids({ workflowType: 'echo', status: 'failed' })).toEqual([]);
      expect(await ids({ catalog: stage.system.catalog })).toEqual([d, c, b, a]);
      expect(await ids({ catalog: 'nowhere' })).toEqual([]);
      const { startedAt } = await runs[0]!.describe();
      expect(await ids({ startedAfter: startedAt + 60_000 })).toEqual([]);
      expect(await ids({ startedBefore: startedAt - 60_000 })).toEqual([]);
      expect(await ids({ startedAfter: startedAt - 1, startedBefore: startedAt + 60_000 })).toEqual([
        d,
        c,
        b,
        a,
      ]);
      const page = await stage.engine.list({ workflowIdPrefix: `${workflowIdPrefix}%_0` }, { limit: 5 });
      expect(page.runs.map((run) => run.runId)).toEqual([a]);
      await runs[1]!.terminate();
    });

    test('a cursor goes on where the page ended, whatever started meanwhile (HI-10)', async () => {
      const workflowIdPrefix = unique('pages');
      const start = (index: number) =>
        stage.start('echo', index, { workflowId: `${workflowIdPrefix}-${index}` });
      const first = await Promise.all(Array.from({ length: 12 }, (_, index) => start(index)));
      const seen: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < 20; page++) {
        const { runs, nextCursor } = await stage.engine.list({ workflowIdPrefix }, { limit: 5, cursor });
        seen.push(...runs.map((run) => run.runId));
        if (nextCursor === null) break;
        cursor = nextCursor;
        await start(100 + page);
      }
      expect([...seen].sort()).toEqual(first.map((run) => run.runId).sort());
    });

    test('a cursor that is none is refused (HI-03)', async () => {
      for (const cursor of ['garbage', '', 'bm90IGEgY3Vyc29y', '-1', '0000']) {
        await expect(stage.engine.list({}, { limit: 5, cursor })).rejects.toMatchObject({
          name: 'ValidationError',
        });
      }
    });
  });

  describe('catalog', () => {
    test('lists the workflows with their schemas, steps and declared handlers', async () => {
      const catalog = await stage.engine.catalog(stage.system.catalog);
      expect(catalog!.catalog).toBe(stage.system.catalog);
      const find = (name: string) => catalog!.workflows.find((workflow) => workflow.entry.name === name)!;
      expect(find('schemaed')).toMatchObject({
        declaresSignals: true,
        entry: {
          name: 'schemaed',
          description: 'Parses what goes in and what comes out',
          path: expect.stringMatching(/^start[/\\]workflow\.ts$/),
          aliases: ['formerlySchemaed'],
          inputSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
          outputSchema: { type: 'object' },
          signals: [{ name: 'poke', description: 'Does nothing', inputSchema: { type: 'object' } }],
          queries: [{ name: 'mood', outputSchema: { type: 'string' } }],
          updates: [{ name: 'rename', inputSchema: { type: 'string' } }],
        },
      });
      expect(find('echo')).toMatchObject({
        declaresSignals: false,
        entry: {
          description: null,
          inputSchema: null,
          outputSchema: null,
          aliases: [],
          signals: [],
          queries: [],
        },
      });
      expect(find('callValues').entry.steps).toContainEqual({
        name: 'parsed',
        description: 'Doubles a number that may be given as text',
        inputSchema: expect.objectContaining({ type: 'object' }),
        outputSchema: expect.objectContaining({ type: 'object' }),
      });
      expect(find('outOfTime').settings.executionTimeoutMs).toBe(150);
      expect(find('triedAgain').settings.retry).toMatchObject({ initialIntervalMs: 20, maximumAttempts: 3 });
    });

    test('a catalog that nobody registered is not there', async () => {
      expect(await stage.engine.catalog(unique('nobody'))).toBeUndefined();
    });
  });
}
