/** Runs that are paused while nobody takes the message: it is told, kept and ended as if somebody did. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunRef } from '../../src/engine.js';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

const FILES = {
  'pausing/workflow.ts': `
    import { condition, defineSignal, setHandler, workflow } from 'perdure';
    import { count, wait } from './steps.js';
    export const busy = workflow({
      name: 'busy',
      fn: async () => {
        let sum = 0;
        for (let i = 0; i < 1e9; i++) sum += i % 7;
        return count(sum);
      },
    });
    export const waits = workflow({ name: 'waits', fn: async () => wait(null) });
    export const counts = workflow({ name: 'counts', fn: async () => count(null) });
    export const collects = workflow({
      name: 'collects',
      fn: async () => {
        let added = 0;
        setHandler(defineSignal('add'), () => void added++);
        await condition(() => added >= 60);
        return added;
      },
    });`,
  'pausing/steps.ts': `
    import { step, stepContext } from 'perdure';
    let counted = 0;
    export const count = step({ name: 'count', fn: async () => ++counted });
    export const wait = step({
      name: 'wait',
      options: { heartbeatTimeout: '2s', retry: { maximumAttempts: 1 } },
      fn: () => new Promise((_, reject) => stepContext().signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });`,
};

describeTemporal('a run that is paused while nobody takes the message', { timeout: 120_000 }, () => {
  let deployed: Deployed;
  beforeAll(async () => {
    // One slot, so that a step can be made to wait.
    deployed = await Deployed.start({ files: FILES, workers: { slots: { steps: 1 } } });
  });
  afterAll(() => deployed?.stop(), 60_000);

  const codes = async (run: RunRef) => (await deployed.engine.why(run)).reasons.map(({ code }) => code);
  const until = (run: RunRef, expected: string[]) =>
    expect.poll(() => codes(run), { timeout: 30_000, interval: 100 }).toEqual(expected);

  it('since no worker is there begins no step that waited for one, and is paused and resumed however many messages come', async () => {
    const { engine } = deployed;
    const holds = await deployed.start('waits');
    await until(holds, ['stepRunning']);
    const queued = await deployed.start('counts');
    await until(queued, ['stepQueued']);
    const messaged = await deployed.start('collects');
    await until(messaged, ['message']);
    await deployed.workers.stop(0);

    await engine.pause(queued, { reason: 'nobody is there', by: 'operator' });
    await engine.pause(messaged, { reason: 'nobody is there', by: 'operator' });
    for (let sent = 0; sent < 60; sent++) {
      await engine.signal(messaged, 'add', [], {});
      // Also by a server that has read it before, as far as it was.
      if (sent % 20 === 0) expect((await engine.describe(messaged)).paused).toBeDefined();
    }
    const paused = { reason: 'nobody is there', by: 'operator' };
    expect(await engine.describe(messaged)).toMatchObject({ paused });
    expect(await (await deployed.open()).describe(messaged)).toMatchObject({ paused });
    await engine.resume(messaged);
    expect((await engine.describe(messaged)).paused).toBeUndefined();

    await deployed.startWorkers();
    expect(JSON.parse((await deployed.outcome(messaged)).output!)).toBe(60);
    await until(queued, ['paused', 'stepQueued']);
    // The one that comes later goes first, since the cluster gives out steps in their order.
    const later = await deployed.start('counts');
    expect(JSON.parse((await deployed.outcome(later)).output!)).toBe(1);
    await engine.resume(queued);
    expect(JSON.parse((await deployed.outcome(queued)).output!)).toBe(2);
  });

  it('during a turn that takes long goes on when it is resumed', async () => {
    const { engine } = deployed;
    const resumed = await deployed.start('busy');
    await until(resumed, ['turnRunning']);
    await engine.pause(resumed, { by: 'operator' });
    await engine.resume(resumed);
    expect(await deployed.outcome(resumed)).toMatchObject({ status: 'completed' });
  });
});
