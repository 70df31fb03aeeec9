/**
 * Workers of several versions on one task queue. The cluster gives turns to any of them, so those that cannot make one
 * have it given to somebody else; however often that takes, no run fails, and every run ends up where its code is.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Ledger } from '../contract/ledger.js';
import { deployment, Stage } from '../contract/stage.js';
import { startTemporal } from '../contract/temporal.js';
import { describeTemporal } from './required.js';

/** A turn that has come to the wrong worker for the second time waits for ten seconds, and one in two does. */
const PATIENT_MS = 240_000;

describeTemporal('workers of several versions', { timeout: PATIENT_MS + 60_000 }, () => {
  const stage = new Stage(PATIENT_MS);
  let ledger: Ledger;

  beforeAll(async () => {
    ledger = await Ledger.start();
    const system = await startTemporal({ directory: deployment('first'), cacheSize: 100 });
    stage.fill(system, ledger);
  });
  afterAll(async () => {
    await stage.system.stop();
    await ledger.stop();
  });

  test('give every run to code that fits it, and fail none', async () => {
    const place = stage.place();
    const careless = await stage.start('careless', place);
    await careless.until('ACTIVITY_TASK_COMPLETED');
    await careless.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
    const leave = [
      await stage.system.join(deployment('second')),
      await stage.system.join(deployment('newcomer')),
    ];
    // Nobody has it in a cache any more.
    await stage.system.redeploy(deployment('first'));
    await careless.signal('finish');
    const unheardOf = await stage.start('unheardOf', stage.place());
    expect(await careless.result()).toEqual({ version: 'first', way: 'old' });
    expect(await unheardOf.result()).toBe('once');
    expect((await careless.describe()).heldBack).toBeUndefined();
    for (const end of leave) await end();
  });
});
