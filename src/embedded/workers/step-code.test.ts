/** A step goes to the code that asked for it; other code takes it when that is gone or has no slot for long, and may refuse it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemScheduler } from '../../core/clock.js';
import type { StepTask } from '../../core/task.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, ScriptedWorker, step, workflow } from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
/** How far what waits is ahead of what has passed. */
let skippedMs = 0;
const open = () =>
  folder.open({
    scheduler: { ...systemScheduler, monotonicMs: () => systemScheduler.monotonicMs() + skippedMs },
  });
beforeEach(() => {
  skippedMs = 0;
  folder = new Folder();
  engine = open();
});
afterEach(() => folder.remove());

const of = (codeId: string, options: { steps?: number; turns?: number; stepNames?: string[] } = {}) =>
  new ScriptedWorker(engine, {
    codeId,
    ...options,
    workflows: [workflow('flow', {}, options.stepNames ?? ['work', 'other'])],
  });
const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });
const outcome = (workflowId: string) => engine.outcome({ workflowId }, { waitMs: 5_000 });
const codesOf = async (workflowId: string) => {
  const { reasons } = await engine.why({ workflowId });
  return reasons.map(({ code }) => code);
};
/** When this resolves everything before it has been given out and committed. */
const settled = async () => {
  const run = await engine.start({
    workflowType: 'nobodys',
    catalog: CATALOG,
    input: [],
    workflowId: `settled-${Math.random()}`,
  });
  await engine.terminate(run, 'only to wait');
};
/** Longer than between two looks after the workers. */
const aLook = () => new Promise((resolve) => setTimeout(resolve, 600));

const AT_ONCE = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 3,
  nonRetryableErrorTypes: [],
};
const refuse = (worker: ScriptedWorker, { runId, scheduledEventId, attempt }: StepTask) =>
  worker.say({
    kind: 'stepFailed',
    runId,
    scheduledEventId,
    attempt,
    failure: { kind: 'application', type: 'ValidationError', message: 'it does not fit', nonRetryable: true },
    refusesInput: true,
  });

describe('when other code has made a turn of the run since', () => {
  /** Code v1 has asked for a step and leaves with it; then v2 makes a turn, and another worker of v1 comes. */
  async function overtaken() {
    const leaves = of('v1');
    const run = await start('a');
    await leaves.turn(step(1, 'work', { retry: AT_ONCE }));
    const task = await leaves.next('step');
    leaves.say({ kind: 'draining' });
    const young = of('v2');
    await engine.signal(run, 'go', []);
    await young.turn();
    await settled();
    return { leaves, task, young, old: of('v1') };
  }

  it('the next attempt goes to the code that asked for the step', async () => {
    const { leaves, task, young, old } = await overtaken();
    leaves.failStep(task);
    expect(await old.next('step')).toMatchObject({ stepName: 'work', attempt: 2 });
    expect(young.pending('step')).toEqual([]);
  });

  it('so it does after a restart of the server', async () => {
    await overtaken();
    await engine.close();
    engine = open();
    const [young, old] = [of('v2'), of('v1')];
    expect(await old.next('step')).toMatchObject({ stepName: 'work' });
    expect(young.pending('step')).toEqual([]);
  });

  it('why still knows how many are before it', async () => {
    const old = of('v1', { steps: 1, turns: 1 });
    const run = await start('a');
    await old.turn(step(1), step(2), step(3));
    await old.next('step');
    const other = await start('b');
    await old.next('turn');
    const young = of('v2');
    await engine.signal(run, 'go', []);
    await young.turn();
    await settled();
    const { reasons } = await engine.why(run);
    expect(reasons).toMatchObject([
      { code: 'stepRunning' },
      { code: 'stepQueued', queuedBehind: 0 },
      { code: 'stepQueued', queuedBehind: 1 },
    ]);
    await engine.terminate(other, 'enough');
  });
});

it('a reset run keeps its open steps for the code that asked for them', async () => {
  const old = of('v1');
  const run = await start('a');
  await old.turn(step(1, 'work'), step(2, 'other'));
  const [work] = [await old.next('step'), await old.next('step')];
  const young = of('v2');
  old.completeStep(work);
  await old.turn();
  await settled();
  await engine.reset(run, { stepName: 'work' });
  expect(await old.next('step')).toMatchObject({ stepName: 'other' });
  expect(young.pending('step')).toEqual([]);
});

