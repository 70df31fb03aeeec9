/** What a reset makes of children: those from before its point stay with the run, those of the part that is cut off end. */
import { describe, expect, it, vi } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { RunRef } from '../../engine.js';
import { complete, step, timer } from '../scripted-worker.fixture.js';
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

const child = (childSeq: number, workflowId: string, parentClosePolicy = 'REQUEST_CANCEL'): Command =>
  ({
    kind: 'startChild',
    childSeq: String(childSeq),
    workflowId,
    workflowType: 'child',
    input: [],
    parentClosePolicy,
  }) as Command;

const continueAsNew: Command = { kind: 'continueAsNew', workflowType: 'flow', input: [] };

async function projectedChildren(run: RunRef): Promise<number> {
  let open = 0;
  for (const { type } of await eventsOf(run)) {
    if (type === 'START_CHILD_WORKFLOW_EXECUTION_INITIATED') open++;
    if (/^CHILD_WORKFLOW_EXECUTION_(?!STARTED)/.test(type)) open--;
  }
  return open;
}

it('a reset does not start a detached child again beside the one that goes on', async () => {
  const run = await start('a');
  await worker.turn(child(1, 'kid', 'ABANDON'));
  const kid = await latestRun('kid');
  await turnOf(kid);
  await turnOf(run);
  const next = await engine.reset(run, { toStart: true });
  await turnOf(next, child(1, 'kid', 'ABANDON'));
  const { events } = await turnOf(next, complete());
  expect(events.find(({ type }) => type === 'START_CHILD_WORKFLOW_EXECUTION_FAILED')).toMatchObject({
    attributes: { workflowId: 'kid', cause: 'WORKFLOW_ALREADY_EXISTS' },
  });
  expect(await engine.describe({ workflowId: 'kid' })).toMatchObject({ ...kid, status: 'running' });
});

