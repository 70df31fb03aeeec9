/** What a run hands on to the one that follows it. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { complete, HandClock, ScriptedWorker, workflow } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

const retry = {
  initialIntervalMs: 1_000,
  backoffCoefficient: 1,
  maximumIntervalMs: 1_000,
  maximumAttempts: 2,
  nonRetryableErrorTypes: [],
};
const fail: Command = { kind: 'failRun', failure: { kind: 'application', type: 'Error', message: 'no' } };
const goOn: Command = { kind: 'continueAsNew', workflowType: 'flow', input: [] };

describe('a chain', () => {
  it('comes to what the last of its attempts came to', async () => {
    const clock = new HandClock();
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    const first = await start(engine, 'a');
    await worker.turn(fail);
    await engine.recordTrace(first, {});
    clock.pass(1_000);
    await worker.turn(complete('"in the end"'));
    for (const waitMs of [5_000, 0]) {
      const outcome = await engine.outcome(first, { waitMs, followChain: true });
      expect(outcome).toMatchObject({ status: 'completed', output: '"in the end"' });
    }
    expect(await engine.outcome(first)).toMatchObject({ status: 'failed' });
  });

  it('is retried by the policy that it was started with, whatever code goes on with it', async () => {
    const clock = new HandClock();
    const engine = folder.open({ clock });
    const old = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    await start(engine, 'a');
    await old.turn(goOn);
    await old.next('turn');
    const young = new ScriptedWorker(engine, { codeId: 'v2' });
    old.say({ kind: 'draining' });
    old.lose();
    await young.turn(goOn);
    await young.turn(fail);
    await engine.recordTrace(await engine.describe({ workflowId: 'a' }), {});
    clock.pass(1_000);
    await young.turn(complete());
    expect(await engine.outcome({ workflowId: 'a' }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
    });
  });
});
