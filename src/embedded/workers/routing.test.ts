/** Tasks go only to workers whose code has what they need; what is not connected is waited for, and holds up nobody. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { Log } from '../../core/log.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
  workflow,
} from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
let lines: [level: string, message: string][];

beforeEach(() => {
  folder = new Folder();
  lines = [];
  const say = (level: string) => (_fields: object, message: string) => void lines.push([level, message]);
  const log: Log = { debug: () => {}, info: say('info'), warn: say('warn'), error: say('error') };
  engine = folder.open({ log });
});
afterEach(() => folder.remove());

const start = (workflowId: string, workflowType = 'flow') =>
  engine.start({ workflowType, catalog: CATALOG, input: [], workflowId });
const status = async (workflowId: string) => (await engine.describe({ workflowId })).status;
const outcome = (workflowId: string) => engine.outcome({ workflowId }, { waitMs: 5_000 });
const failedTurns = async (workflowId: string) => {
  const { events } = await engine.history({ workflowId }, { afterEventId: 0, limit: 1_000 });
  return events.filter(({ type }) => type === 'WORKFLOW_TASK_FAILED').length;
};
/** When this resolves everything before it has been given out and committed. */
const settled = async () => {
  const run = await start(`settled-${Math.random()}`, 'nobodys');
  await engine.terminate(run, 'only to wait');
};

const having = (codeId: string, ...workflows: [name: string, ...steps: string[]][]) =>
  new ScriptedWorker(engine, {
    codeId,
    workflows: workflows.map(([name, ...steps]) => workflow(name, {}, steps)),
  });

describe('a turn', () => {
  it('goes only to a worker that has the workflow, however idle others are', async () => {
    const old = having('v1', ['flow']);
    const young = having('v2', ['flow'], ['brandnew']);
    for (let i = 0; i < 5; i++) await start(`n${i}`, 'brandnew');
    expect(old.pending('turn')).toEqual([]);
    expect(young.pending('turn')).toHaveLength(5);
  });

  it('of a workflow that nobody has waits, fails nothing, and goes on as soon as somebody has it', async () => {
    const old = having('v1', ['flow']);
    await start('new', 'brandnew');
    await start('known');
    expect((await old.next('turn')).workflowId).toBe('known');
    expect(old.pending('turn')).toEqual([]);
    expect(await engine.describe({ workflowId: 'new' })).toMatchObject({ status: 'running' });
    expect((await engine.describe({ workflowId: 'new' })).heldBack).toBeUndefined();
    const young = having('v2', ['brandnew']);
    await young.turn(complete());
    expect((await outcome('new'))?.status).toBe('completed');
    expect(await failedTurns('new')).toBe(0);
  });

  it('that nobody can take holds up nothing behind it, in its tree or elsewhere', async () => {
    const old = having('v1', ['flow']);
    for (let i = 0; i < 50; i++) await start(`new-${i}`, 'brandnew');
    await start('known');
    expect((await old.next('turn')).workflowId).toBe('known');
  });

  it('leaves the worker that has the run in its cache when that one has not the workflow any more', async () => {
    const first = having('v1', ['flow']);
    const run = await start('a');
    await first.turn(timer(1, 60_000));
    const second = having('v2', ['flow']);
    first.say({
      kind: 'register',
      catalog: CATALOG,
      workflows: [workflow('other', {}, [])],
      slots: { turns: 100, steps: 100 },
      resultFormat: 'current',
      identity: 'scripted',
      codeId: 'v3',
    });
    await engine.signal(run, 'go', []);
    expect((await second.turn(complete())).events[0]!.id).toBe(1);
    expect((await outcome('a'))?.status).toBe('completed');
  });
});

describe('a step', () => {
  it('goes only to a worker that has it for that workflow: never an attempt, never a failure', async () => {
    const old = having('v1', ['flow', 'work']);
    const young = having('v2', ['flow', 'work', 'more']);
    for (let i = 0; i < 6; i++) await start(`r${i}`);
    for (let i = 0; i < 3; i++) {
      await old.turn(step(1, 'more', { retry: ONE_ATTEMPT }));
      await young.turn(step(1, 'more', { retry: ONE_ATTEMPT }));
    }
    for (let i = 0; i < 6; i++) {
      const task = await young.next('step');
      expect(task).toMatchObject({ stepName: 'more', attempt: 1 });
    }
    expect(old.pending('step')).toEqual([]);
  });

  it('that no connected worker has waits for one and holds up no other step', async () => {
    const old = having('v1', ['flow', 'work']);
    await start('a');
    await start('b');
    await old.turn(step(1, 'more', { retry: ONE_ATTEMPT }));
    await old.turn(step(1, 'work'));
    expect(await old.next('step')).toMatchObject({ stepName: 'work' });
    expect(await status('a')).toBe('running');
    const young = having('v2', ['flow', 'more']);
    const task = await young.next('step');
    expect(task).toMatchObject({ stepName: 'more', attempt: 1 });
    young.completeStep(task);
  });

  it('of a name that two workflows have goes by the workflow as well', async () => {
    const first = having('v1', ['flow', 'work'], ['other']);
    const second = having('v2', ['other', 'work']);
    await start('a', 'other');
    const [worker] = [first, second].filter((each) => each.pending('turn').length > 0);
    await worker!.turn(step(1, 'work'));
    expect(await second.next('step')).toMatchObject({ workflowType: 'other', stepName: 'work' });
    expect(first.pending('step')).toEqual([]);
  });

  it('waits behind those that fill the one worker which has it, while the others are served elsewhere', async () => {
    const young = new ScriptedWorker(engine, {
      codeId: 'v2',
      steps: 1,
      workflows: [workflow('flow', {}, ['more'])],
    });
    await start('a');
    await young.turn(step(1, 'more'), step(2, 'more'), step(3, 'work'));
    await young.next('step');
    const old = having('v1', ['flow', 'work']);
    expect(await old.next('step')).toMatchObject({ stepName: 'work' });
    expect(young.pending('step')).toEqual([]);
  });
});

