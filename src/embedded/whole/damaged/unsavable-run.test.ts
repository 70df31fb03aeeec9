/** A run that cannot be saved is set apart, and costs no other its commit. */
import { describe, expect, it } from 'vitest';
import { CATALOG, HandClock, ScriptedWorker, timer } from '../../scripted-worker.fixture.js';
import { engine, killed, logs, reopen, start } from './damaged-folder.fixture.js';

describe('a run that cannot be saved', () => {
  it('is set apart, and what shared its commit is saved', async () => {
    const clock = new HandClock();
    const { log, lines } = logs();
    await reopen({ clock, log });
    const worker = new ScriptedWorker(engine);
    const sound = await start('sound');
    const task = await worker.next('turn');
    // A time that the column cannot hold: this run is to blame, whatever the disk does.
    clock.ms += 0.5;
    const refused = start('broken');
    const keyed = engine.start({
      ...{ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'keyed' },
      idempotency: { key: 'k', fingerprint: 'f' },
    });
    clock.ms += 0.5;
    const signalled = engine.signal(sound, 'a', []);
    const other = start('other');
    await expect(refused).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await expect(keyed).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await signalled;
    await other;
    worker.completeTurn(task, [timer(1, 60_000)]);
    await engine.ready();
    expect(lines.map(([level]) => level).filter((level) => level !== 'info')).toEqual(['error', 'error']);

    const again = killed().open({ clock });
    expect((await again.list({}, { limit: 10 })).runs.map(({ workflowId }) => workflowId)).toEqual([
      'other',
      'sound',
    ]);
    const next = new ScriptedWorker(again);
    const turn = await next.next('turn');
    expect(turn.events.map((event) => event.type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
  });

  it('does not come back to life when it was saved before', async () => {
    const clock = new HandClock();
    await reopen({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start('once');
    // Who waits is told at once.
    const waiting = engine.outcome(run, { waitMs: 600_000 });
    clock.ms += 0.5;
    await worker.turn(timer(1, 60_000.25));
    await expect(waiting).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await expect(engine.signal(run, 'a', [])).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await start('twice').catch(() => {});
    clock.ms += 0.5;
    expect(await start('more')).toBeDefined();
  });
});
