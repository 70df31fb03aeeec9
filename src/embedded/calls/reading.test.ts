/** Histories and the run list, page by page: all of it, and each of it once. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  ScriptedWorker,
  step,
  timer,
  workflow,
} from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
  worker = new ScriptedWorker(engine);
});
afterEach(() => folder.remove());

const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

describe('the pages of a history', () => {
  it.each([1, 2, 3, 4, 100])(
    'of %d events have each of them once, and only the last one ends',
    async (limit) => {
      const run = await start('a');
      await worker.turn(step(1));
      worker.completeStep(await worker.next('step'));
      await worker.turn(complete());
      await engine.outcome(run, { waitMs: 5_000 });
      const ids: number[] = [];
      for (let pages = 0; ; pages++) {
        expect(pages).toBeLessThan(20);
        const page = await engine.history(run, { afterEventId: ids.at(-1) ?? 0, limit });
        ids.push(...page.events.map(({ id }) => id));
        if (page.ended) break;
        expect(page.events).toHaveLength(limit);
      }
      expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    },
  );

  it('come to a reader who waits as soon as there is more', async () => {
    const run = await start('a');
    await worker.turn(timer(1, 60_000));
    await engine.recordTrace(run, {});
    const next = engine.history(run, { afterEventId: 5, limit: 100, waitMs: 600_000 });
    await engine.signal(run, 'more', []);
    expect((await next).events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
  });

  it('come to a reader who waits also when another has waited beside it and left', async () => {
    const run = await start('a');
    await worker.turn(timer(1, 60_000));
    await engine.recordTrace(run, {});
    const leaving = new AbortController();
    const options = { afterEventId: 5, limit: 100, waitMs: 600_000 };
    const gone = engine.history(run, { ...options, abort: leaving.signal });
    const next = engine.history(run, options);
    leaving.abort();
    expect((await gone).events).toEqual([]);
    await engine.signal(run, 'more', []);
    expect((await next).events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
  });

  it('come to a reader who waits from the run that was looked at, also when the next one has begun', async () => {
    const { runId } = await start('a');
    const next = engine.history({ workflowId: 'a' }, { afterEventId: 2, limit: 100, waitMs: 600_000 });
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: [] });
    const page = await next;
    expect([page.runId, page.events.at(-1)?.type]).toEqual([runId, 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW']);
  });

  it('of an open run never end', async () => {
    const run = await start('a');
    await worker.turn(timer(1, 60_000));
    await engine.recordTrace(run, {});
    expect((await engine.history(run, { afterEventId: 0, limit: 100 })).ended).toBe(false);
    expect((await engine.history(run, { afterEventId: 5, limit: 100 })).ended).toBe(false);
  });
});

describe('the run list', () => {
  it.each([1, 2, 3, 7])('has every run once, newest first, in pages of %d', async (limit) => {
    for (let i = 0; i < 7; i++) await start(`run-${i}`);
    const found: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages < 20; pages++) {
      const page = await engine.list({}, { limit, cursor });
      found.push(...page.runs.map(({ workflowId }) => workflowId));
      cursor = page.nextCursor ?? undefined;
      if (cursor === undefined) break;
    }
    expect(found).toEqual(['run-6', 'run-5', 'run-4', 'run-3', 'run-2', 'run-1', 'run-0']);
  });

  it('has what was asked for, and takes no character of it for a pattern', async () => {
    await start('a_1');
    await start('ab1');
    await start('a%1');
    await start('b');
    await engine.terminate({ workflowId: 'b' }, 'enough');
    const ids = async (filter: Parameters<EmbeddedEngine['list']>[0]) =>
      (await engine.list(filter, { limit: 10 })).runs.map(({ workflowId }) => workflowId);
    expect(await ids({ status: 'terminated' })).toEqual(['b']);
    expect(await ids({ status: 'running' })).toEqual(['a%1', 'ab1', 'a_1']);
    expect(await ids({ workflowIdPrefix: 'a_' })).toEqual(['a_1']);
    expect(await ids({ workflowIdPrefix: 'a%' })).toEqual(['a%1']);
    expect(await ids({ workflowIdPrefix: 'A' })).toEqual([]);
    expect(await ids({ workflowType: 'other' })).toEqual([]);
    expect(await ids({ catalog: 'other' })).toEqual([]);
  });
});

describe('a chain of runs', () => {
  it('has the outcome of its last run and the input of its first', async () => {
    const first = await start('a');
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: ['"later"'] });
    const { runId } = await worker.turn(complete());
    const outcome = await engine.outcome({ workflowId: 'a' }, { waitMs: 5_000 });
    expect(outcome).toMatchObject({ runId, status: 'completed', input: '1' });
    const own = { waitMs: 5_000, followChain: false };
    expect(await engine.outcome(first, own)).toMatchObject({ status: 'continued_as_new', input: '1' });
    expect(await engine.outcome({ workflowId: 'a', runId }, own)).toMatchObject({ input: '"later"' });
  });

  it('is found under its own id only', async () => {
    const run = await start('a');
    await start('b');
    await expect(engine.describe({ workflowId: 'b', runId: run.runId })).rejects.toMatchObject({
      name: 'WorkflowNotFoundError',
    });
  });
});

describe('what is recorded beside the runs', () => {
  it('of a trace is added to what was known', async () => {
    const run = await start('a');
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    await engine.recordTrace(run, { local: '/here' });
    await engine.recordTrace(run, { remote: 's3://there' });
    expect((await engine.outcome(run))?.trace).toEqual({ local: '/here', remote: 's3://there' });
  });

  it('of a catalog is what was registered last, also after a restart', async () => {
    new ScriptedWorker(engine, { workflows: [workflow('flow'), workflow('more')] });
    await engine.close();
    engine = folder.open();
    const names = (await engine.catalog(CATALOG))?.workflows.map(({ entry }) => entry.name);
    expect(names).toEqual(['flow', 'more']);
  });
});

it('who has hung up before he could wait for anything is not waited for', async () => {
  const run = await start('a');
  const abort = AbortSignal.abort();
  const since = performance.now();
  expect(await engine.outcome(run, { waitMs: 30_000, abort })).toBeUndefined();
  const { events } = await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 30_000, abort });
  expect(events).toEqual([]);
  expect(performance.now() - since).toBeLessThan(20_000);
});
