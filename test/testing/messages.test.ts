/** `perdure/testing`: messages to runs. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import { FatalError, ValidationError } from '../../src/sdk/index.js';
import { EnvironmentStage, HOUR } from './environment.fixture.js';
import { fetchPrice, note } from './workflows/stepping/steps.js';
import { cleaning, price, twoNotes } from './workflows/stepping/workflow.js';
import { approval, calledBack } from './workflows/waiting/workflow.js';

const stage = new EnvironmentStage();
const { since } = stage;

describe('messages', () => {
  test('signal, query and update, and time jumps for the handler of an update', async () => {
    const run = await stage.env.start(approval, { name: 'x' });
    expect(await run.query('stage')).toBe('waiting');
    expect(await run.update('rename', 'y')).toBe('x');
    expect(since()).toBe(HOUR);
    await run.signal('approve', { by: 'ada' });
    expect(await run.query('stage')).toBe('approved');
    expect(await run.result()).toEqual({ name: 'y', approvedBy: 'ada' });
    await expect(run.signal('approve', { by: 'bob' })).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
  });

  test('are refused as the API refuses them', async () => {
    const run = await stage.env.start('approval', { name: 'x' });
    await expect(run.signal('approve', { by: 5 })).rejects.toThrow('payload of signal "approve"');
    await expect(run.signal('approof', { by: 'ada' })).rejects.toThrow('has no signal "approof"');
    await expect(run.signal(undefined as never)).rejects.toThrow('undefined is not a name for a signal');
    await expect(run.query('stages')).rejects.toMatchObject({ name: 'HandlerNotFoundError' });
    await expect(run.update('rename', 'x')).rejects.toThrow('that is the name already');
    await expect(run.update('rename', '')).rejects.toBeInstanceOf(ValidationError);
    await expect(run.update('rename', 'nobody')).rejects.toMatchObject({
      name: 'UpdateFailedError',
      message: 'there is no such name',
    });
  });

  test('callbacks reach the address that they are posted to', async () => {
    const run = await stage.env.start(calledBack);
    const input = run.calls('invite')[0]!.input as { one: string; other: string };
    expect(await run.why()).toMatchObject({
      isStuck: true,
      summary: 'It waits for a message; it takes callbacks.',
    });
    await stage.env.callback(input.other, 'second');
    await stage.env.callback(input.other, 'a repeat');
    await stage.env.advance('30 days');
    await stage.env.callback(input.one, 'first');
    expect(await run.result()).toEqual(['first', 'second']);
    expect(await stage.env.replay(await run.history())).toEqual({ ok: true });
    await expect(stage.env.callback('https://elsewhere.test/callback/x', 1)).rejects.toThrow('is no address');
    await expect(stage.env.callback(input.one, 'late')).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
  });

  test('may be sent while somebody waits for the result', async () => {
    const run = await stage.env.start(approval, { name: 'x' });
    const result = run.result();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await run.signal('approve', { by: 'ada' });
    expect(await result).toMatchObject({ approvedBy: 'ada' });
  });

  test('stop runs the cleanup, terminate does not, and a closed run may be stopped', async () => {
    stage.env.mock(note, () => 1);
    const stopped = await stage.env.start(cleaning);
    await stopped.stop();
    await expect(stopped.result()).rejects.toMatchObject({
      name: 'WorkflowFailedError',
      status: 'cancelled',
      cause: { name: 'CancelledError' },
    });
    expect(stopped.calls(note)).toHaveLength(1);
    await stopped.stop();
    const terminated = await stage.env.start(cleaning);
    await terminated.terminate('enough');
    await expect(terminated.result()).rejects.toMatchObject({
      status: 'terminated',
      cause: { message: 'enough' },
    });
    expect(terminated.calls(note)).toEqual([]);
  });

  test('reset goes on after a step, in a run of its own', async () => {
    let count = 0;
    stage.env.mock(note, () => ++count);
    const run = await stage.env.start(twoNotes);
    expect(await run.result()).toEqual([1, 2]);
    const again = await run.reset({ stepName: 'note', occurrence: 1 });
    expect(again.runId).not.toBe(run.runId);
    expect(await again.result()).toEqual([1, 3]);
    expect(stage.env.handle(run.workflowId).runId).toBe(again.runId);
  });

  test('reset to the start begins anew, with the same input', async () => {
    let isAway = true;
    stage.env.mock(fetchPrice, () => {
      if (isAway) throw new FatalError('the shop is closed');
      return { cents: 3 };
    });
    const run = await stage.env.start(price, 'tea');
    await expect(run.result()).rejects.toThrow('the shop is closed');
    isAway = false;
    const again = await run.reset({ toStart: true, reason: 'it has opened' });
    expect(again.runId).not.toBe(run.runId);
    expect(await again.result()).toEqual({ cents: 3 });
    expect(await run.result()).toEqual({ cents: 3 });
    expect(run.calls(fetchPrice).map(({ input }) => input)).toEqual(Array(2).fill({ product: 'tea' }));
    await expect(stage.env.handle(run.workflowId, run.runId).result()).rejects.toThrow('the shop is closed');
  });

  test('reset is refused where it does not say one point', async () => {
    stage.env.mock(note, () => 1);
    const run = await stage.env.start(twoNotes);
    await run.result();
    for (const wrong of [
      {},
      undefined,
      { stepName: 'note', toStart: true },
      { toStart: false },
      { stepName: '' },
    ])
      await expect(run.reset(wrong as never)).rejects.toThrow(/either stepName.*or toStart: true/);
    await expect(run.reset({ toStart: true, occurrence: 1 } as never)).rejects.toThrow(/occurrence/);
    for (const occurrence of [0, 1.5, '1'])
      await expect(run.reset({ stepName: 'note', occurrence } as never)).rejects.toThrow(/occurrence/);
    await expect(run.reset({ stepName: 'note', ocurrence: 1 } as never)).rejects.toThrow(
      /ocurrence.*occurrence/,
    );
    expect(stage.env.handle(run.workflowId).runId).toBe(run.runId);
    expectTypeOf(run.reset).toBeCallableWith({ toStart: true, reason: 'x' });
    expectTypeOf(run.reset).toBeCallableWith({ stepName: 'note', occurrence: 2 });
    // @ts-expect-error: there are two points in it
    expectTypeOf(run.reset).toBeCallableWith({ toStart: true, stepName: 'note' });
    // @ts-expect-error: the start is there once
    expectTypeOf(run.reset).toBeCallableWith({ toStart: true, occurrence: 1 });
  });
});
