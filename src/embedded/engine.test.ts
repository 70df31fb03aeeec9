import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../core/history/event.js';
import type { RunRef } from '../engine.js';
import { EmbeddedEngine } from './index.js';
import { CATALOG, complete, Folder, ScriptedWorker, step, timer } from './scripted-worker.fixture.js';
import { MIGRATIONS } from './store/folder/schema.js';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const start = (engine: EmbeddedEngine, workflowId?: string, input = ['1']): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input, workflowId });

async function eventsOf(engine: EmbeddedEngine, run: RunRef): Promise<HistoryEvent[]> {
  return (await engine.history(run, { afterEventId: 0, limit: 100_000 })).events;
}

async function typesOf(engine: EmbeddedEngine, run: RunRef): Promise<string[]> {
  return (await eventsOf(engine, run)).map((event) => event.type);
}

const closed = (engine: EmbeddedEngine, run: RunRef) => engine.outcome(run, { waitMs: 5_000 });

describe('a run', () => {
  it('writes the events of Temporal in the order of Temporal', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'), '"paid"');
    await worker.turn(complete());
    expect(await closed(engine, run)).toMatchObject({ status: 'completed', output: '"done"', input: '1' });
    expect(await typesOf(engine, run)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'ACTIVITY_TASK_SCHEDULED',
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_COMPLETED',
    ]);
  });

  it('sends a worker that has the run cached only the events it lacks', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    await start(engine);
    const first = await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    const second = await worker.turn(complete());
    expect(first.events.map((event) => event.id)).toEqual([1, 2]);
    expect(second.events.map((event) => event.id)).toEqual([3, 4, 5, 6, 7, 8]);
  });

  it('sends the whole history to a worker that has lost it', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    const incremental = await worker.next('turn');
    worker.say({ kind: 'turnMissed', turnId: incremental.turnId, runId: run.runId });
    const whole = await worker.turn(complete());
    expect(whole.events.map((event) => event.id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await closed(engine, run)).toMatchObject({ status: 'completed' });
  });

  it('keeps events that arrive during a turn until after what the turn decides', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    const task = await worker.next('turn');
    await engine.signal(run, 'hello', ['"a"']);
    worker.completeTurn(task, [timer(1, 60_000)]);
    const second = await worker.turn(complete());
    expect(second.events.map((event) => event.type)).toEqual([
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'TIMER_STARTED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
  });

  it('does not close before it has seen what arrived during its last turn (SG-06)', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    const task = await worker.next('turn');
    await engine.signal(run, 'late', []);
    worker.completeTurn(task, [complete('"too early"')]);
    const again = await worker.turn(complete('"after the signal"'));
    expect(again.events.map((event) => event.type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
    expect(again.events[0]!.id).toBe(1);
    expect(await closed(engine, run)).toMatchObject({ output: '"after the signal"' });
  });

  it('ignores answers to turns and attempts that are not the current ones', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    const task = await worker.turn(step(1));
    worker.completeTurn(task, [complete('"twice"')]);
    const first = await worker.next('step');
    worker.completeStep({ ...first, attempt: 7 }, '"stale"');
    worker.completeStep(first, '"right"');
    worker.completeStep(first, '"again"');
    const next = await worker.turn(complete());
    const results = next.events.filter((event) => event.type === 'ACTIVITY_TASK_COMPLETED');
    expect(results.map((event) => event.attributes)).toMatchObject([{ result: '"right"' }]);
    expect(await closed(engine, run)).toMatchObject({ output: '"done"' });
  });

  it('holds a run back when its worker answers with a command that cannot be', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn({ kind: 'cancelTimer', timerId: '9' });
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await engine.describe(run)).heldBack?.reason).toContain('cancelTimer of 9');
    expect(await typesOf(engine, run)).toContain('WORKFLOW_TASK_FAILED');
  });

  it('holds a run back when one command takes what another of the same turn has taken', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const cancels = { kind: 'cancelTimer', timerId: '1' } as const;
    const run = await start(engine);
    await worker.turn(timer(1, 5_000), cancels, cancels);
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await engine.describe(run)).heldBack?.reason).toContain('cancelTimer of 1');

    const other = await start(engine);
    await worker.turn();
    const update = engine.update(other, 'change', []).catch((error: Error) => error.name);
    const task = await worker.next('turn');
    const accepts = { kind: 'acceptUpdate', updateId: task.updates[0]!.updateId } as const;
    worker.completeTurn(task, [accepts, accepts]);
    await engine.terminate(other, 'enough');
    expect(await update).toBe('WorkflowAlreadyClosedError');
    expect(await typesOf(engine, other)).not.toContain('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
  });

  it('is failed with a typed failure when it waits for too much at a time (AC-26)', async () => {
    const engine = folder.open({ limits: { pendingPerRun: 3 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1), step(2), timer(1, 5), timer(2, 5));
    expect(await closed(engine, run)).toMatchObject({
      status: 'failed',
      failure: { type: 'LimitExceededError' },
    });
  });

  it('answers the callers whose messages went with the turn that asked for too much', async () => {
    const engine = folder.open({ limits: { pendingPerRun: 1 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn();
    const update = engine.update(run, 'change', []).catch((error: Error) => error.name);
    const query = engine.query(run, 'state', []);
    const task = await worker.next('turn');
    expect([task.updates.length, task.queries.length]).toEqual([1, 1]);
    worker.completeTurn(task, [timer(1, 5), timer(2, 5)]);
    expect(await update).toBe('WorkflowAlreadyClosedError');
    const { turnId, runId, queries, readOnly } = await worker.next('turn');
    expect(readOnly).toBe(true);
    const answers = [{ queryId: queries[0]!.queryId, kind: 'answered', result: '1' } as const];
    worker.say({ kind: 'turnCompleted', turnId, runId, commands: [], answers });
    expect(await query).toBe('1');
  });

  it('is failed with a typed failure when its history is full', async () => {
    const engine = folder.open({ limits: { historyEvents: 10 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn(step(2));
    worker.completeStep(await worker.next('step'));
    const outcome = await closed(engine, run);
    expect(outcome?.failure).toMatchObject({ type: 'LimitExceededError' });
    expect(outcome?.failure?.message).toContain('continueAsNew');
  });
});

describe('a restart', () => {
  it('takes up all runs that wait for a worker, however many there are', async () => {
    const before = folder.open();
    const request = { workflowType: 'flow', catalog: CATALOG, input: [] };
    await Promise.all(Array.from({ length: 250 }, () => before.start(request)));
    await before.close();
    const after = folder.open();
    await expect.poll(() => after.load().turnsQueued).toBe(250);
  });

  it('goes on with the turn that was under way and keeps what had arrived during it', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    const run = await start(before);
    await lost.next('turn');
    await before.signal(run, 'kept', ['"x"']);
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    const task = await worker.turn(complete());
    expect(task.events.map((event) => event.type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_EXECUTION_SIGNALED',
    ]);
    expect(await closed(after, run)).toMatchObject({ status: 'completed' });
  });

  it('counts an attempt that was under way as made (AC-23) and repeats it', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    await start(before);
    await lost.turn(step(1), step(2, 'once', { retry: { ...once } }));
    const attempts = [await lost.next('step'), await lost.next('step')];
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    const again = await worker.next('step');
    expect(again).toMatchObject({ stepName: 'work', attempt: 2 });
    expect(again.idempotencyKey).toBe(attempts.find((task) => task.stepName === 'work')!.idempotencyKey);
    const turn = await worker.next('turn');
    expect(turn.events.find((event) => event.type === 'ACTIVITY_TASK_FAILED')?.attributes).toMatchObject({
      failure: { type: 'WorkerCrashed', attempt: 1 },
      retryState: 'MAXIMUM_ATTEMPTS_REACHED',
    });
    expect(worker.pending('step')).toEqual([]);
  });

  it('gives out as its first attempt a step that no worker had taken', async () => {
    const before = folder.open();
    const busy = new ScriptedWorker(before, { steps: 0 });
    const run = await start(before);
    await busy.turn(step(1));
    await before.history(run, { afterEventId: 4, limit: 1, waitMs: 5_000 });
    await before.close();

    const worker = new ScriptedWorker(folder.open());
    expect(await worker.next('step')).toMatchObject({ attempt: 1 });
  });

  it('does not repeat a step whose completion is on disk (AC-24)', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    const run = await start(before);
    await lost.turn(step(1));
    lost.completeStep(await lost.next('step'), '"once"');
    await before.history(run, { afterEventId: 6, limit: 1, waitMs: 5_000 });
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    await worker.turn(complete());
    await closed(after, run);
    expect(worker.pending('step')).toEqual([]);
  });

  it('fires the timers that came due meanwhile, once each', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    const run = await start(before);
    await lost.turn(timer(1, 20), timer(2, 3_600_000));
    await before.history(run, { afterEventId: 4, limit: 1, waitMs: 5_000 });
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    const task = await worker.turn(complete());
    const fired = task.events.filter((event) => event.type === 'TIMER_FIRED');
    expect(fired.map((event) => event.attributes)).toMatchObject([{ timerId: '1' }]);
  });

  it('remembers catalogs, idempotency keys and ids', async () => {
    const before = folder.open();
    new ScriptedWorker(before);
    const request = {
      workflowType: 'flow',
      catalog: CATALOG,
      input: ['1'],
      idempotency: { key: 'k', fingerprint: 'f' },
    };
    const run = await before.start(request);
    await start(before, 'mine');
    await before.close();

    const after = folder.open();
    expect((await after.catalog(CATALOG))?.workflows.map(({ entry }) => entry.name)).toEqual(['flow']);
    expect(await after.start(request)).toEqual(run);
    await expect(
      after.start({ ...request, idempotency: { key: 'k', fingerprint: 'g' } }),
    ).rejects.toMatchObject({
      name: 'IdempotencyConflictError',
    });
    await expect(start(after, 'mine')).rejects.toMatchObject({ name: 'WorkflowAlreadyExistsError' });
  });
});

describe('a lost worker', () => {
  it('costs its runs a replay by another', async () => {
    const engine = folder.open();
    const first = new ScriptedWorker(engine);
    const run = await start(engine);
    await first.turn(step(1));
    first.completeStep(await first.next('step'));
    await first.next('turn');
    const second = new ScriptedWorker(engine);
    first.lose();
    const task = await second.turn(complete());
    expect(task.events[0]!.id).toBe(1);
    expect(await closed(engine, run)).toMatchObject({ status: 'completed' });
  });

  it('does not count against its steps, unless they may be tried only once (AC-23)', async () => {
    const engine = folder.open();
    await start(engine);
    let worker = new ScriptedWorker(engine);
    await worker.turn(
      step(1, 'work', { retry: { ...once, maximumAttempts: 2 } }),
      step(2, 'once', { retry: once }),
    );
    for (let attempt = 1; attempt <= 2; attempt++) {
      const tasks = [await worker.next('step'), ...(attempt === 1 ? [await worker.next('step')] : [])];
      expect(tasks.find((task) => task.stepName === 'work')?.attempt).toBe(attempt);
      worker.lose();
      worker = new ScriptedWorker(engine);
    }
    const third = await worker.next('step');
    expect(third).toMatchObject({ stepName: 'work', attempt: 3 });
    const { events } = await worker.next('turn');
    const failed = events.filter((event) => event.type === 'ACTIVITY_TASK_FAILED');
    expect(failed.map((event) => event.attributes)).toMatchObject([
      {
        failure: { type: 'WorkerCrashed', activityType: 'flow#once' },
        retryState: 'MAXIMUM_ATTEMPTS_REACHED',
      },
    ]);
  });

  it('is blamed on the suspect that was on probation, and on nothing that ran beside it', async () => {
    const engine = folder.open();
    const retry = { ...once, maximumAttempts: 2 };
    let worker = new ScriptedWorker(engine);
    for (const id of ['killer', 'victim']) {
      await start(engine, id);
      await worker.turn(step(1, id, { retry }));
    }
    // Lost together: now both are suspects, and only one of them is out at a time.
    await worker.next('step');
    await worker.next('step');
    worker.lose();
    worker = new ScriptedWorker(engine);
    const attempts: string[] = [];
    for (;;) {
      const task = await worker.next('step');
      attempts.push(task.stepName);
      if (task.stepName === 'victim') {
        expect(worker.pending('step')).toEqual([]);
        worker.completeStep(task);
        continue;
      }
      worker.lose();
      worker = new ScriptedWorker(engine);
      if (attempts.filter((name) => name === 'killer').length === 2) break;
    }
    expect(attempts.filter((name) => name === 'victim')).toHaveLength(1);
    const closings: unknown[] = [];
    while (closings.length < 2) {
      const { events } = await worker.next('turn');
      closings.push(
        ...events
          .filter((event) => /ACTIVITY_TASK_(COMPLETED|FAILED)/.test(event.type))
          .map((event) => event.type),
      );
    }
    expect(closings.sort()).toEqual(['ACTIVITY_TASK_COMPLETED', 'ACTIVITY_TASK_FAILED']);
  });

  it('that dies with every turn of a run holds that run back and no other', async () => {
    const engine = folder.open();
    const run = await start(engine, 'poison');
    for (let loss = 0; loss < 2; loss++) {
      const worker = new ScriptedWorker(engine);
      await worker.next('turn');
      worker.lose();
    }
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await engine.describe(run)).heldBack?.reason).toContain('ended whenever it ran this turn');
    const replaced = new ScriptedWorker(engine);
    const other = await start(engine, 'fine');
    expect(await replaced.turn(complete())).toMatchObject({ workflowId: 'fine' });
    expect(await closed(engine, other)).toMatchObject({ status: 'completed' });
    expect(replaced.pending('turn')).toEqual([]);

    const mended = new ScriptedWorker(engine, { codeId: 'v2' });
    replaced.lose();
    expect(await mended.turn(complete())).toMatchObject({ workflowId: 'poison' });
    expect(await closed(engine, run)).toMatchObject({ status: 'completed' });
    expect((await engine.describe(run)).heldBack).toBeUndefined();
  });
});