describe('a reset run and its children', () => {
  it('gets the outcome of a child that closed after the point', async () => {
    const run = await start('a');
    await worker.turn(child(1, 'a-child'), step(1));
    const childRef = await latestRun('a-child');
    worker.completeStep(await worker.next('step'));
    await turnOf(run);
    await engine.signal(childRef, 'end', []);
    await turnOf(childRef, complete('"from the child"'));
    await turnOf(run, complete());

    const next = await engine.reset(run, { stepName: 'work' });
    const turn = await turnOf(next);
    const outcomes = turn.events.filter(({ type }) => type === 'CHILD_WORKFLOW_EXECUTION_COMPLETED');
    expect(outcomes.map(({ attributes }) => attributes)).toMatchObject([{ result: '"from the child"' }]);
    expect(await projectedChildren(next)).toBe(0);
  });

  it('gets the outcome that the old run has recorded of a child which is gone by now', async () => {
    await reopen({ retentionMs: 50 });
    const run = await start('a');
    await worker.turn(child(1, 'a-child'), step(1));
    const childRef = await latestRun('a-child');
    worker.completeStep(await worker.next('step'));
    await turnOf(run);
    await engine.signal(childRef, 'end', []);
    await turnOf(childRef, complete('"from the child"'));
    await turnOf(run, timer(1, 3_600_000));
    clock.pass(1_000);
    await vi.waitFor(
      () => expect(engine.describe(childRef)).rejects.toMatchObject({ name: 'WorkflowNotFoundError' }),
      10_000,
    );
    const next = await engine.reset(run, { stepName: 'work' });
    const turn = await turnOf(next);
    const outcomes = turn.events.filter(({ type }) => type.startsWith('CHILD_WORKFLOW_EXECUTION_'));
    expect(outcomes.map(({ type }) => type)).toEqual([
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ]);
  });

  it('gets the outcome of a child of which the old run has not heard, having closed first', async () => {
    const run = await start('a');
    await worker.turn(child(1, 'a-child', 'ABANDON'), step(1));
    const childRef = await latestRun('a-child');
    await turnOf(run);
    worker.completeStep(await worker.next('step'));
    await turnOf(run, complete());
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('completed');
    await engine.signal(childRef, 'end', []);
    await turnOf(childRef, complete('"late"'));

    const next = await engine.reset(run, { stepName: 'work' });
    const turn = await turnOf(next);
    const outcomes = turn.events.filter(({ type }) => type === 'CHILD_WORKFLOW_EXECUTION_COMPLETED');
    expect(outcomes.map(({ attributes }) => attributes)).toMatchObject([{ result: '"late"' }]);
  });

  it('ends the children of the part that is cut off, and may start them again under their ids', async () => {
    const run = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await turnOf(run, child(1, 'fixed'), child(2, 'free', 'ABANDON'));
    const cut = await latestRun('fixed');

    const next = await engine.reset(run, { stepName: 'work' });
    expect((await engine.describe(cut)).status).toBe('terminated');
    expect((await engine.describe({ workflowId: 'free' })).status).toBe('running');
    await turnOf(next, child(1, 'fixed'));
    const again = await latestRun('fixed', cut);
    expect((await typesOf(next)).slice(-3)).toEqual([
      'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    // Once: it is an ordinary child now.
    await turnOf(next, { kind: 'cancelExternal', cancelSeq: '1', workflowId: 'fixed', childSeq: '1' });
    await turnOf(again, { kind: 'cancelRun' });
    await turnOf(next, child(3, 'fixed'));
    const refused = await turnOf(next);
    expect(refused.events.map(({ type }) => type)).toContain('START_CHILD_WORKFLOW_EXECUTION_FAILED');
  });

  it('leaves alone whoever had the id that the part which is cut off has asked for', async () => {
    const stranger = await start('taken');
    await turnOf(stranger);
    const run = await start('a');
    await turnOf(run, step(1));
    worker.completeStep(await worker.next('step'));
    await turnOf(run, child(1, 'taken'));
    await turnOf(run);
    const next = await engine.reset(run, { stepName: 'work' });
    await turnOf(next);
    expect((await engine.describe(stranger)).status).toBe('running');
  });

  it('may start them again also when the run of the first reset was reset before it did', async () => {
    const run = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await turnOf(run, step(2));
    worker.completeStep(await worker.next('step'));
    await turnOf(run, child(1, 'fixed'));
    const cut = await latestRun('fixed');

    const second = await engine.reset(run, { stepName: 'work', occurrence: 2 });
    const third = await engine.reset(second, { stepName: 'work', occurrence: 1 });
    await turnOf(third, child(1, 'fixed'));
    await latestRun('fixed', cut);
    expect(await typesOf(third)).not.toContain('START_CHILD_WORKFLOW_EXECUTION_FAILED');
  });

  it('may start them again also in the run that the new one continues as', async () => {
    const run = await start('a');
    await turnOf(run, continueAsNew);
    const second = await latestRun('a', run);
    await turnOf(second, child(1, 'kid'));
    const kid = await latestRun('kid');
    await turnOf(kid, complete());
    expect((await engine.outcome(kid, { waitMs: 5_000 }))?.status).toBe('completed');
    await engine.terminate(second, 'enough');
    const third = await engine.reset(run, { toStart: true });
    await turnOf(third, continueAsNew);
    const fourth = await latestRun('a', third);
    await turnOf(fourth, child(1, 'kid'));
    const { events } = await turnOf(fourth);
    expect(events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_STARTED');
  });

  it('keeps a child that was started before the point, which tells the new run of its end', async () => {
    const run = await start('a');
    await worker.turn(child(1, 'kept'), step(1));
    const kept = await latestRun('kept');
    worker.completeStep(await worker.next('step'));
    await turnOf(run, timer(1, 60_000));
    const next = await engine.reset(run, { stepName: 'work' });
    await turnOf(next);
    expect((await engine.describe(kept)).status).toBe('running');
    expect(await typesOf(kept)).not.toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
    await engine.signal(kept, 'end', []);
    await turnOf(kept, complete());
    const turn = await turnOf(next, complete());
    expect(turn.events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_COMPLETED');
  });
});