describe('a run whose history does not fit the code of one worker', () => {
  it('goes to a worker of other code at once, and leaves no trace of it', async () => {
    const old = having('v1', ['flow']);
    await start('a');
    const young = having('v2', ['flow']);
    await old.misfit();
    await young.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
    expect(await failedTurns('a')).toBe(0);
    expect(lines.filter(([level]) => level === 'warn')).toEqual([]);
  });

  it('goes there also where a worker answers with a command that cannot be', async () => {
    const old = having('v1', ['flow']);
    await start('a');
    const young = having('v2', ['flow']);
    await old.turn({ kind: 'cancelTimer', timerId: '9' });
    await young.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
    expect(await failedTurns('a')).toBe(0);
  });

  it('is held back only when no connected code fits, and not offered to the same code twice', async () => {
    const workers = [having('v1', ['flow']), having('v1', ['flow'])] as const;
    await start('a');
    const young = having('v2', ['flow']);
    const first = workers[0].pending('turn').length > 0 ? workers[0] : workers[1];
    await first.misfit('v1 does not fit');
    await young.misfit('v2 does not fit');
    await settled();
    expect(await engine.describe({ workflowId: 'a' })).toMatchObject({
      status: 'running',
      heldBack: { reason: 'v2 does not fit' },
    });
    for (const worker of [...workers, young]) expect(worker.pending('turn')).toEqual([]);
    expect(await failedTurns('a')).toBe(1);
    expect(lines.filter(([, message]) => message.includes('is held back'))).toHaveLength(1);
  });

  it('goes on at once when code connects that has not been tried, and not when one that was comes back', async () => {
    const old = having('v1', ['flow']);
    await start('a');
    await old.misfit();
    await settled();
    old.lose();
    const again = having('v1', ['flow']);
    await settled();
    expect(again.pending('turn')).toEqual([]);
    const lacking = having('v2', ['other']);
    await settled();
    expect([...lacking.pending('turn'), ...again.pending('turn')]).toEqual([]);
    const fitting = having('v3', ['flow']);
    await fitting.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
    expect((await engine.describe({ workflowId: 'a' })).heldBack).toBeUndefined();
    expect(lines.filter(([, message]) => message.includes('goes on: '))).toHaveLength(1);
  });

  it('goes on at once after a restart of the server as well', async () => {
    const old = having('v1', ['flow']);
    await start('a');
    await old.misfit();
    await settled();
    await engine.close();
    engine = folder.open();
    const again = having('v1', ['flow']);
    const fitting = having('v3', ['flow']);
    await fitting.turn(complete());
    expect(again.pending('turn')).toEqual([]);
    expect((await outcome('a'))?.status).toBe('completed');
  });

  it('is not offered to that code again at a place that it had in the queue before', async () => {
    const [old, young] = ['v1', 'v2'].map((codeId) => new ScriptedWorker(engine, { codeId, turns: 1 }));
    await start('busy');
    await start('busy too');
    const [ofOld, ofYoung] = [await old!.next('turn'), await young!.next('turn')];
    await start('a');
    // One that is asked to stop gets a place before the others, and keeps its own.
    await engine.cancel({ workflowId: 'a' });
    old!.completeTurn(ofOld);
    await old!.misfit();
    await settled();
    expect(old!.pending('turn')).toEqual([]);
    young!.completeTurn(ofYoung);
    expect((await young!.turn(complete())).workflowId).toBe('a');
    expect(await failedTurns('a')).toBe(0);
  });

  it('is held back when the code that was to try it leaves before it has', async () => {
    const old = having('v1', ['flow']);
    const busy = new ScriptedWorker(engine, { codeId: 'v2', turns: 1, workflows: [workflow('flow')] });
    await start('a');
    await start('b');
    const fillsSlot = await busy.next('turn');
    await old.misfit();
    await settled();
    expect((await engine.describe({ workflowId: 'a' })).heldBack).toBeUndefined();
    busy.lose();
    await settled();
    const other = fillsSlot.workflowId === 'a' ? 'b' : 'a';
    expect((await engine.describe({ workflowId: other })).heldBack).toMatchObject({
      reason: 'the code does not fit',
    });
    const fitting = having('v2', ['flow']);
    await fitting.next('turn');
  });

  it('is tried by whoever is connected when its time has come, once by each code', async () => {
    const clock = new HandClock();
    await engine.close();
    engine = folder.open({ clock });
    const old = having('v1', ['flow']);
    const young = having('v2', ['flow']);
    await start('a');
    const [first, second] = old.pending('turn').length > 0 ? [old, young] : [young, old];
    await first.misfit();
    await second.misfit();
    await settled();
    clock.pass(1_000);
    await Promise.all([old.misfit(), young.misfit()]);
    await settled();
    for (const worker of [old, young]) expect(worker.pending('turn')).toEqual([]);
    expect(await failedTurns('a')).toBe(1);
  });

  it.each(['open', 'closed'])('is asked of other code as well while it is %s', async (state) => {
    const old = having('v1', ['flow']);
    const run = await start('a');
    await old.turn(state === 'open' ? timer(1, 60_000) : complete());
    await settled();
    old.lose();
    const young = having('v2', ['flow']);
    const asked = engine.query(run, 'how', []);
    const task = await young.next('turn');
    const fitting = having('v1', ['flow']);
    const failure = { kind: 'application', type: 'NonDeterminismError', message: 'no' } as const;
    const { turnId, runId } = task;
    young.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
    const next = await fitting.next('turn');
    const { queryId } = next.queries[0]!;
    fitting.completeTurn(next, [], [{ queryId, kind: 'answered', result: '"fine"' }]);
    expect(await asked).toBe('"fine"');
    expect(young.pending('turn')).toEqual([]);
  });

  it('refuses its queries when no connected code fits', async () => {
    const old = having('v1', ['flow']);
    const run = await start('a');
    await old.turn(timer(1, 60_000));
    old.lose();
    const young = having('v2', ['flow']);
    const asked = engine.query(run, 'how', []);
    await young.misfit('never seen such a history');
    await expect(asked).rejects.toMatchObject({
      name: 'QueryFailedError',
      message: expect.stringContaining('never seen such a history'),
    });
  });
});

