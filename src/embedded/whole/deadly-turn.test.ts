/**
 * A turn that ends its worker is tried alone, then by workers of other code, then held back; the messages that came with it
 * are tried by themselves and refused.
 */
import { describe, expect, it } from 'vitest';
import { complete, step } from '../scripted-worker.fixture.js';
import {
  attemptOf,
  engine,
  join,
  joinOf,
  lastWords,
  pool,
  reopen,
  retryOnce,
  start,
  type WitnessedWorker,
} from './witnessed-worker.fixture.js';

describe('a turn that ends its worker', () => {
  it('is tried once more alone, then held back, and costs nobody else anything', async () => {
    const [worker, reserve] = [await join(), await join()];
    await start('beside');
    await worker.turn(step(1, 'work', { retry: retryOnce }));
    const beside = await worker.next('step');
    const run = await start('endless');
    const { turnId } = await worker.next('turn');
    lastWords(worker, { turnId }, [attemptOf(beside)]);
    const again = await reserve.next('step');
    expect(again).toMatchObject({ stepName: 'work', attempt: 2 });
    const third = await join();
    const alone = await third.next('turn');
    expect(alone.workflowId).toBe('endless');
    lastWords(third, { turnId: alone.turnId });
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await engine.describe(run)).heldBack?.reason).toContain('ended whenever it ran this turn');
    reserve.completeStep(again);
    await reserve.turn(complete());
    expect(await engine.outcome({ workflowId: 'beside' }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
    });
  });

  it('is held against no code that comes later: that takes it at once, among others', async () => {
    const run = await start('endless');
    for (let ends = 0; ends < 2; ends++) {
      const worker = await joinOf(undefined, 'v1');
      lastWords(worker, { turnId: (await worker.next('turn')).turnId });
    }
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await engine.describe(run)).heldBack).toBeDefined();
    // Nobody of its pool stands by yet.
    const young = await joinOf(pool, 'v2');
    await start('beside');
    expect((await young.next('turn')).workflowId).toBe('endless');
    expect((await young.next('turn')).workflowId).toBe('beside');
  });

  it('has nothing to do with the next turn of its run, once it has been answered', async () => {
    const workers = [await join(), await join()];
    const run = await start('a');
    const taker = async () => {
      for (;;) {
        const index = workers.findIndex((each) => each.pending('turn').length > 0);
        if (index >= 0) return workers.splice(index, 1)[0]!;
        await new Promise(setImmediate);
      }
    };
    for (let turns = 0; turns < 3; turns++) {
      const lost = await taker();
      lastWords(lost, { turnId: (await lost.next('turn')).turnId });
      workers.push(await join());
      const tries = await taker();
      workers.push(tries);
      await tries.turn();
      await engine.recordTrace(run, {});
      await engine.signal(run, 'go', []);
    }
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).not.toContain('WORKFLOW_TASK_FAILED');
  });

  it('leaves the worker that has tried it alone to others when it has been answered', async () => {
    const [worker, reserve] = [await join(), await join()];
    await start('deadly');
    lastWords(worker, { turnId: (await worker.next('turn')).turnId });
    const third = await join();
    expect((await third.turn(complete())).workflowId).toBe('deadly');
    reserve.lose();
    await start('afterwards');
    expect((await third.turn(complete())).workflowId).toBe('afterwards');
  });

  it('is remembered when its run has left the memory', async () => {
    await reopen({ cachedRuns: 0 });
    const [worker, reserve] = [await join(), await join()];
    const run = await start('endless');
    const { turnId } = await worker.next('turn');
    lastWords(worker, { turnId });
    // Whatever is quiet leaves the memory with the next commits.
    await engine.recordTrace(await start('beside'), {});
    await reserve.turn(complete());
    await engine.recordTrace(run, {});
    const third = await join();
    const alone = await third.next('turn');
    expect(alone.workflowId).toBe('endless');
    lastWords(third, { turnId: alone.turnId });
    const { events } = await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect(events).toHaveLength(1);
    expect((await engine.describe(run)).heldBack?.reason).toContain('ended whenever it ran this turn');
    // The run leaves the memory, and its next try is due after a second.
    await start('other');
    await reserve.turn(complete());
    const fourth = await join();
    expect((await fourth.next('turn')).workflowId).toBe('endless');
    expect(reserve.pending('turn')).toEqual([]);
  });
});

