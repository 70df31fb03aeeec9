/** What one run does to its worker, and what the others notice of it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Culprit, StepAttempt, WorkerPool } from '../../core/task.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, ScriptedWorker, step } from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
let count = 0;

beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
});
afterEach(() => folder.remove());

const pool = { id: 'pool', size: 1, spares: 1 };
/** A worker of the pool, which comes when the end of the one before has been dealt with. */
async function join(isSilent = false): Promise<ScriptedWorker & { id: string }> {
  return joinOf(pool, 'v1', isSilent);
}
async function joinOf(pool: WorkerPool | undefined, codeId: string, isSilent = false) {
  await new Promise(setImmediate);
  const workerId = `worker-${++count}`;
  return Object.assign(new ScriptedWorker(engine, { pool, workerId, codeId, isSilent }), { id: workerId });
}
const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });
/** The worker ends, and its witness says why. */
const lastWords = (
  worker: ScriptedWorker & { id: string },
  culprit?: Culprit,
  started: StepAttempt[] = [],
): void => {
  const witness = engine.connect(() => {});
  witness.receive({ kind: 'lastWords', workerId: worker.id, culprit, started, reason: 'a test' });
  worker.lose();
};
const attemptOf = ({ runId, scheduledEventId, attempt }: StepAttempt) => ({
  ...{ runId, scheduledEventId, attempt },
});

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
    await engine.close();
    engine = folder.open({ limits: { cachedRuns: 0 } });
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
  const endsIn = async (each: ScriptedWorker & { id: string }) => {
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

const retryOnce = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 2,
  nonRetryableErrorTypes: [],
};

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