describe('the data folder', () => {
  it('belongs to one process: a second opening is refused', () => {
    folder.open();
    expect(() => EmbeddedEngine.open({ dataDir: folder.path })).toThrow(/in use by another perdure process/);
  });

  it('of a newer program is refused by an older one', async () => {
    await folder.remove();
    folder = new Folder(true);
    await folder.open().close();
    const db = new Database(join(folder.path, 'perdure.db'));
    db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    expect(() => folder.open()).toThrow(/made by a newer perdure/);
  });

  it('with another program’s database is left alone', () => {
    const db = new Database(join(folder.path, 'perdure.db'));
    db.exec('CREATE TABLE theirs (x)');
    db.close();
    expect(() => folder.open()).toThrow(/another program/);
  });

  it('can be backed up while the engine works, and the copy goes on where it was', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await engine.history(run, { afterEventId: 6, limit: 1, waitMs: 5_000 });
    const copy = new Folder();
    await engine.backupTo(join(copy.path, 'perdure.db'));
    expect(existsSync(join(copy.path, 'perdure.db'))).toBe(true);
    const restored = copy.open();
    const other = new ScriptedWorker(restored);
    await other.turn(complete('"restored"'));
    expect(await closed(restored, run)).toMatchObject({ output: '"restored"' });
    await copy.remove();
  });
});

