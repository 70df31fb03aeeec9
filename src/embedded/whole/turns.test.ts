/** What a worker is sent of a run, and what its answers do to it. */
import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../core/history/event.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { complete, HandClock, ScriptedWorker, step, timer } from '../scripted-worker.fixture.js';
import { closed, folder, start } from '../started-run.fixture.js';

async function eventsOf(engine: EmbeddedEngine, run: RunRef): Promise<HistoryEvent[]> {
  return (await engine.history(run, { afterEventId: 0, limit: 100_000 })).events;
}

async function typesOf(engine: EmbeddedEngine, run: RunRef): Promise<string[]> {
  return (await eventsOf(engine, run)).map((event) => event.type);
}

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

  it('shows a turn the time that its record has, also after the clock was set back', async () => {
    const clock = new HandClock();
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn();
    clock.offsetMs = -60_000;
    await engine.signal(run, 'go', []);
    const { startedAt } = await worker.turn(complete());
    await closed(engine, run);
    const started = (await eventsOf(engine, run)).filter(({ type }) => type === 'WORKFLOW_TASK_STARTED');
    expect(started.map(({ at }) => at)).toEqual([clock.ms, startedAt]);
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
});
