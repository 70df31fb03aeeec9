/** How far a history may grow, with all that waits to come into it. */
import { describe, expect, it } from 'vitest';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { complete, ScriptedWorker, step, workflow } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

describe('the bytes of a history', () => {
  it('are those that it takes to send it, also after it was read from disk', async () => {
    const limits = { historyBytes: 100_000 };
    let engine = folder.open({ limits });
    let worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    for (let count = 0; count < 2; count++) {
      await engine.signal(run, 'more', [JSON.stringify('東'.repeat(13_000))]);
      await worker.turn();
    }
    await engine.recordTrace(run, {});
    await engine.close();
    engine = folder.open({ limits });
    worker = new ScriptedWorker(engine);
    expect((await engine.describe(run)).status).toBe('running');
    await engine.signal(run, 'one too many', [JSON.stringify('東'.repeat(13_000))]);
    const outcome = await engine.outcome(run, { waitMs: 5_000 });
    expect(outcome).toMatchObject({ status: 'failed', failure: { type: 'LimitExceededError' } });
  });
});

describe('signals that come during a long turn', () => {
  it('are refused once there are as many as a run may have', async () => {
    const engine = folder.open({ limits: { signalsPerRun: 3 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await engine.signal(run, 'before', []);
    const turn = await worker.next('turn');
    for (let count = 0; count < 2; count++) await engine.signal(run, 'during', []);
    await expect(engine.signal(run, 'too many', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
    worker.completeTurn(turn);
    await worker.turn();
    await expect(engine.signal(run, 'too many', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
  });

  it('are refused once they and the history are as large as a history may become', async () => {
    const engine = folder.open({ limits: { historyBytes: 100_000 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    const turn = await worker.next('turn');
    const payload = JSON.stringify('é'.repeat(10_000));
    let taken = 0;
    const refusal = await (async () => {
      for (; taken < 100; taken++) await engine.signal(run, 'more', [payload]);
    })().catch((error: Error) => error);
    expect(refusal).toMatchObject({ name: 'TooManyRequestsError' });
    expect(taken).toBe(4);
    worker.completeTurn(turn);
    const next = await worker.next('turn');
    expect(next.events.filter(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(4);
  });
});

describe('what waits for a turn', () => {
  const limits = { historyBytes: 100_000 };
  const payload = JSON.stringify('é'.repeat(10_000));
  const storedBytes = async (engine: EmbeddedEngine, run: RunRef) => {
    const { events } = await engine.history(run, { afterEventId: 0, limit: 1_000 });
    return Buffer.byteLength(JSON.stringify(events));
  };
  const signalUntilRefused = async (engine: EmbeddedEngine, run: RunRef) => {
    let taken = 0;
    const refusal = await (async () => {
      for (; taken < 100; taken++) await engine.signal(run, 'more', [payload]);
    })().catch((error: Error) => error);
    expect(refusal).toMatchObject({ name: 'TooManyRequestsError', details: { retryAfterSeconds: 1 } });
    return taken;
  };

  it('is bounded while no worker is there, and the run goes on when one comes', async () => {
    const engine = folder.open({ limits });
    const run = await start(engine, 'a');
    expect(await signalUntilRefused(engine, run)).toBe(4);
    const worker = new ScriptedWorker(engine);
    await worker.turn(complete());
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('is bounded while the run waits to be tried again', async () => {
    const engine = folder.open({ limits });
    const retry = {
      ...{ initialIntervalMs: 3_600_000, backoffCoefficient: 1, maximumIntervalMs: 3_600_000 },
      ...{ maximumAttempts: 2, nonRetryableErrorTypes: [] },
    };
    const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    const first = await start(engine, 'a');
    await worker.turn({ kind: 'failRun', failure: { kind: 'application', type: 'Error', message: 'no' } });
    await engine.recordTrace(first, {});
    const { runId } = await engine.describe({ workflowId: 'a' });
    expect(runId).not.toBe(first.runId);
    expect(await signalUntilRefused(engine, { workflowId: 'a', runId })).toBe(4);
    expect((await engine.describe({ workflowId: 'a' })).status).toBe('running');
  });

  it.each(['steps that end during a turn', 'steps that end together'])(
    'fails the run with all that has come when the results of %s are too large',
    async (when) => {
      const engine = folder.open({ limits });
      const worker = new ScriptedWorker(engine);
      const run = await start(engine, 'a');
      await worker.turn(...Array.from({ length: 10 }, (_, i) => step(i + 1)));
      const tasks = [];
      while (tasks.length < 10) tasks.push(await worker.next('step'));
      if (when.includes('turn')) {
        await engine.signal(run, 'go', []);
        await worker.next('turn');
      }
      for (const task of tasks) worker.completeStep(task, payload);
      const outcome = await engine.outcome(run, { waitMs: 5_000 });
      expect(outcome).toMatchObject({ status: 'failed', failure: { type: 'LimitExceededError' } });
      const { events } = await engine.history(run, { afterEventId: 0, limit: 1_000 });
      expect(events.filter(({ type }) => type === 'ACTIVITY_TASK_COMPLETED')).toHaveLength(5);
      expect(await storedBytes(engine, run)).toBeLessThan(limits.historyBytes + 2 * payload.length * 2);
    },
  );

  it('makes no query of a run that it has filled: no worker could take its history', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(...Array.from({ length: 5 }, (_, i) => step(i + 1)));
    for (let count = 0; count < 5; count++) worker.completeStep(await worker.next('step'), payload);
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('failed');
    await expect(engine.query(run, 'state', [])).rejects.toThrow(/more than the 100000 that a worker takes/);
  });

  it('is bounded in events, pauses included', async () => {
    const engine = folder.open({ limits: { historyEvents: 20 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.next('turn');
    for (let count = 0; count < 20; count++) {
      if ((await engine.describe(run)).status !== 'running') break;
      await engine.pause(run, { by: 'operator' });
      await engine.resume(run);
    }
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.failure?.type).toBe('LimitExceededError');
  });
});
