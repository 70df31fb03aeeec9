/** What one run does to its worker, and what the others notice of it; where it is a turn that ends it, see deadly-turn.test.ts. */
import { describe, expect, it } from 'vitest';
import { CATALOG, complete, ScriptedWorker, step } from '../scripted-worker.fixture.js';
import {
  attemptOf,
  engine,
  join,
  joinOf,
  lastWords,
  pool,
  retryOnce,
  start,
} from './witnessed-worker.fixture.js';

describe('a worker that stands by', () => {
  it('gets nothing while the others work, and everything when they are lost', async () => {
    const [worker, reserve] = [await join(), await join()];
    await start('first');
    await worker.turn(complete());
    expect(reserve.pending('turn')).toEqual([]);
    await start('second');
    await worker.next('turn');
    // Its witness has said that it was not the turn.
    lastWords(worker, { runId: 'other', scheduledEventId: 5, attempt: 1 });
    expect((await reserve.turn(complete())).workflowId).toBe('second');
    await start('third');
    await reserve.turn(complete());
  });

  it('is the one for suspects, and its place is taken by the next to come', async () => {
    const [worker, reserve] = [await join(), await join()];
    await start('suspect');
    await worker.next('turn');
    worker.lose();
    // Nobody else works, so the reserve has to, and the suspect waits for the next one.
    await start('fine');
    expect((await reserve.turn(complete())).workflowId).toBe('fine');
    const next = await join();
    expect((await next.turn(complete())).workflowId).toBe('suspect');
    await start('afterwards');
    expect((await reserve.turn(complete())).workflowId).toBe('afterwards');
  });
});

it('what waits is counted by its kind, suspects too', async () => {
  const worker = await join();
  await start('with a step');
  await worker.turn(step(1, 'work', { retry: retryOnce }));
  await worker.next('step');
  await start('with a turn');
  await worker.next('turn');
  worker.lose();
  await new Promise(setImmediate);
  expect(engine.load()).toMatchObject({ turnsQueued: 1, stepsQueued: 1 });
});

describe('a step that was asked to stop and whose worker ended before it began', () => {
  it.each(['open', 'paused'])('is over, and is not begun elsewhere, while its run is %s', async (state) => {
    const worker = await join();
    const run = await start('a');
    await worker.turn(step(1));
    await worker.next('step');
    await engine.signal(run, 'enough', []);
    await worker.turn({ kind: 'cancelStep', activityId: '1' });
    await worker.next('stopStep');
    if (state === 'paused') {
      await engine.pause(run, { reason: 'to look', by: 'operator' });
      await worker.turn();
    }
    lastWords(worker);
    const other = await join();
    const types = async () => {
      const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
      return events.map(({ type }) => type);
    };
    await expect.poll(types).toContain('ACTIVITY_TASK_CANCELED');
    expect(other.pending('step')).toEqual([]);
  });
});

describe('steps that were at work when their worker ended', () => {
  it.each([
    ['go on together when it is known which of them has ended it', true, ['a', 'b', 'c']],
    ['are tried one after the other when it is not', false, ['a']],
  ])('%s', async (_what, isKnown, given) => {
    const worker = await joinOf(undefined, 'v1');
    const run = await start('flow');
    await worker.turn(step(1, 'a'), step(2, 'b'), step(3, 'c'));
    const steps = [await worker.next('step'), await worker.next('step'), await worker.next('step')];
    lastWords(worker, isKnown ? attemptOf(steps[0]!) : undefined, steps.map(attemptOf));
    const other = await joinOf(undefined, 'v1');
    await engine.recordTrace(run, {});
    await engine.recordTrace(run, {});
    expect(other.pending('step').map((task) => 'stepName' in task && task.stepName)).toEqual(given);
  });
});

describe('a step that ends its worker', () => {
  it('is tried alone before that counts, and then counts with its retry policy', async () => {
    const [worker] = [await join(), await join()];
    const run = await start('killer');
    await worker.turn(step(1, 'die', { retry: retryOnce }));
    const first = await worker.next('step');
    lastWords(worker, attemptOf(first), [attemptOf(first)]);
    for (const attempt of [2, 3]) {
      const alone = await join();
      const task = await alone.next('step');
      expect(task.attempt).toBe(attempt);
      alone.lose();
    }
    const { events } = await engine.history(run, { afterEventId: 5, limit: 9, waitMs: 5_000 });
    expect(events.find((event) => event.type === 'ACTIVITY_TASK_FAILED')?.attributes).toMatchObject({
      failure: { type: 'WorkerCrashed' },
      retryState: 'MAXIMUM_ATTEMPTS_REACHED',
    });
  });

  it('is tried alone also where it was queued twice before, since its run was paused for a while', async () => {
    const worker = Object.assign(new ScriptedWorker(engine, { pool, workerId: 'one', steps: 1 }), {
      id: 'one',
    });
    const run = await start('killer');
    await worker.turn(step(1, 'first'), step(2, 'die'));
    const first = await worker.next('step');
    await engine.pause(run, { by: 'operator' });
    await worker.turn();
    await engine.resume(run);
    await worker.turn();
    worker.completeStep(first);
    const task = await worker.next('step');
    lastWords(worker, attemptOf(task), [attemptOf(task)]);
    const [others, alone] = [await join(), await join()];
    expect(await alone.next('step')).toMatchObject({ stepName: 'die', attempt: 2 });
    expect(others.pending('step')).toEqual([]);
  });

  it('does not count against steps whose code had not begun, even if they may run only once', async () => {
    const [worker, reserve] = [await join(), await join()];
    await start('flow');
    await worker.turn(step(1, 'block'), step(2, 'waits', { retry: { ...retryOnce, maximumAttempts: 1 } }));
    const tasks = [await worker.next('step'), await worker.next('step')];
    const blocks = tasks.find(({ stepName }) => stepName === 'block')!;
    lastWords(worker, attemptOf(blocks), [attemptOf(blocks)]);
    expect(await reserve.next('step')).toMatchObject({ stepName: 'waits', attempt: 1 });
  });
});

