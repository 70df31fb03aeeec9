/** The key that callbacks are signed with, and which run takes what comes for one. */
import { describe, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import { Folder, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

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