describe('the run list', () => {
  it('looks through a bounded number of runs a page, and its cursors lead to all of them', async () => {
    const engine = folder.open({ limits: { listedKeys: 7 } });
    for (let i = 0; i < 30; i++) await start(engine, i % 10 === 3 ? `rare-${i}` : `common-${i}`);
    const found: string[] = [];
    let pages = 0;
    let cursor: string | undefined;
    do {
      const page = await engine.list({ workflowIdPrefix: 'rare-' }, { limit: 5, cursor });
      found.push(...page.runs.map((run) => run.workflowId));
      cursor = page.nextCursor ?? undefined;
      pages++;
    } while (cursor !== undefined && pages < 20);
    expect(found).toEqual(['rare-23', 'rare-13', 'rare-3']);
    expect(pages).toBe(5);
    expect((await engine.list({ workflowId: 'rare-3' }, { limit: 5 })).runs).toHaveLength(1);
  });
});

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

describe('retention', () => {
  it('removes closed runs with everything of theirs, and never open ones (RT-01, RT-02)', async () => {
    const engine = folder.open({ limits: { retentionMs: 30, retentionBatch: 2 } });
    const worker = new ScriptedWorker(engine);
    const open = await start(engine, 'open');
    await worker.turn(timer(1, 3_600_000));
    const runs: RunRef[] = [];
    for (let i = 0; i < 5; i++) {
      const request = {
        workflowType: 'flow',
        catalog: CATALOG,
        input: ['1'],
        idempotency: { key: `k${i}`, fingerprint: 'f' },
      };
      runs.push(await engine.start(request));
      await worker.turn(complete());
    }
    for (const run of runs) await goneOf(engine, run);
    expect((await engine.describe(open)).status).toBe('running');
    await engine.close();
    const db = new Database(join(folder.path, 'perdure.db'));
    expect(db.prepare('SELECT count(*) FROM runs').pluck().get()).toBe(1);
    expect(db.prepare('SELECT count(DISTINCT run_key) FROM history').pluck().get()).toBe(1);
    expect(db.prepare('SELECT count(*) FROM idempotency').pluck().get()).toBe(0);
    db.close();
  });
});

const once = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 1,
  nonRetryableErrorTypes: [],
};

async function goneOf(engine: EmbeddedEngine, run: RunRef): Promise<void> {
  const until = Date.now() + 10_000;
  while (Date.now() < until) {
    const gone = await engine.describe(run).then(
      () => false,
      (error: Error) => error.name === 'WorkflowNotFoundError',
    );
    if (gone) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`run ${run.runId} was not removed`);
}
