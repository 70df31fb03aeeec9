/** A turn that cannot be recorded costs its run and its callers, and nobody else. */
import { describe, expect, it } from 'vitest';
import { complete, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { closed, folder, start } from '../started-run.fixture.js';

/** Sound when it is looked over, and then not there: what only a fault of the engine could do. */
function trapTimer(): ReturnType<typeof timer> {
  let looks = 0;
  return {
    ...timer(2, 1_000),
    get durationMs(): number {
      if (++looks > 1) throw new Error('a fault');
      return 1_000;
    },
  } as ReturnType<typeof timer>;
}

describe('a turn that cannot be recorded', () => {
  it('leaves its run as it was before, and all others alone', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    const task = await worker.next('turn');
    worker.completeTurn(task, [timer(1, 60_000), trapTimer()]);
    const other = await start(engine, 'b');
    await worker.turn(complete());
    expect(await closed(engine, other)).toMatchObject({ status: 'completed' });
    await expect(engine.describe(run)).rejects.toThrow('its turn could not be recorded (a fault)');
    await engine.close();
    const again = folder.open();
    const next = new ScriptedWorker(again);
    expect((await next.turn(complete())).events.map(({ type }) => type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    expect(await closed(again, run)).toMatchObject({ status: 'completed' });
  });
});

describe('callers of a run whose turn cannot be recorded', () => {
  it('are told so, those of the turn and those whose update was accepted before', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const errorOf = (answer: Promise<unknown>) => answer.catch((error: Error) => error.name);
    const accepted = errorOf(engine.update(run, 'accepted', []));
    const first = await worker.next('turn');
    worker.completeTurn(first, [{ kind: 'acceptUpdate', updateId: first.updates[0]!.updateId }]);
    const carried = [errorOf(engine.update(run, 'carried', [])), errorOf(engine.query(run, 'carried', []))];
    const second = await worker.next('turn');
    expect([second.updates.length, second.queries.length]).toEqual([1, 1]);
    worker.completeTurn(second, [trapTimer()]);
    expect(await Promise.all([accepted, ...carried])).toEqual(Array(3).fill('DataCorruptionError'));
  });
});
