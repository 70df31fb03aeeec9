/** Turns that carry messages: what they leave to others, and what their callers are told. */
import { describe, expect, it } from 'vitest';
import { complete, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

describe('a turn with messages', () => {
  const accept = (updateId: string) =>
    [
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId, result: '7' },
    ] as const;

  it('that decides on none of them leaves them to the next', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const update = engine.update(run, 'change', []);
    const [given] = (await worker.turn(timer(1, 60_000))).updates;
    const next = await worker.next('turn');
    expect(next.updates).toEqual([given]);
    worker.completeTurn(next, [...accept(given!.updateId)]);
    expect(await update).toBe('7');
  });

  it('answers a query only when what it has decided beside is on disk', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    const before = await worker.next('turn');
    await engine.signal(run, 'go', []);
    const query = engine.query(run, 'state', []);
    worker.completeTurn(before);
    const task = await worker.next('turn');
    const { queryId } = task.queries[0]!;
    worker.completeTurn(task, [timer(1, 60_000)], [{ kind: 'answered', queryId, result: '1' }]);
    expect(await query).toBe('1');
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).toContain('TIMER_STARTED');
  });

  it('that only refuses leaves nothing behind, in the history and in the worker', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(timer(1, 60_000));
    const update = engine.update(run, 'change', []);
    const task = await worker.next('turn');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    const { updateId } = task.updates[0]!;
    worker.completeTurn(task, [{ kind: 'rejectUpdate', updateId, reason: 'validator', failure }]);
    await expect(update).rejects.toMatchObject({ name: 'UpdateRejectedError' });
    expect((await worker.next('forget')).runId).toBe(run.runId);
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.at(-1)!.type).toBe('TIMER_STARTED');
    await engine.signal(run, 'go', []);
    expect((await worker.turn(complete())).events[0]!.id).toBe(1);
  });

  it('refuses an update with which its run closes, and answers one that it has accepted', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const accepted = engine.update(run, 'slow', []).catch((error: Error) => error.name);
    const first = await worker.next('turn');
    const waiting = engine.update(run, 'late', []).catch((error: Error) => error.name);
    worker.completeTurn(first, [{ kind: 'acceptUpdate', updateId: first.updates[0]!.updateId }]);
    await worker.turn(complete());
    expect(await accepted).toBe('UpdateFailedError');
    expect(await waiting).toBe('WorkflowAlreadyClosedError');
  });
});

describe('what came with a turn that no code can make', () => {
  it('is told of it, if it is a query, and is in the history, if it is a signal', async () => {
    const engine = folder.open();
    const run = await start(engine, 'a');
    const query = engine.query(run, 'state', []);
    const worker = new ScriptedWorker(engine);
    const { turnId, runId, queries } = await worker.next('turn');
    expect(queries).toHaveLength(1);
    await engine.signal(run, 'note', []);
    const failure = { kind: 'application', type: 'Error', message: 'it does not fit' } as const;
    worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
    await expect(query).rejects.toThrow('the run is held back: it does not fit');
    await engine.recordTrace(run, {});
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
  });
});
