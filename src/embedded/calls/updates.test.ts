/** Updates that nobody decides on, and whose answer goes to whom over a restart. */
import { describe, expect, it } from 'vitest';
import { ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

describe('the id of an update', () => {
  it('is not given again after a restart, so nobody gets the answer of another', async () => {
    let engine = folder.open();
    let worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const before = engine.update(run, 'slow', []).catch((error: Error) => error.name);
    const first = await worker.next('turn');
    worker.completeTurn(first, [
      { kind: 'acceptUpdate', updateId: first.updates[0]!.updateId },
      timer(1, 60_000),
    ]);
    await engine.signal(await start(engine, 'b'), 'to have all of it on disk', []);
    await engine.close();
    expect(await before).toBe('EngineUnavailableError');

    engine = folder.open();
    worker = new ScriptedWorker(engine);
    const after = engine.update(run, 'quick', []);
    let second = await worker.next('turn');
    while (second.runId !== run.runId) second = await worker.next('turn');
    const { updateId } = second.updates[0]!;
    expect(updateId).not.toBe(first.updates[0]!.updateId);
    worker.completeTurn(second, [
      { kind: 'completeUpdate', updateId: first.updates[0]!.updateId, result: '"of the old"' },
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId, result: '"of the new"' },
    ]);
    expect(await after).toBe('"of the new"');
  });
});

describe('an update that nobody decides on', () => {
  const limits = { messageTimeoutMs: 200 };

  it('is refused after its time when its worker has gone', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const update = engine.update(run, 'change', []);
    await worker.next('turn');
    await new Promise((resolve) => setTimeout(resolve, limits.messageTimeoutMs + 50));
    worker.lose();
    await expect(update).rejects.toThrow('has answered within 200 ms');
  });

  it('is refused after its time with what holds the run back, where no code fits it', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const refused = engine.update(run, 'late', []).catch((error: Error) => error);
    await worker.misfit('the code is another');
    expect(await refused).toMatchObject({
      name: 'EngineUnavailableError',
      message: 'the run is held back and takes no updates: the code is another',
    });
  });

  it('is refused after its time when it waits for the run that its own went on as', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    await engine.signal(run, 'go on', []);
    const turn = await worker.next('turn');
    const update = engine.update(run, 'change', []);
    worker.completeTurn(turn, [{ kind: 'continueAsNew', workflowType: 'flow', input: [] }]);
    worker.lose();
    await expect(update).rejects.toThrow('has answered within 200 ms');
  });
});
