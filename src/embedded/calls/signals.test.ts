/** Signals that are not declared, and those that are sent again. */
import { describe, expect, it } from 'vitest';
import { CALLBACK_SIGNAL, FEEDBACK_SIGNAL } from '../../core/run/callback.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { ScriptedWorker, step, workflow } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

describe('a signal that the definition does not declare', () => {
  it('is refused, unless it is one of the service itself', async () => {
    const engine = folder.open();
    new ScriptedWorker(engine, { workflows: [{ ...workflow('flow'), declaresSignals: true }] });
    const run = await start(engine, 'a');
    await expect(engine.signal(run, 'unknown', [])).rejects.toThrow('has no signal "unknown"');
    for (const name of [CALLBACK_SIGNAL, FEEDBACK_SIGNAL]) await engine.signal(run, name, []);
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