describe('a turn that ends its worker while other code is connected', () => {
  const heldBack = async (workflowId: string) => (await engine.describe({ workflowId })).heldBack;
  /** A worker that shares its tasks with nobody who stands by. */
  const worker = (codeId: string) => joinOf(undefined, codeId);
  const endsIn = async (each: WitnessedWorker) => {
    const { turnId } = await each.next('turn');
    lastWords(each, { turnId });
  };

  it('is offered to that code, not to the same again, and goes on there', async () => {
    const [first, second] = [await worker('v1'), await worker('v1')];
    await start('deadly');
    const other = await worker('v2');
    await endsIn(first);
    expect((await other.turn(complete())).workflowId).toBe('deadly');
    expect(second.pending('turn')).toEqual([]);
    expect(await engine.outcome({ workflowId: 'deadly' }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
    });
  });

  it('is held back when it has ended a worker of each', async () => {
    const [first, second] = [await worker('v1'), await worker('v1')];
    const run = await start('deadly');
    const [other, third] = [await worker('v2'), await worker('v3')];
    await endsIn(first);
    await new Promise(setImmediate);
    const [next, last] = other.pending('turn').length > 0 ? [other, third] : [third, other];
    await endsIn(next);
    expect(await heldBack('deadly')).toBeUndefined();
    await endsIn(last);
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await heldBack('deadly'))?.reason).toContain('ended whenever it ran this turn');
    expect(second.pending('turn')).toEqual([]);
  });

  it('is tried once more by the same code when the other does not fit its history', async () => {
    const [first, second] = [await worker('v1'), await worker('v1')];
    await start('deadly');
    const other = await worker('v2');
    await endsIn(first);
    await other.misfit();
    await second.turn(complete());
    expect(await engine.outcome({ workflowId: 'deadly' }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
    });
    const { events } = await engine.history({ workflowId: 'deadly' }, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).not.toContain('WORKFLOW_TASK_FAILED');
  });

  it('is tried once more by the same code when the other has left', async () => {
    const [first, second] = [await worker('v1'), await worker('v1')];
    await start('deadly');
    const other = await worker('v2');
    await endsIn(first);
    await other.next('turn');
    other.say({ kind: 'draining' });
    other.lose();
    await second.turn(complete());
  });
});

describe('a message that ends its worker', () => {
  it('is a query: asked once more by itself, then refused, while others are answered', async () => {
    const [worker] = [await join(), await join()];
    const run = await start('flow');
    await worker.turn();
    const asked = ['endless', 'fine'].map((name) => engine.query(run, name, []));
    const refused = expect(asked[0]).rejects.toMatchObject({
      name: 'QueryFailedError',
      message: expect.stringContaining('"endless" ended every worker'),
    });
    lastWords(worker, { turnId: (await worker.next('turn')).turnId });
    // Both were with the worker, so each is tried alone.
    let alone = await join();
    const names: string[] = [];
    while (names.length < 2) {
      const task = await alone.next('turn');
      const [query] = task.queries;
      names.push(query!.name);
      expect(task.queries).toHaveLength(1);
      if (query!.name === 'fine') {
        alone.completeTurn(task, [], [{ kind: 'answered', queryId: query!.queryId, result: '1' }]);
      } else {
        lastWords(alone, { turnId: task.turnId });
        alone = await join();
      }
    }
    await refused;
    expect(await asked[1]).toBe('1');
    expect((await engine.describe(run)).heldBack).toBeUndefined();
  });

  it('is an update: given once more by itself, then refused, and its run goes on', async () => {
    const [worker, reserve] = [await join(), await join()];
    const run = await start('flow');
    await worker.turn();
    const refused = expect(engine.update(run, 'endless', [])).rejects.toMatchObject({
      name: 'UpdateRejectedError',
    });
    lastWords(worker, { turnId: (await worker.next('turn')).turnId });
    const alone = await join();
    lastWords(alone, { turnId: (await alone.next('turn')).turnId });
    await refused;
    await engine.signal(run, 'go', []);
    const task = await reserve.turn(complete());
    expect(task).toMatchObject({ updates: [] });
    expect(await engine.outcome(run, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
  });

  it('does not go with the turn of its run, which is tried without it', async () => {
    const [worker, reserve] = [await join(), await join()];
    const run = await start('flow');
    const before = await worker.next('turn');
    await engine.signal(run, 'go', []);
    const query = engine.query(run, 'endless', []);
    worker.completeTurn(before);
    const first = await worker.next('turn');
    expect(first.queries).toHaveLength(1);
    lastWords(worker, { turnId: first.turnId });
    const alone = await join();
    expect((await alone.turn()).queries).toEqual([]);
    const task = await alone.next('turn');
    expect(task).toMatchObject({ readOnly: true, queries: [{ name: 'endless' }] });
    const refused = expect(query).rejects.toMatchObject({ name: 'QueryFailedError' });
    lastWords(alone, { turnId: task.turnId });
    await refused;
    await engine.signal(run, 'go', []);
    await reserve.turn(complete());
  });
});
