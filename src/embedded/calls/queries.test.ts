/** Queries: what they see, of which runs they are answered, and many at once. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import type { QueryAnswer, TurnTask } from '../../core/task.js';
import { packFrames } from '../../link/protocol.js';
import { complete, HandClock, ScriptedWorker, timer, workflow } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

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

  it('is told that the run waits for its retry, where that is why nobody answers', async () => {
    const engine = folder.open({ limits: { messageTimeoutMs: 100 } });
    const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 3_600_000, maximumIntervalMs: 3_600_000 };
    const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    const run = await start(engine, 'a');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    await worker.turn({ kind: 'failRun', failure });
    await engine.outcome(run, { waitMs: 5_000 });
    for (const call of ['query', 'update'] as const) {
      await expect(engine[call]({ workflowId: 'a' }, 'state', [])).rejects.toThrow(
        /^the run waits for its retry, and answers once that has begun at 20/,
      );
    }
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

  it('and an update are told when the server stops', { timeout: 10_000 }, async () => {
    // They would wait for an hour.
    const engine = folder.open({ limits: { messageTimeoutMs: 3_600_000 } });
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
