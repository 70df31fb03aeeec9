import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Abort } from '../../core/abort.js';
import { Waits } from './waits.js';

const callerOf = (destroyed = false) =>
  Object.assign(new EventEmitter(), { destroyed }) as unknown as ServerResponse;
/** What has come of `promise` when all that is ready has happened. */
const soon = <T>(promise: Promise<T>) => Promise.race([promise, nextRound('waits on')]);
const never = new Promise<string>(() => {});

/** Waits until it is aborted, and says how long it was told to wait. */
const patient = (waitMs: number, abort?: Abort) =>
  waitMs === 0
    ? Promise.resolve('did not wait')
    : new Promise<string>((resolve) => abort!.addEventListener('abort', () => resolve(`left ${waitMs}`)));

describe('who waits for a run', () => {
  it('waits no longer than its caller is there', async () => {
    const waits = new Waits(1);
    const caller = callerOf();
    const waiting = waits.hold(caller, 50, patient);
    expect(await soon(waiting)).toBe('waits on');
    caller.emit('close');
    expect(await soon(waiting)).toBe('left 50');
    expect(caller.listenerCount('close')).toBe(0);
    expect(await soon(waits.hold(callerOf(true), 50, patient))).toBe('did not wait');
  });

  it('waits no longer than the server serves, whether it came before the drain or after it', async () => {
    const waits = new Waits(1);
    const before = waits.hold(callerOf(), 50, patient);
    waits.drain();
    expect(await soon(before)).toBe('left 50');
    expect(await soon(waits.hold(callerOf(), 50, patient))).toBe('did not wait');
  });

  it('for the answer of a handler waits no longer either, and has it when it is there', async () => {
    const waits = new Waits(1);
    const before = waits.untilDrained(never);
    expect(await soon(waits.untilDrained(Promise.resolve('answer')))).toEqual({ value: 'answer' });
    expect(await soon(before)).toBe('waits on');
    waits.drain();
    expect(await soon(before)).toBeUndefined();
    expect(await soon(waits.untilDrained(never))).toBeUndefined();
  });
});
