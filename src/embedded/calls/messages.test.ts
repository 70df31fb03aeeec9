/** Queries and updates whose worker goes, whose run goes on as another, and over restarts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { CALLBACK_SIGNAL, FEEDBACK_SIGNAL } from '../../core/run/callback.js';
import type { QueryAnswer, TurnTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import { packFrames } from '../../link/protocol.js';
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
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const start = (engine: EmbeddedEngine, workflowId: string): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

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

describe('a query of a run that has yet to begin again', () => {
  it('waits for its first turn, which sees what was accepted before', async () => {
    const clock = new HandClock();
    const engine = folder.open({ clock });
    const retry = { initialIntervalMs: 5_000, backoffCoefficient: 1, maximumIntervalMs: 5_000 };
    const workflows = [
      workflow('flow', { retry: { ...retry, maximumAttempts: 2, nonRetryableErrorTypes: [] } }),
    ];
    const worker = new ScriptedWorker(engine, { workflows });
    const { workflowId } = await start(engine, 'a');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    await worker.turn({ kind: 'failRun', failure });
    await engine.signal({ workflowId }, 'note', []);
    const query = engine.query({ workflowId }, 'state', []);
    // Long enough for it to be asked, were it not to wait.
    await engine.signal({ workflowId }, 'note', []);
    expect(worker.pending('turn')).toEqual([]);
    clock.ms += 5_000;
    const turn = await worker.next('turn');
    expect(turn).toMatchObject({ readOnly: false, queries: [{ name: 'state' }] });
    const { queryId } = turn.queries[0]!;
    worker.completeTurn(turn, [timer(1, 60_000)], [{ queryId, kind: 'answered', result: '1' }]);
    expect(await query).toBe('1');
  });
});

describe('a query of a run that was ended before it began again', () => {
  it('is answered as that of any closed run', async () => {
    const engine = folder.open({ clock: new HandClock() });
    const retry = { initialIntervalMs: 5_000, backoffCoefficient: 1, maximumIntervalMs: 5_000 };
    const workflows = [
      workflow('flow', { retry: { ...retry, maximumAttempts: 2, nonRetryableErrorTypes: [] } }),
    ];
    const worker = new ScriptedWorker(engine, { workflows });
    const first = await start(engine, 'a');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    await worker.turn({ kind: 'failRun', failure });
    const { runId } = await engine.terminate({ workflowId: 'a' }, 'enough');
    expect(runId).not.toBe(first.runId);
    const query = engine.query({ workflowId: 'a', runId }, 'state', []);
    const turn = await worker.next('turn');
    expect(turn).toMatchObject({ runId, readOnly: true, queries: [{ name: 'state' }] });
    worker.completeTurn(turn, [], [{ queryId: turn.queries[0]!.queryId, kind: 'answered', result: '1' }]);
    expect(await query).toBe('1');
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

describe('a signal that the definition does not declare', () => {
  it('is refused, unless it is one of the service itself', async () => {
    const engine = folder.open();
    new ScriptedWorker(engine, { workflows: [{ ...workflow('flow'), declaresSignals: true }] });
    const run = await start(engine, 'a');
    await expect(engine.signal(run, 'unknown', [])).rejects.toThrow('has no signal "unknown"');
    for (const name of [CALLBACK_SIGNAL, FEEDBACK_SIGNAL]) await engine.signal(run, name, []);
  });
});

describe('a query of a closed run', () => {
  it('leaves nothing of the run in memory', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    const query = engine.query(run, 'state', []);
    const turn = await worker.next('turn');
    worker.completeTurn(turn, [], [{ queryId: turn.queries[0]!.queryId, kind: 'answered', result: '1' }]);
    expect(await query).toBe('1');
    expect(engine.load().runsInMemory).toBe(0);
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

describe('a turn with messages', () => {
  const accept = (updateId: string) =>
    [
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId, result: '7' },
    ] as const;

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
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    const { updateId } = task.updates[0]!;
    worker.completeTurn(task, [{ kind: 'rejectUpdate', updateId, reason: 'validator', failure }]);
    await expect(update).rejects.toMatchObject({ name: 'UpdateRejectedError' });
    expect((await worker.next('forget')).runId).toBe(run.runId);
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.at(-1)!.type).toBe('TIMER_STARTED');
    await engine.signal(run, 'go', []);
    expect((await worker.turn(complete())).events[0]!.id).toBe(1);
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

describe('a query', () => {
  it('sees every message that was accepted before it', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const signal = engine.signal(run, 'before', []);
    const query = engine.query(run, 'state', []);
    const task = await worker.next('turn');
    expect(task.readOnly).toBe(false);
    expect(task.events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
    const replies = task.queries.map(({ queryId }) => ({ kind: 'answered', queryId, result: '1' }) as const);
    worker.completeTurn(task, [], replies);
    await signal;
    expect(await query).toBe('1');
  });

  it('is not asked any more once its caller was told that nobody answers', async () => {
    const engine = folder.open({ limits: { messageTimeoutMs: 100 } });
    const before = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await before.turn();
    await engine.recordTrace(run, {});
    before.lose();
    await expect(engine.query(run, 'state', [])).rejects.toThrow('has answered within 100 ms');
    const worker = new ScriptedWorker(engine);
    await engine.signal(run, 'go', []);
    const task = await worker.turn(complete());
    expect(task.readOnly).toBe(false);
    expect(task.queries).toEqual([]);
  });

  it('does not wait for a turn that was for an update which was given up', async () => {
    const engine = folder.open({ limits: { messageTimeoutMs: 100 } });
    const before = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await before.turn();
    before.lose();
    const update = engine.update(run, 'change', []).catch((error: Error) => error.message);
    const query = engine.query(run, 'state', []).catch((error: Error) => error.message);
    // Its own time is over right after that of the update, but not before somebody who has come at once is asked.
    expect(await update).toContain('has answered within 100 ms');
    const worker = new ScriptedWorker(engine);
    expect(await worker.next('turn')).toMatchObject({ readOnly: true, queries: [{ name: 'state' }] });
    await query;
  });

  it('and an update are told when the server stops', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const waiting = [engine.query(run, 'state', []), engine.update(run, 'change', [])].map((each) =>
      each.catch((error: Error) => error.name),
    );
    await worker.next('turn');
    await engine.close();
    expect(await Promise.all(waiting)).toEqual(['EngineUnavailableError', 'EngineUnavailableError']);
  });
});

describe('a run that has closed', () => {
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

describe('a signal with a request id', () => {
  const signals = async (engine: EmbeddedEngine, run: RunRef) =>
    (await engine.history(run, { afterEventId: 0, limit: 100 })).events
      .filter(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED')
      .map(({ attributes }) => (attributes as { input: string[] }).input[0]);

  it('is recorded once, whether a turn is under way, after a restart, and after a reset', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    const under = await worker.next('turn');
    const send = (to: EmbeddedEngine, requestId: string, payload: string) =>
      to.signal({ workflowId: 'a' }, 'posted', [payload], { requestId });
    // They wait for the turn to end.
    expect(await send(engine, 'r1', '1')).toEqual(run);
    expect(await send(engine, 'r1', '2')).toEqual(run);
    expect(await send(engine, 'r2', '3')).toEqual(run);
    worker.completeTurn(under);
    await worker.turn();
    await send(engine, 'r1', '4');
    expect(await signals(engine, run)).toEqual(['1', '3']);
    await folder.close();

    const again = folder.open();
    await send(again, 'r1', '5');
    expect(await signals(again, run)).toEqual(['1', '3']);
    const reset = await again.reset(run, { stepName: 'work' });
    expect(await send(again, 'r2', '6')).toEqual(reset);
    await again.signal({ workflowId: 'a' }, 'posted', ['7']);
    await again.signal({ workflowId: 'a' }, 'posted', ['7']);
    expect(await signals(again, reset)).toEqual(['1', '3', '7', '7']);
  });

  it('does not count towards the limit of signals when it is a repeat', async () => {
    const engine = folder.open({ limits: { signalsPerRun: 1 } });
    new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    for (const _ of [1, 2, 3]) await engine.signal(run, 'posted', [], { requestId: 'r' });
    await expect(engine.signal(run, 'posted', [], { requestId: 'other' })).rejects.toMatchObject({
      name: 'TooManyRequestsError',
    });
  });
});

describe('the key of callbacks', () => {
  it('is told to workers before any task, is the same for all of them, and survives a restart', async () => {
    const engine = folder.open({ publicUrl: 'https://public.test' });
    expect(await engine.callbackKey()).toBeUndefined();
    const [first, second] = [new ScriptedWorker(engine), new ScriptedWorker(engine)];
    const welcome = await first.next('welcome');
    expect(welcome).toEqual({
      kind: 'welcome',
      callbackKey: expect.stringMatching(/^[\w-]{43}$/),
      publicUrl: 'https://public.test',
    });
    expect(await second.next('welcome')).toEqual(welcome);
    expect(await engine.callbackKey()).toBe(welcome.callbackKey);
    await start(engine, 'a');
    const killed = folder.asKilled();
    try {
      for (const where of [killed, folder]) {
        await where.close();
        const again = where.open();
        expect(await again.callbackKey()).toBe(welcome.callbackKey);
        expect(await new ScriptedWorker(again).next('welcome')).toEqual({
          kind: 'welcome',
          callbackKey: welcome.callbackKey,
        });
      }
    } finally {
      await killed.remove();
    }
  });

  it('differs from folder to folder', async () => {
    const other = new Folder();
    try {
      const keys = [folder, other].map(async (where) => {
        const engine = where.open();
        return (await new ScriptedWorker(engine).next('welcome')).callbackKey;
      });
      const [one, another] = await Promise.all(keys);
      expect(one).not.toBe(another);
    } finally {
      await other.remove();
    }
  });
});

describe('a run that somebody waits for stays in memory', () => {
  const open = () => {
    const engine = folder.open({ limits: { cachedRuns: 0 } });
    return { engine, worker: new ScriptedWorker(engine) };
  };
  /** What is quiet leaves the memory with the commits of others. */
  const passBy = async (engine: EmbeddedEngine, workflowId: string) =>
    engine.recordTrace(await start(engine, workflowId), {});

  it('until the handler of an update has answered', async () => {
    const { engine, worker } = open();
    const run = await start(engine, 'a');
    await worker.turn();
    let told: unknown;
    void engine.update(run, 'slow', []).then((result) => {
      told = result;
    });
    const task = await worker.next('turn');
    const { updateId } = task.updates[0]!;
    worker.completeTurn(task, [{ kind: 'acceptUpdate', updateId }, timer(1, 60_000)]);
    await passBy(engine, 'b');
    await worker.turn(complete());
    await engine.signal(run, 'go', []);
    await worker.turn({ kind: 'completeUpdate', updateId, result: '"answer"' });
    await engine.recordTrace(run, {});
    await new Promise(setImmediate);
    expect(told).toBe('"answer"');
  });

  it('until a worker comes that answers a query', async () => {
    const { engine, worker } = open();
    const run = await start(engine, 'a');
    await worker.turn(timer(1, 60_000));
    await engine.recordTrace(run, {});
    worker.lose();
    const asked = engine.query(run, 'state', []);
    await passBy(engine, 'b');
    const next = new ScriptedWorker(engine);
    const tasks = [await next.next('turn'), await next.next('turn')];
    const task = tasks.find(({ runId }) => runId === run.runId)!;
    const answers = task.queries.map(({ queryId }) => ({ queryId, kind: 'answered' as const, result: '1' }));
    next.completeTurn(task, [], answers);
    expect(await asked).toBe('1');
  });
});