describe('when other code has made a turn of the run before it is reset', () => {
  /** Code v1 has asked for two steps, one of which is done; then v2 makes a turn, and the run goes back to what was done. */
  async function reset(isClosed: boolean) {
    const old = of('v1');
    const run = await start('a');
    await old.turn(step(1, 'work'), step(2, 'other'));
    const [work] = [await old.next('step'), await old.next('step')];
    old.completeStep(work);
    await old.turn();
    await settled();
    old.say({ kind: 'draining' });
    const young = of('v2');
    await engine.signal(run, 'go', []);
    await young.turn();
    await settled();
    if (isClosed) await engine.terminate(run, 'enough');
    const again = of('v1');
    await engine.reset(run, { stepName: 'work' });
    return { again, young };
  }

  it('the open steps are still of the code that asked for them', async () => {
    const { again, young } = await reset(false);
    expect(await again.next('step')).toMatchObject({ stepName: 'other' });
    expect(young.pending('step')).toEqual([]);
  });

  it('nobody who refuses them fails them, where it is not known any more who asked', async () => {
    const { again, young } = await reset(true);
    await settled();
    const [first, other] = young.pending('step').length > 0 ? [young, again] : [again, young];
    refuse(first, await first.next('step'));
    expect(await other.next('step')).toMatchObject({ stepName: 'other', attempt: 1 });
  });
});

describe('while all slots of the code are taken', () => {
  it('the step waits for one, and goes to other code when that takes long', async () => {
    const busy = of('v1', { steps: 1 });
    await start('a');
    await busy.turn(step(1), step(2));
    await busy.next('step');
    const idle = of('v2');
    await aLook();
    expect(idle.pending('step')).toEqual([]);
    skippedMs += 25_000;
    await aLook();
    expect(idle.pending('step')).toEqual([]);
    skippedMs += 5_000;
    expect(await idle.next('step')).toMatchObject({ attempt: 1 });
  });

  it('it still goes to its code when that has a slot by then', async () => {
    const busy = of('v1', { steps: 1 });
    await start('a');
    await busy.turn(step(1), step(2));
    const first = await busy.next('step');
    await settled();
    skippedMs += 60_000;
    busy.completeStep(first);
    const idle = of('v2');
    expect(await busy.next('step')).toMatchObject({ attempt: 1 });
    expect(idle.pending('step')).toEqual([]);
  });

  it('steps of other code do not wait behind it', async () => {
    const busy = of('v1', { steps: 1 });
    await start('a');
    await busy.turn(...[1, 2, 3, 4].map((id) => step(id)));
    await busy.next('step');
    const idle = of('v2');
    await start('b');
    await start('c');
    const [task] = await Promise.all([idle.next('turn')]);
    idle.completeTurn(task, [step(1)]);
    expect(await idle.next('step')).toMatchObject({ runId: task.runId });
  });
});

/** A worker of other code, which has refused the step of a run since the code that asked for it is away. */
async function refusing(): Promise<ScriptedWorker> {
  const lost = of('v1');
  await start('a');
  await lost.turn(step(1));
  await lost.next('step');
  const idle = of('v2');
  lost.lose();
  refuse(idle, await idle.next('step'));
  return idle;
}