describe('a worker that a step blocks', () => {
  it('loses its turns to others at once, and hears when other steps wait for it', async () => {
    const [worker, reserve] = [await join(), await join()];
    const said: unknown[] = [];
    const witness = engine.connect((message) => said.push(message));
    await start('blocks');
    await worker.turn(step(1, 'block'));
    const blocks = await worker.next('step');
    await start('fine');
    await worker.next('turn');
    witness.receive({ kind: 'blocked', workerId: worker.id, started: [attemptOf(blocks)] });
    expect((await reserve.turn(step(1, 'fine'))).workflowId).toBe('fine');
    await reserve.next('step');
    expect(said).toEqual([]);
    witness.receive({ kind: 'blocked', workerId: worker.id, started: [] });
    expect(said).toEqual([{ kind: 'othersWait' }]);
    // It is back, and now it is the one that stands by.
    worker.completeStep(blocks);
    expect((await reserve.turn(complete())).workflowId).toBe('blocks');
  });

  it('is asked whether it is back, also when the run of what blocked it has ended meanwhile', async () => {
    const worker = await join();
    const { runId } = await start('blocks');
    await worker.turn(step(1, 'block'));
    const blocks = await worker.next('step');
    const witness = engine.connect(() => {});
    witness.receive({ kind: 'blocked', workerId: worker.id, started: [attemptOf(blocks)] });
    // Its answer is awaited no longer, and it has nothing else to say.
    await engine.terminate({ workflowId: 'blocks', runId }, 'enough');
    await start('next');
    expect((await worker.next('turn')).workflowId).toBe('next');
  });

  it('keeps the turn that blocks it until it is known how that ends', async () => {
    const [worker, reserve] = [await join(), await join()];
    await start('blocks');
    const { turnId } = await worker.next('turn');
    await start('fine');
    await worker.next('turn');
    const witness = engine.connect(() => {});
    witness.receive({ kind: 'blocked', workerId: worker.id, turnId, started: [] });
    expect((await reserve.turn(complete())).workflowId).toBe('fine');
    const third = await join();
    expect([...reserve.pending('turn'), ...third.pending('turn')]).toEqual([]);
    lastWords(worker, { turnId });
    expect((await third.next('turn')).workflowId).toBe('blocks');
  });

  it('is stuck when nobody says why: its turns go elsewhere', async () => {
    const [worker, reserve] = [await join(true), await join()];
    await start('fine');
    const { turnId, runId } = await worker.next('turn');
    const third = await join();
    const moved = await Promise.race([reserve.next('turn'), third.next('turn')]);
    expect(moved.workflowId).toBe('fine');
    expect(moved.turnId).not.toBe(turnId);
    // What it says when it is back is too late.
    worker.say({ kind: 'turnCompleted', turnId, runId, commands: [complete('"stale"')], answers: [] });
    (reserve.pending('turn').length > 0 ? reserve : third).completeTurn(moved, [complete()]);
    expect(await engine.outcome({ workflowId: 'fine' }, { waitMs: 5_000 })).toMatchObject({
      output: '"done"',
    });
  });
});

it('a tree of runs delays another run by its share, not by its size', async () => {
  const worker = new ScriptedWorker(engine, { turns: 1 });
  await start('root');
  await worker.turn(
    ...Array.from({ length: 200 }, (_, i) => ({
      ...({ kind: 'startChild', childSeq: `${i}`, workflowId: `child-${i}`, workflowType: 'flow' } as const),
      catalog: CATALOG,
      input: [],
      parentClosePolicy: 'TERMINATE' as const,
    })),
  );
  await start('other');
  const seen: string[] = [];
  // Nobody completes: the end of the root would end what is in the way.
  while (!seen.includes('other')) seen.push((await worker.turn()).workflowId);
  expect(seen.length).toBeLessThan(5);
});

it('a worker that has come back is known to its witness after the end of its old connection', async () => {
  const [old, back] = [1, 2].map(() => new ScriptedWorker(engine, { workerId: 'back' })) as [
    ScriptedWorker,
    ScriptedWorker,
  ];
  old.lose();
  await start('a');
  const { turnId } = await back.next('turn');
  const witness = engine.connect(() => {});
  witness.receive({ kind: 'blocked', workerId: 'back', turnId, started: [] });
  expect(await engine.workers()).toMatchObject([{ id: 'back', state: 'blocked' }]);
});
