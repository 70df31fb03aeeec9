/**
 * Workers of several versions on one task queue. The cluster gives turns to any of them, so those that cannot make one
 * give it back; however often that takes, no run fails, and every run ends up where its code is.
 *
 * The cluster waits for a turn longer than anything here does: what is given out again was given back.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Ledger } from '../contract/ledger.js';
import { deployment, Stage } from '../contract/stage.js';
import { startConfigured } from '../contract/temporal.js';
import { describeTemporal } from './required.js';

const LONGEST_TURN = { 'history.defaultWorkflowTaskTimeout': '120s' };
const WAIT_MS = 60_000;

describeTemporal('workers of several versions', { timeout: 3 * WAIT_MS }, () => {
  const stage = new Stage(WAIT_MS);
  let ledger: Ledger;
  let guests: (() => Promise<void>)[] = [];

  const join = async (name: Parameters<typeof deployment>[0]) => {
    guests.push(await stage.system.join(deployment(name)));
  };
  /** Fits the code that has made its first turns, and not the second. */
  const startCareless = async () => {
    const run = await stage.start('careless', stage.place());
    await run.until('ACTIVITY_TASK_COMPLETED');
    await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
    return run;
  };
  const OF_THE_FIRST = { version: 'first', way: 'old' };

  beforeAll(async () => {
    ledger = await Ledger.start();
    const options = { directory: deployment('first'), cacheSize: 100 };
    stage.fill(await startConfigured(options, LONGEST_TURN), ledger);
  });
  beforeEach(() => stage.system.redeploy(deployment('first')));
  afterEach(async () => {
    for (const leave of guests) await leave();
    guests = [];
  });
  afterAll(async () => {
    await stage.system.stop();
    await ledger.stop();
  });

  test('give every run to code that fits it, and fail none', async () => {
    const careless = await Promise.all(Array.from({ length: 3 }, startCareless));
    await join('second');
    await join('newcomer');
    // Nobody has them in a cache any more.
    await stage.system.redeploy(deployment('first'));
    await Promise.all(careless.map((run) => run.signal('finish')));
    const unheardOf = await Promise.all(
      Array.from({ length: 3 }, () => stage.start('unheardOf', stage.place())),
    );
    for (const run of careless) expect(await run.result()).toEqual(OF_THE_FIRST);
    for (const run of unheardOf) expect(await run.result()).toBe('once');
    for (const run of careless) {
      expect((await run.describe()).heldBack).toBeUndefined();
      // Of all the times that it came to somebody else, the first of each of its turns alone is recorded.
      const failed = await run.eventsOf('WORKFLOW_TASK_FAILED');
      expect(failed.length).toBeLessThanOrEqual(2);
    }
  });

  test('keep a turn that none of them can make for those who come, and for those who come after them', async () => {
    const [first, next] = [await startCareless(), await startCareless()];
    await stage.system.redeploy(deployment('second'));
    for (const run of [first, next]) {
      await run.signal('finish');
      await run.until('WORKFLOW_TASK_FAILED');
    }
    await join('newcomer');
    await join('first');
    expect(await first.result()).toEqual(OF_THE_FIRST);
    expect(await next.result()).toEqual(OF_THE_FIRST);
  });

  test('give back what they could not make when they leave', async () => {
    const run = await startCareless();
    await stage.system.redeploy(deployment('second'));
    await run.signal('finish');
    await run.until('WORKFLOW_TASK_FAILED');
    await stage.system.redeploy(deployment('first'));
    expect(await run.result()).toEqual(OF_THE_FIRST);
  });
});
