/** Turns that carry messages: what they leave to others, and what their callers are told. */
import { describe, expect, it } from 'vitest';
import { complete, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

const accept = (updateId: string) =>
  [
    { kind: 'acceptUpdate', updateId },
    { kind: 'completeUpdate', updateId, result: '7' },
  ] as const;
const refuse = (updateId: string) =>
  ({
    kind: 'rejectUpdate',
    updateId,
    reason: 'validator',
    failure: { kind: 'application', type: 'Error', message: 'no' },
  }) as const;

describe('a turn with messages', () => {
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
    worker.completeTurn(task, [refuse(task.updates[0]!.updateId)]);
    await expect(update).rejects.toMatchObject({ name: 'UpdateRejectedError' });
    expect((await worker.next('forget')).runId).toBe(run.runId);
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.at(-1)!.type).toBe('TIMER_STARTED');
    await engine.signal(run, 'go', []);
    expect((await worker.turn(complete())).events[0]!.id).toBe(1);
  });

  it('that only refuses lets the run see what came meanwhile', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const update = engine.update(run, 'change', []).catch((error: Error) => error.name);
    const task = await worker.next('turn');
    await engine.signal(run, 'go', []);
    worker.completeTurn(task, [refuse(task.updates[0]!.updateId)]);
    expect(await update).toBe('UpdateRejectedError');
    const { events } = await worker.turn(complete());
    expect(events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
  });

  it('keeps an update waiting that the run does not take while it is paused', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const update = engine.update(run, 'change', []);
    const task = await worker.next('turn');
    const { updateId } = task.updates[0]!;
    worker.completeTurn(task, [{ ...refuse(updateId), reason: 'paused' }]);
    const next = await worker.next('turn');
    worker.completeTurn(next, [...accept(updateId)]);
    expect(await update).toBe('7');
  });

  it('that refuses one of its updates and accepts another is in the history', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const refused = engine.update(run, 'wrong', []).catch((error: Error) => error.name);
    const taken = engine.update(run, 'right', []);
    const task = await worker.next('turn');
    const [wrong, right] = task.updates.map(({ updateId }) => updateId);
    worker.completeTurn(task, [refuse(wrong!), ...accept(right!)]);
    expect([await refused, await taken]).toEqual(['UpdateRejectedError', '7']);
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.at(-1)).toMatchObject({
      type: 'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
      attributes: { updateId: right },
    });
  });

  it('is recorded as what it was shown, also where nothing but an update has caused it', async () => {
    // As many events as the history has with that which says that the turn is due.
    const engine = folder.open({ limits: { historyEventsSuggestContinue: 5 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const update = engine.update(run, 'change', []);
    const task = await worker.next('turn');
    worker.completeTurn(task, [...accept(task.updates[0]!.updateId)]);
    expect(await update).toBe('7');
    const { events } = await engine.history(run, { afterEventId: 4, limit: 2 });
    const [scheduled, started] = events;
    expect(scheduled).toMatchObject({ type: 'WORKFLOW_TASK_SCHEDULED', id: task.historyLength });
    expect(started?.type).toBe('WORKFLOW_TASK_STARTED');
    expect('suggestContinueAsNew' in started!.attributes).toBe(task.continueAsNewSuggested);
  });

  it('that is lost leaves its updates before those that came meanwhile', async () => {
    const engine = folder.open();
    const lost = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await lost.turn();
    const first = engine.update(run, 'first', []);
    await lost.next('turn');
    const second = engine.update(run, 'second', []);
    // Else it would be tried without them.
    lost.say({ kind: 'draining' });
    lost.lose();
    const worker = new ScriptedWorker(engine);
    const task = await worker.next('turn');
    expect(task.updates.map(({ name }) => name)).toEqual(['first', 'second']);
    worker.completeTurn(
      task,
      task.updates.flatMap(({ updateId }) => accept(updateId)),
    );
    expect(await Promise.all([first, second])).toEqual(['7', '7']);
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