describe('a run whose input the code of one worker refuses', () => {
  const refusal: Command = {
    kind: 'failRun',
    refusesInput: true,
    failure: { kind: 'application', type: 'ValidationError', message: 'it does not fit' },
  };

  it('is begun by other code, and no trace is left of it', async () => {
    const old = having('v1', ['flow']);
    await start('a');
    const young = having('v2', ['flow']);
    await old.turn(refusal);
    await young.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
    expect(await failedTurns('a')).toBe(0);
    expect(old.pending('turn')).toEqual([]);
  });

  it('fails when all code that is connected refuses it', async () => {
    const old = having('v1', ['flow']);
    await start('a');
    const young = having('v2', ['flow']);
    having('v3', ['other']);
    await old.turn(refusal);
    await young.turn(refusal);
    expect((await outcome('a'))?.failure).toMatchObject({ type: 'ValidationError' });
  });

  it('fails when the code has left that was to try it', async () => {
    const old = having('v1', ['flow']);
    const busy = new ScriptedWorker(engine, { codeId: 'v2', turns: 1, workflows: [workflow('flow')] });
    await start('a');
    await start('b');
    const { workflowId } = await busy.next('turn');
    const other = workflowId === 'a' ? 'b' : 'a';
    await old.turn(refusal);
    await settled();
    expect(await status(other)).toBe('running');
    busy.lose();
    let task = await old.next('turn');
    if (task.workflowId !== other) task = await old.next('turn');
    old.completeTurn(task, [refusal]);
    expect((await outcome(other))?.status).toBe('failed');
  });
});

describe('the version of the code', () => {
  it('that made the last turn is in the status of the run', async () => {
    const old = having('v1', ['flow']);
    const run = await start('a');
    expect((await engine.describe(run)).version).toBeUndefined();
    await old.turn(timer(1, 60_000));
    await settled();
    expect((await engine.describe(run)).version).toEqual({ id: 'v1', name: null });
    old.lose();
    const young = new ScriptedWorker(engine, { codeId: 'v2', versionName: '2.0.1+linux' });
    await engine.signal(run, 'go', []);
    await young.turn(complete());
    await outcome('a');
    expect((await engine.describe(run)).version).toEqual({ id: 'v2', name: '2.0.1+linux' });
  });
});

const ONE_ATTEMPT = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 1,
  nonRetryableErrorTypes: [],
};
