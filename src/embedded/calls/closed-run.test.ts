/** What a run that has closed answers to messages and to requests to stop. */
import { describe, expect, it, vi } from 'vitest';
import { complete, ScriptedWorker } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';
import { Transaction } from '../store/transaction.js';

describe('a run that has closed', () => {
  it('refuses nobody before its end is on disk', async () => {
    const engine = folder.open();
    const run = await start(engine, 'a');
    const ended = engine.terminate(run, 'over');
    await expect(engine.signal(run, 'late', [])).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
    const killed = folder.asKilled();
    expect(await killed.open().describe(run)).toMatchObject({ status: 'terminated' });
    await killed.remove();
    await ended;
  });

  it('takes no message, and says so', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    const isClosed = { name: 'WorkflowAlreadyClosedError' };
    await expect(engine.signal(run, 'late', [])).rejects.toMatchObject(isClosed);
    await expect(engine.update(run, 'late', [])).rejects.toMatchObject(isClosed);
    await expect(engine.terminate(run, 'late')).rejects.toMatchObject(isClosed);
  });

  it('is what a request to stop is told, which changes nothing', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    expect(await engine.cancel(run)).toEqual({ ...run, status: 'running' });
    expect(await engine.cancel({ workflowId: 'a' })).toEqual({ ...run, status: 'running' });
    await worker.turn();
    await worker.turn({ kind: 'cancelRun' });
    await engine.outcome(run, { waitMs: 5_000 });
    const { historyLength } = await engine.describe(run);
    expect(await engine.cancel(run)).toEqual({ ...run, status: 'cancelled' });
    expect(await engine.describe(run)).toMatchObject({ historyLength, status: 'cancelled' });
    await expect(engine.cancel({ workflowId: 'unknown' })).rejects.toMatchObject({
      name: 'WorkflowNotFoundError',
    });
  });
});

it('that was asked to stop while its turn is under way refuses a pause when that is on disk', async () => {
  const engine = folder.open();
  const worker = new ScriptedWorker(engine);
  const run = await start(engine, 'a');
  await worker.next('turn');
  const stopped = engine.cancel(run);
  const pause = { by: 'operator', reason: 'r' } as const;
  await expect(engine.pause(run, pause)).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
  const killed = folder.asKilled();
  await expect(killed.open().pause(run, pause)).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
  await killed.remove();
  await stopped;
});

it('is not told while nothing can be committed: who is refused then asks again', async () => {
  const engine = folder.open();
  const run = await start(engine, 'a');
  const busy = vi.spyOn(Transaction.prototype, 'commit').mockImplementation(() => {
    throw Object.assign(new Error('the file is busy'), { code: 'SQLITE_BUSY' });
  });
  const ended = engine.terminate(run, 'over');
  engine.flush();
  const later = { name: 'EngineUnavailableError', details: { retryAfterSeconds: 1 } };
  await expect(engine.terminate(run, 'over')).rejects.toMatchObject(later);
  busy.mockRestore();
  await ended;
  await expect(engine.terminate(run, 'over')).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
});