describe('other code that refuses the input', () => {
  it('gives the step to the code that asked for it, and nothing is counted', async () => {
    const busy = of('v1', { steps: 1 });
    await start('a');
    await busy.turn(step(1), step(2, 'other', { retry: { ...AT_ONCE, maximumAttempts: 1 } }));
    const first = await busy.next('step');
    const idle = of('v2');
    skippedMs += 30_000;
    refuse(idle, await idle.next('step'));
    await settled();
    skippedMs += 60_000;
    await aLook();
    expect(idle.pending('step')).toEqual([]);
    busy.completeStep(first);
    const again = await busy.next('step');
    expect(again).toMatchObject({ stepName: 'other', attempt: 1 });
    busy.completeStep(again);
    await busy.turn();
    await busy.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
  });

  it('gives it to code that comes within moments, such as that of a worker that is being replaced', async () => {
    const lost = of('v1');
    await start('a');
    const idle = of('v2');
    await lost.turn(step(1));
    await lost.next('step');
    lost.lose();
    refuse(idle, await idle.next('step'));
    await settled();
    expect(await codesOf('a')).toContain('noWorker');
    expect((await engine.describe({ workflowId: 'a' })).status).toBe('running');
    const replaced = of('v1');
    expect(await replaced.next('step')).toMatchObject({ stepName: 'work' });
    expect(idle.pending('step')).toEqual([]);
  });

  it('gives it to third code as well', async () => {
    const idle = await refusing();
    const third = of('v3');
    const task = await third.next('step');
    third.completeStep(task);
    const next = [idle, third].find((each) => each.pending('turn').length > 0) ?? idle;
    await next.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
  });

  it('fails the step when nobody else has come for ten seconds', async () => {
    const idle = await refusing();
    await aLook();
    expect(idle.pending('turn')).toEqual([]);
    skippedMs += 10_000;
    await idle.turn(complete());
    await outcome('a');
    const { events } = await engine.history({ workflowId: 'a' }, { afterEventId: 0, limit: 100 });
    expect(events.find(({ type }) => type === 'ACTIVITY_TASK_FAILED')?.attributes).toMatchObject({
      failure: { type: 'ValidationError' },
      retryState: 'NON_RETRYABLE_FAILURE',
    });
  });

  it('does not get it again, however many others refuse it after it', async () => {
    const idle = await refusing();
    const third = of('v3');
    refuse(third, await third.next('step'));
    await settled();
    expect([...idle.pending('step'), ...third.pending('step')]).toEqual([]);
    expect(await of('v1').next('step')).toMatchObject({ stepName: 'work' });
  });

  it('does not get it again at the second place that it has in the queue since its run was paused', async () => {
    const lost = of('v1');
    const run = await start('a');
    await lost.turn(step(1));
    await lost.next('step');
    lost.lose();
    const turns = of('v2', { steps: 0 });
    await engine.pause(run, { by: 'operator' });
    await turns.turn();
    await engine.resume(run);
    await turns.turn();
    await settled();
    const idle = of('v3', { steps: 1 });
    refuse(idle, await idle.next('step'));
    await settled();
    expect(idle.pending('step')).toEqual([]);
  });

  it('does not fail the step while its run is paused: who takes it may have come by the time that it is resumed', async () => {
    const idle = await refusing();
    await engine.pause({ workflowId: 'a' }, { by: 'operator' });
    await idle.turn();
    await settled();
    await aLook();
    skippedMs += 10_000;
    await aLook();
    expect(idle.pending('turn')).toEqual([]);
    const back = of('v1');
    await engine.resume({ workflowId: 'a' });
    expect(await back.next('step')).toMatchObject({ stepName: 'work', attempt: 2 });
  });

  it('is remembered over a restart', async () => {
    await refusing();
    await settled();
    await engine.close();
    engine = open();
    const again = of('v2');
    await aLook();
    expect(again.pending('step')).toEqual([]);
    expect(await of('v1').next('step')).toMatchObject({ stepName: 'work' });
  });
});

it('the code that asked for the step and refuses it fails it at once', async () => {
  const own = of('v1');
  of('v2');
  await start('a');
  await own.turn(step(1));
  refuse(own, await own.next('step'));
  await own.turn(complete());
  await outcome('a');
  const { events } = await engine.history({ workflowId: 'a' }, { afterEventId: 0, limit: 100 });
  expect(events.map(({ type }) => type)).toContain('ACTIVITY_TASK_FAILED');
});

it('code without slots for steps counts for nothing: a step that only it has says so', async () => {
  const lacking = of('v1', { steps: 0 });
  await start('a');
  await lacking.turn(step(1));
  await settled();
  expect(await codesOf('a')).toEqual(['noWorker', 'stepQueued']);
});

it('code that a connected worker has loaded anew tries the runs that are held back', async () => {
  const worker = of('v1');
  await start('a');
  await worker.misfit();
  await settled();
  worker.say({
    kind: 'register',
    catalog: CATALOG,
    workflows: [workflow('flow')],
    slots: { turns: 100, steps: 100 },
    resultFormat: 'current',
    identity: 'scripted',
    codeId: 'v2',
  });
  await settled();
  expect(worker.pending('turn')).toHaveLength(1);
  await worker.turn(complete());
});