describe('places that are given back', () => {
  const limits = { updatesInFlightPerRun: 2 };

  it('are those of updates, however they end', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    for (let round = 0; round < 6; round++) {
      const updates = [engine.update(run, 'one', []), engine.update(run, 'two', [])];
      const ends = Promise.allSettled(updates);
      await expect(engine.update(run, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
      const task = await worker.next('turn');
      // Also while a worker has them.
      await expect(engine.update(run, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
      const ids = task.updates.map(({ updateId }) => updateId);
      worker.completeTurn(
        task,
        ids.flatMap((updateId): Command[] =>
          round % 2 === 0
            ? [{ kind: 'rejectUpdate', updateId, reason: 'validator', failure }]
            : [
                { kind: 'acceptUpdate', updateId },
                { kind: 'completeUpdate', updateId, failure },
              ],
        ),
      );
      expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    }
  });

  it('are not those of updates whose handlers are still at work', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const updates = [engine.update(run, 'one', []), engine.update(run, 'two', [])];
    const task = await worker.next('turn');
    const accepted = task.updates.map(({ updateId }): Command => ({ kind: 'acceptUpdate', updateId }));
    worker.completeTurn(task, [...accepted, timer(1, 60_000)]);
    await engine.recordTrace(run, {});
    await expect(engine.update(run, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
    await engine.terminate(run, 'enough');
    await Promise.allSettled(updates);
  });

  it('are those of workers, however their tasks end', async () => {
    const engine = folder.open();
    const retry = {
      ...{ initialIntervalMs: 0, backoffCoefficient: 1, maximumIntervalMs: 0, maximumAttempts: 1 },
      nonRetryableErrorTypes: [],
    };
    const worker = new ScriptedWorker(engine, { turns: 1, steps: 1 });
    const run = await start(engine, 'a');
    const another = () => step(++count, 'work', { retry });
    let count = 0;
    await worker.turn(another());
    worker.completeStep(await worker.next('step'));
    await worker.turn(another());
    worker.failStep(await worker.next('step'));
    await worker.turn(another());
    const { runId, scheduledEventId, attempt } = await worker.next('step');
    await engine.signal(run, 'stop', []);
    await worker.turn({ kind: 'cancelStep', activityId: '3' });
    await worker.next('stopStep');
    worker.say({ kind: 'stepCancelled', runId, scheduledEventId, attempt });
    const failed = await worker.next('turn');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    const { turnId } = failed;
    worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
    const other = await start(engine, 'b');
    await worker.turn(another());
    await worker.next('step');
    const query = engine.query(other, 'state', []);
    const asked = await worker.next('turn');
    const { queryId } = asked.queries[0]!;
    worker.completeTurn(asked, [], [{ kind: 'answered', queryId, result: '1' }]);
    expect(await query).toBe('1');
    await engine.terminate({ workflowId: 'b' }, 'enough');
    await start(engine, 'c');
    await worker.next('turn');
    await engine.terminate({ workflowId: 'c' }, 'enough');
    // Still as many places as at first.
    const last = await start(engine, 'd');
    await worker.turn(another());
    worker.completeStep(await worker.next('step'));
    await worker.turn(complete());
    expect((await engine.outcome(last, { waitMs: 5_000 }))?.status).toBe('completed');
    expect((await engine.describe(run)).heldBack).toBeDefined();
    expect(engine.load()).toMatchObject({ turnsUnderWay: 0, stepsUnderWay: 0 });
  });
});

describe('many queries of one run', () => {
  /** As large as a payload may be, and twice that on its way. */
  const large = JSON.stringify('"'.repeat(1024 * 1024 - 10));
  const requireFrame = (message: object) => expect(packFrames([message])).toHaveLength(1);
  const answersTo = ({ queries }: TurnTask, result: string): QueryAnswer[] =>
    queries.map(({ queryId }) => ({ kind: 'answered', queryId, result }));

  it.each([
    ['go with a turn', true],
    ['are asked by themselves', false],
  ])('%s in parts that can be sent and answered', async (_, withTurn) => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    if (!withTurn) {
      await worker.turn(timer(1, 60_000));
      await engine.recordTrace(run, {});
      worker.lose();
    } else worker.lose();
    const asked = Array.from({ length: 50 }, () => engine.query(run, 'state', [large]));
    const other = new ScriptedWorker(engine);
    let answered = 0;
    while (answered < asked.length) {
      const task = await other.next('turn');
      requireFrame(task);
      requireFrame({ kind: 'turnCompleted', answers: answersTo(task, large) });
      answered += task.queries.length;
      other.completeTurn(task, task.readOnly ? [] : [timer(2, 60_000)], answersTo(task, '1'));
    }
    expect(await Promise.all(asked)).toEqual(asked.map(() => '1'));
  });

  it('are all answered when the turn that some go with closes the run', async () => {
    const engine = folder.open();
    const run = await start(engine, 'a');
    const asked = Array.from({ length: 50 }, () => engine.query(run, 'state', []));
    const worker = new ScriptedWorker(engine);
    let answered = 0;
    while (answered < asked.length) {
      const task = await worker.next('turn');
      answered += task.queries.length;
      worker.completeTurn(task, task.readOnly ? [] : [complete()], answersTo(task, '1'));
    }
    expect(await Promise.all(asked)).toEqual(asked.map(() => '1'));
  });
});

describe('a signal that was made for one run', () => {
  const signal = (engine: EmbeddedEngine, workflowId: string, madeFor: string) =>
    engine.signal({ workflowId }, 'perdure.callback', ['"c"'], { madeFor }).then(
      ({ runId }) => runId,
      (error: Error) => error.name,
    );

  it('is refused when the workflow has gone on as another, also after a restart', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const first = await start(engine, 'a');
    await worker.turn();
    expect(await signal(engine, 'a', first.runId)).toBe(first.runId);
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: ['2'] });
    const { runId } = await worker.turn(timer(1, 60_000));
    expect(runId).not.toBe(first.runId);
    expect(await signal(engine, 'a', first.runId)).toBe('WorkflowAlreadyClosedError');
    expect(await signal(engine, 'a', runId)).toBe(runId);
    await engine.close();
    const again = folder.open();
    expect(await signal(again, 'a', first.runId)).toBe('WorkflowAlreadyClosedError');
    // Of one that is no longer kept nobody can say that it was another.
    expect(await signal(again, 'a', '01900000-0000-7000-8000-000000000000')).toBe(runId);
    await again.close();
  });

  it('is taken by the run that a reset has made of it', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const first = await start(engine, 'a');
    await worker.turn(timer(1, 60_000));
    const second = await engine.reset(first, { toStart: true });
    const third = await engine.reset(second, { toStart: true });
    for (const { runId } of [first, second, third]) {
      expect(await signal(engine, 'a', runId)).toBe(third.runId);
    }
    await engine.close();
  });
});
