/** Reset, with what happens around it scripted: turns under way, runs that went on. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import type { RunRef } from '../../engine.js';
import { CATALOG, complete, ScriptedWorker, step, timer, workflow } from '../scripted-worker.fixture.js';
import {
  clock,
  engine,
  eventsOf,
  latestRun,
  reopen,
  start,
  turnOf,
  typesOf,
  worker,
} from './reset.fixture.js';

describe('a reset', () => {
  it('gives out anew a step that was under way at its point', async () => {
    const run = await start('a');
    await worker.turn(step(1, 'done'), step(2, 'long'));
    const done = await worker.next('step');
    const long = await worker.next('step');
    worker.completeStep(done);
    await turnOf(run);
    const next = await engine.reset(run, { stepName: 'done' });
    const again = await worker.next('step');
    expect(again).toMatchObject({ runId: next.runId, stepName: 'long', attempt: 1 });
    // The attempt of the run that has closed counts for nothing.
    worker.completeStep(long, '"of the old"');
    await turnOf(next);
    worker.completeStep(again, '"of the new"');
    const { events } = await turnOf(next, complete());
    expect(events.find(({ type }) => type === 'ACTIVITY_TASK_COMPLETED')).toMatchObject({
      attributes: { result: '"of the new"' },
    });
  });

  it.each<[string, number | undefined, number]>([
    ['the last time that the step has completed, if nobody says which', undefined, 2],
    ['the first time, if that is said', 1, 1],
    ['the last time, if that is said', 2, 2],
  ])('goes back to %s', async (_what, occurrence, completions) => {
    const run = await start('a');
    await worker.turn(step(1, 'again'));
    worker.completeStep(await worker.next('step'));
    await worker.turn(step(2, 'again'));
    worker.completeStep(await worker.next('step'));
    await worker.turn(step(3, 'other'));
    await engine.recordTrace(run, {});
    const next = await engine.reset(run, { stepName: 'again', ...(occurrence && { occurrence }) });
    const types = await typesOf(next);
    expect(types.filter((type) => type === 'ACTIVITY_TASK_COMPLETED')).toHaveLength(completions);
  });

  it('gives such a step its whole time again', async () => {
    const run = await start('a');
    await worker.turn(step(1, 'done'), step(2, 'long', { scheduleToCloseTimeoutMs: 10_000 }));
    worker.completeStep(await worker.next('step'));
    await worker.next('step');
    await turnOf(run);
    clock.pass(8_000);
    await engine.reset(run, { stepName: 'done' });
    expect(await worker.next('step')).toMatchObject({ stepName: 'long', timeoutMs: 10_000 });
  });

  it('goes on from before the failure of a run whose last turn asked for too much', async () => {
    await reopen({ pendingPerRun: 2 });
    const run = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn(timer(1, 5), timer(2, 5), timer(3, 5));
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('failed');
    const next = await engine.reset(run, { stepName: 'work' });
    expect((await engine.describe(next)).status).toBe('running');
    await turnOf(next, complete());
    expect((await engine.outcome(next, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('gives a run that may be retried the time for it again', async () => {
    const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 4_000, maximumAttempts: 3 };
    const eager = new ScriptedWorker(engine, {
      workflows: [workflow('eager', { executionTimeoutMs: 10_000, retry })],
    });
    const run = await start('a', 'eager');
    await eager.turn(step(1));
    eager.completeStep(await eager.next('step'));
    await eager.turn();
    clock.pass(8_000);
    const next = await engine.reset(run, { stepName: 'work' });
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    await eager.turn({ kind: 'failRun', failure });
    const second = await latestRun('a', next);
    expect((await eventsOf(second))[0]).toMatchObject({ attributes: { initiator: 'RETRY', attempt: 2 } });
  });
});

describe('a reset to a step that no turn has seen', () => {
  it('works when its completion came while only an update had the run at work', async () => {
    const run = await start('a');
    await worker.turn(step(1));
    const task = await worker.next('step');
    const update = engine.update(run, 'change', []).catch((error: Error) => error.name);
    await worker.next('turn');
    worker.completeStep(task, '"paid"');
    await engine.terminate(run, 'enough');
    expect(await update).toBe('WorkflowAlreadyClosedError');
    expect((await typesOf(run)).slice(-3)).toEqual([
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_TERMINATED',
    ]);

    const next = await engine.reset(run, { stepName: 'work' });
    const turn = await turnOf(next, complete());
    expect(turn.events.map(({ type }) => type).slice(-6)).toEqual([
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    expect((await engine.outcome(next, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('leaves the open run alone when it is refused', async () => {
    const first = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: [] });
    const open = await latestRun('a', first);
    await expect(engine.reset(first, { stepName: 'unknown' })).rejects.toThrow('is not in the history');
    // What was decided before it was refused would be on disk by now.
    await engine.recordTrace(open, {});
    expect((await engine.describe(open)).status).toBe('running');
    await turnOf(open, complete());
    expect((await engine.outcome(open, { waitMs: 5_000 }))?.status).toBe('completed');
  });
});

describe('a reset run', () => {
  it('has the history up to the turn that saw the completion, and goes on from there', async () => {
    const run = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'), '"paid"');
    await turnOf(run, timer(1, 60_000), step(2, 'later'));
    const next = await engine.reset(run, { stepName: 'work' });
    const turn = await turnOf(next, complete());
    expect(turn.events.map(({ type }) => type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'ACTIVITY_TASK_SCHEDULED',
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    expect((await engine.outcome(next, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('has its whole execution timeout again', async () => {
    const run = await start('a', 'hasty');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await turnOf(run, timer(1, 3_600_000));
    clock.ms += 20_000;
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('timed_out');
    const next = await engine.reset(run, { stepName: 'work' });
    // Another one's timer tells that the engine has looked at what is due.
    await start('b');
    const other = await latestRun('b');
    await turnOf(other, timer(1, 9_000));
    clock.pass(9_000);
    const fired = await turnOf(other);
    expect(fired.events.map(({ type }) => type)).toContain('TIMER_FIRED');
    await engine.signal(next, 'end', []);
    await turnOf(next, complete());
    expect((await engine.outcome(next, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('gets the signals that the runs after it had, when the chain went on', async () => {
    const run = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: [] });
    const second = await latestRun('a', run);
    await worker.next('turn');
    await engine.signal(second, 'later', ['"S"']);
    const next = await engine.reset(run, { stepName: 'work' });
    const turn = await turnOf(next, complete());
    const signals = turn.events.filter(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED');
    expect(signals.map(({ attributes }) => attributes)).toMatchObject([{ signalName: 'later' }]);
  });

  it.each(['open', 'completed'])(
    'gets the signals that earlier resets of a run had got which was %s, each once',
    async (state) => {
      const run = await start('a');
      await worker.turn(step(1));
      worker.completeStep(await worker.next('step'));
      await turnOf(run);
      await engine.signal(run, 'first', []);
      await turnOf(run, ...(state === 'open' ? [] : [complete()]));
      for (const signalName of ['second', 'third']) {
        const other = await engine.reset(run, { stepName: 'work' });
        await turnOf(other);
        await engine.signal(other, signalName, []);
        await turnOf(other);
      }
      const last = await engine.reset(run, { stepName: 'work' });
      expect(await signalsOf(last)).toEqual(['first', 'second', 'third']);
    },
  );

  it('gets a signal once that the run which it ends has not seen yet', async () => {
    const run = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await turnOf(run);
    const other = await engine.reset(run, { toStart: true });
    await worker.next('turn');
    await engine.signal(other, 'unseen', []);
    const last = await engine.reset(run, { stepName: 'work' });
    expect(await signalsOf(last)).toEqual(['unseen']);
  });
});

async function signalsOf(run: RunRef): Promise<string[]> {
  return (await eventsOf(run)).flatMap((event) =>
    event.type === 'WORKFLOW_EXECUTION_SIGNALED' ? [event.attributes.signalName] : [],
  );
}

describe('a reset to the start', () => {
  const toStart = { toStart: true } as const;

  it('has nothing of what the code did, and is told again what came', async () => {
    const run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['7'], workflowId: 'a' });
    await worker.turn(step(1));
    await engine.signal(run, 'told', ['1']);
    const task = await worker.next('step');
    // It sees the signal; its answer belongs to nothing any more.
    await worker.next('turn');
    const made = await engine.reset(run, { ...toStart, reason: 'why' });
    const { events } = await engine.history(made, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    expect(await engine.describe(made)).toMatchObject({ input: '7', firstRunId: run.runId });
    expect(await engine.outcome(run)).toMatchObject({
      status: 'terminated',
      failure: { message: 'reset to the start: why' },
    });
    // The attempt of the old run is told to end, and what it says changes nothing.
    expect(await worker.next('stopStep')).toMatchObject({ runId: run.runId, reason: 'runClosed' });
    worker.completeStep(task);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'), '"again"');
    await worker.turn(complete());
    expect(await engine.outcome({ workflowId: 'a' }, { waitMs: 5_000 })).toMatchObject({
      runId: made.runId,
      status: 'completed',
      input: '7',
    });
  });

  it.each(['open', 'closed'])('is made of a run that is %s and never had a turn', async (state) => {
    worker.lose();
    const run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['7'], workflowId: 'a' });
    if (state === 'closed') await engine.terminate(run, 'enough');
    const made = await engine.reset(run, toStart);
    expect((await new ScriptedWorker(engine).turn(complete())).runId).toBe(made.runId);
    expect(await engine.outcome(made, { waitMs: 5_000 })).toMatchObject({ status: 'completed', input: '7' });
  });

  it('is made of the run that continued as new, with its own input', async () => {
    const run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId: 'a' });
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: ['2'] });
    await worker.turn(complete());
    await engine.outcome({ workflowId: 'a' }, { waitMs: 5_000 });
    expect(await engine.describe(await engine.reset({ workflowId: 'a' }, toStart))).toMatchObject({
      input: '2',
    });
    expect(await engine.describe(await engine.reset(run, toStart))).toMatchObject({ input: '1' });
  });
});
