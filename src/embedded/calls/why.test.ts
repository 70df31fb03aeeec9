/** Why a run is where it is, in every place where it can be. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  once,
  ScriptedWorker,
  step,
  timer,
  workflow,
} from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
});
afterEach(() => folder.remove());

const start = (workflowType = 'flow') =>
  engine.start({ workflowType, catalog: CATALOG, input: [], workflowId: 'a' });
const why = () => engine.why({ workflowId: 'a' });
const codes = async () => (await why()).reasons.map(({ code }) => code);
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

describe('a run that needs a worker', () => {
  it('has none, as long as nobody serves its catalog', async () => {
    const run = await start();
    expect(await why()).toEqual({
      ...run,
      status: 'running',
      summary: expect.stringContaining('No worker is connected that serves catalog "default"'),
      isStuck: true,
      since: expect.stringMatching(ISO),
      reasons: [
        {
          code: 'noWorker',
          message: expect.any(String),
          action: 'Start one that has it: perdure worker DIR --catalog default',
          catalog: CATALOG,
          workflowType: 'flow',
        },
        {
          code: 'turnQueued',
          message: 'Its code waits for a worker.',
          action: null,
          since: expect.stringMatching(ISO),
        },
      ],
      asOf: expect.stringMatching(ISO),
    });
  });

  it('has none, as long as those who serve it lack the workflow', async () => {
    new ScriptedWorker(engine, { workflows: [workflow('other')] });
    await start();
    expect(await codes()).toEqual(['noWorker', 'turnQueued']);
  });

  it('waits its turn, has it, and waits for its step', async () => {
    const busy = new ScriptedWorker(engine, { turns: 1, steps: 1 });
    await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'other' });
    const first = await busy.next('turn');
    await start();
    expect(await codes()).toEqual(['turnQueued']);
    expect(await why()).toMatchObject({ isStuck: false });
    busy.completeTurn(first, [complete()]);
    const turn = await busy.next('turn');
    expect(await codes()).toEqual(['turnRunning']);
    busy.completeTurn(turn, [step(1), step(2)]);
    await expect.poll(codes).toEqual(['stepRunning', 'stepQueued']);
    expect((await why()).reasons[1]).toMatchObject({ activityId: '2', since: expect.stringMatching(ISO) });
  });
});

it('a step that no connected code has says so, and nothing happens until somebody acts', async () => {
  const first = new ScriptedWorker(engine, { steps: 0 });
  await start();
  await first.turn(step(1, 'work'));
  first.lose();
  new ScriptedWorker(engine, { workflows: [workflow('flow', {}, ['renamed'])] });
  await expect.poll(codes).toEqual(['noWorker', 'stepQueued']);
  expect(await why()).toMatchObject({
    isStuck: true,
    summary: expect.stringContaining('has step "work" of workflow "flow"'),
    reasons: [{ stepName: 'work', workflowType: 'flow' }, { stepName: 'work' }],
  });
});

it('a step that has failed is not said to be tried again while its run is paused', async () => {
  const worker = new ScriptedWorker(engine);
  const run = await start();
  await worker.turn(step(1));
  worker.failStep(await worker.next('step'));
  await expect.poll(codes).toEqual(['stepBackingOff']);
  expect((await why()).summary).toMatch(/tried again at 20/);
  await engine.pause(run, { by: 'operator' });
  await worker.turn();
  await expect.poll(codes).toEqual(['paused', 'stepBackingOff']);
  expect((await why()).reasons[1]!.message).toMatch(/tried again when the run is resumed, not before 20/);
});

it('a step that runs is over when the first of its times is', async () => {
  const worker = new ScriptedWorker(engine);
  await start();
  await worker.turn(step(1, 'work', { startToCloseTimeoutMs: 60_000, scheduleToCloseTimeoutMs: 20_000 }));
  await worker.next('step');
  const [reason] = (await why()).reasons as { startedAt: string; timeoutAt: string }[];
  expect(Date.parse(reason!.timeoutAt) - Date.parse(reason!.startedAt)).toBe(20_000);
});

it('a run that waits for its retry says when that begins, without asking it', async () => {
  const retry = { ...once, initialIntervalMs: 60_000, maximumIntervalMs: 60_000, maximumAttempts: 2 };
  const worker = new ScriptedWorker(engine, { workflows: [workflow('retried', { retry })] });
  await start('retried');
  const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
  await worker.turn({ kind: 'failRun', failure });
  await expect.poll(codes).toEqual(['timer']);
  expect(worker.pending('turn')).toEqual([]);
  const [reason] = (await why()).reasons as { firesAt: string }[];
  expect(Date.parse(reason!.firesAt)).toBeGreaterThan(Date.now() + 30_000);
});

describe('a run that is held back', () => {
  it('says why, how often it was tried and when it is tried again', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.misfit('the code is another');
    await expect.poll(codes).toEqual(['heldBack']);
    expect(await why()).toMatchObject({
      isStuck: true,
      reasons: [{ reason: 'the code is another', attempts: 1, retryAt: expect.stringMatching(ISO) }],
    });
  });
});

describe('a run that waits', () => {
  it('says for which timers, the next one first, and for which steps', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn(timer(1, 60_000), timer(2, 30_000), step(1));
    await worker.next('step');
    const { reasons, summary, isStuck } = await why();
    expect(reasons.map(({ code }) => code)).toEqual(['stepRunning', 'timer', 'timer']);
    expect(summary).toMatch(/^Step ".*" is running, and 2 more things\.$/);
    expect(isStuck).toBe(false);
    const [, one, other] = reasons as { firesAt: string }[];
    expect(Date.parse(other!.firesAt) - Date.parse(one!.firesAt)).toBe(30_000);
  });

  it.each([
    [
      ['approve', 'perdure.callback'],
      ['rename'],
      /2\d{3}-.*Z; meanwhile it takes callbacks and the signal approve/,
    ],
    [[], [], /^It waits until 2\d{3}-[^;]*Z\.$/],
  ])('for a timer says which messages it takes meanwhile: %j', async (signals, updates, summary) => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn(timer(1, 60_000));
    const asked = why();
    const turn = await worker.next('turn');
    const named = (names: string[]) => names.map((name) => ({ name }));
    const definition = { signalDefinitions: named(signals), updateDefinitions: named(updates) };
    const result = JSON.stringify({ definition });
    worker.completeTurn(turn, [], [{ queryId: turn.queries[0]!.queryId, kind: 'answered', result }]);
    expect(await asked).toMatchObject({
      isStuck: false,
      summary: expect.stringMatching(summary),
      reasons: [{ code: 'timer', signals, updates }],
    });
  });

  it('is not waited for when its worker does not answer: what the definition declares is known', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn();
    const asked = why();
    await worker.next('turn');
    expect(await asked).toMatchObject({
      isStuck: true,
      summary: expect.stringMatching(
        /^It waits for a message; which ones it takes cannot be asked: .* has answered within/,
      ),
      reasons: [{ code: 'message', signals: [], updates: [] }],
    });
    // A caller of a query waits for half a minute.
  });

  it('is not said to have no handlers where nobody can tell: its worker is gone', async () => {
    const worker = new ScriptedWorker(engine);
    const run = await start();
    await worker.turn();
    await engine.recordTrace(run, {});
    worker.lose();
    const { summary, reasons } = await why();
    expect(summary).toMatch(
      /^It waits for a message; which ones it takes cannot be asked: no worker is connected/,
    );
    expect(reasons[0]!.action).toBe('Ask again once that has changed: GET /workflow/a/why');
  });

  it('is not said to have no handlers where nobody can tell: the code does not fit', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn();
    const asked = why();
    await worker.misfit('the code is another');
    expect((await asked).summary).toMatch(/^It waits for a message; which ones .*: .*the code is another\.$/);
    // It is known by now.
    expect((await why()).summary).toMatch(/^It waits for a message; which ones .* fits its history\.$/);
  });

  it('that has no handlers, as its worker tells, has nothing to go on by', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn();
    const asked = why();
    const turn = await worker.next('turn');
    const result = JSON.stringify({ definition: { signalDefinitions: [], updateDefinitions: [] } });
    worker.completeTurn(turn, [], [{ queryId: turn.queries[0]!.queryId, kind: 'answered', result }]);
    expect((await asked).summary).toMatch(/has no handler that could take one/);
  });

  it('for a message says which ones it takes, as its worker tells', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn();
    const asked = why();
    const turn = await worker.next('turn');
    expect(turn.queries.map(({ name }) => name)).toEqual(['__workflow_metadata']);
    const definition = { signalDefinitions: [{ name: 'go on' }], updateDefinitions: [] };
    const result = JSON.stringify({ definition });
    worker.completeTurn(turn, [], [{ queryId: turn.queries[0]!.queryId, kind: 'answered', result }]);
    expect(await asked).toMatchObject({
      isStuck: true,
      reasons: [
        {
          code: 'message',
          signals: ['go on'],
          updates: [],
          action: 'Send it what it waits for, such as POST /workflow/a/signal/go%20on',
        },
      ],
    });
  });
});

describe('a run that is closed', () => {
  it('says how', async () => {
    const worker = new ScriptedWorker(engine);
    const run = await start();
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    expect(await why()).toMatchObject({
      status: 'completed',
      isStuck: false,
      summary: 'It has completed.',
      reasons: [{ code: 'closed', status: 'completed', error: null, action: null }],
    });
  });

  it('and of one that was terminated, with the reason', async () => {
    const run = await start();
    await engine.terminate(run, 'enough');
    expect(await why()).toMatchObject({
      summary: 'It was terminated: enough.',
      reasons: [{ status: 'terminated', error: { name: 'TerminatedError', message: 'enough' } }],
    });
  });
});

it('an id that does not exist is told so', async () => {
  await expect(engine.why({ workflowId: 'nobody' })).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
});
