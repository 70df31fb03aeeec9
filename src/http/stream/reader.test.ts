/** A reader that is slower than its run: it gets every event once and in order, whatever the others had meanwhile. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type CostRecord, costOf } from '../../core/cost/cost.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { Engine, HistoryOptions, HistoryPage } from '../../engine.js';
import { CostFeed, CostLooks } from './costs.js';
import { Reader } from './reader.js';
import { Tails } from './tail.js';

const RUN = { workflowId: 'w', runId: 'r' };
const FORM = { includePayloads: false, hasRunInIds: false };

/** A run that grows when the test says so. */
class GrowingRun {
  readonly events: HistoryEvent[] = [];
  /** How often somebody has asked for what comes next, and for what is there. */
  waits = 0;
  reads = 0;
  #hasEnded = false;
  #failure: Error | undefined;
  readonly #grown = new EventEmitter().setMaxListeners(0);

  grow(count: number): void {
    for (let i = 0; i < count; i++) {
      const id = this.events.length + 1;
      const attributes = { signalName: `s${id}`, input: [] };
      this.events.push({ id, at: id, type: 'WORKFLOW_EXECUTION_SIGNALED', attributes });
    }
    this.#grown.emit('grown');
  }

  end(): void {
    this.#hasEnded = true;
    const id = this.events.length + 1;
    this.events.push({ id, at: id, type: 'WORKFLOW_EXECUTION_COMPLETED', attributes: {} });
    this.#grown.emit('grown');
  }

  /** Whoever has waited for more has waited long enough, and is told that there is none yet. */
  lapse(): void {
    this.#grown.emit('grown', true);
  }

  /** From now on nothing of it can be read. */
  fail(error: Error): void {
    this.#failure = error;
    this.#grown.emit('grown');
  }

  readonly engine = {
    history: async (_run: unknown, options: HistoryOptions): Promise<HistoryPage> => {
      const { afterEventId, limit, waitMs = 0, abort } = options;
      if (waitMs > 0) this.waits++;
      else this.reads++;
      while (this.events.length <= afterEventId && waitMs > 0 && !abort?.aborted) {
        const isLapsed = await new Promise<boolean>((resolve) => {
          this.#grown.once('grown', (lapses = false) => resolve(lapses));
          abort?.addEventListener('abort', () => resolve(false));
        });
        if (this.#failure) throw this.#failure;
        if (isLapsed) break;
      }
      const events = this.events.slice(afterEventId, afterEventId + limit);
      return { runId: 'r', events, ended: this.#hasEnded && events.at(-1) === this.events.at(-1) };
    },
  } as Partial<Engine> as Engine;
}

/** What a reader has got; it takes nothing more while it is full. */
class Socket extends EventEmitter {
  text = '';
  isFull = false;
  /** Whether the end gets through. */
  takesEnd = true;
  destroyed = false;

  write(bytes: Buffer | string): boolean {
    this.text += bytes.toString();
    return !this.isFull;
  }
  end(bytes: Buffer | string): void {
    this.write(bytes);
    if (this.takesEnd) this.close();
  }
  destroy(): void {
    this.close();
  }
  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
  /** It takes what it had, and with `isFull` one more frame. */
  drain(isFull = false): void {
    this.isFull = isFull;
    this.emit('drain');
  }
  /** How many records each frame of costs has. */
  get costs(): number[] {
    return [...this.text.matchAll(/event: cost\ndata: (.*)\n/g)].map(
      ([, data]) => (JSON.parse(data!) as { records: unknown[] }).records.length,
    );
  }
  get eventIds(): number[] {
    return [...this.text.matchAll(/"eventId":"(\d+)"/g)].map(([, id]) => Number(id));
  }
}

function follow(run: GrowingRun, tails: Tails, withCosts = false, stallMs = 60_000) {
  const socket = new Socket();
  const tail = tails.of(RUN, { historyLength: run.events.length, isOpen: true });
  let isOver = false;
  const reader = new Reader({
    ...{ cursor: 0, form: FORM, tail },
    ...(withCosts && { costs: new CostFeed(new CostLooks(run.engine), RUN) }),
    response: socket as unknown as ServerResponse,
    ...{ keepaliveMs: 60_000, stallMs },
    describeError: (error) => `failed: ${(error as Error).message}`,
    onEnd: () => {
      isOver = true;
    },
  });
  reader.start('');
  socket.isFull = withCosts;
  return { socket, isOver: () => isOver };
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${what} has not come`);
    await new Promise(setImmediate);
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a reader that has much to catch up with', () => {
  it('lets others have their turn in between', async () => {
    const run = new GrowingRun();
    run.grow(5_000);
    const reader = follow(run, new Tails(run.engine));
    const gotInBetween: number[] = [];
    await until(
      () => gotInBetween.push(reader.socket.eventIds.length) > 0 && gotInBetween.at(-1) === 5_000,
      'all',
    );
    reader.socket.close();
    // 256 events are read at a time.
    expect(new Set(gotInBetween).size).toBeGreaterThan(5_000 / 256);
    expect(reader.socket.eventIds).toEqual(upTo(5_000));
  });
});

describe('readers that have all there is', () => {
  it('are told when no more of it can be read', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const tails = new Tails(run.engine);
    const readers = [follow(run, tails), follow(run, tails)];
    await until(() => readers.every(({ socket }) => socket.eventIds.length === 1), 'the first');
    run.fail(new Error('the disk is gone'));
    await until(() => readers.every(({ isOver }) => isOver()), 'the end');
    for (const { socket } of readers) expect(socket.text).toContain('failed: the disk is gone');
    expect(tails.size).toBe(0);
  });

  it('go on when nothing has come for as long as the engine waits', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const { socket, isOver } = follow(run, new Tails(run.engine));
    await until(() => socket.eventIds.length === 1, 'the first');
    const { waits } = run;
    run.lapse();
    await until(() => isOver() || run.waits > waits, 'the next wait');
    run.grow(1);
    await until(() => isOver() || socket.eventIds.length === 2, 'the second');
    expect([isOver(), socket.eventIds]).toEqual([false, [1, 2]]);
    socket.close();
  });

  it('go on when another one leaves', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const tails = new Tails(run.engine);
    const [leaving, staying] = [follow(run, tails), follow(run, tails)];
    await until(() => [leaving, staying].every(({ socket }) => socket.eventIds.length === 1), 'the first');
    leaving.socket.close();
    expect(tails.size).toBe(1);
    run.grow(1);
    await until(() => staying.socket.eventIds.length === 2, 'the second');
    staying.socket.close();
    expect(tails.size).toBe(0);
  });

  it('leave nothing of it in memory', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const tails = new Tails(run.engine);
    const readers = [follow(run, tails), follow(run, tails)];
    await until(() => readers.every(({ socket }) => socket.eventIds.length === 1), 'the first');
    run.grow(3);
    await until(() => readers.every(({ socket }) => socket.eventIds.length === 4), 'all');
    await new Promise(setImmediate);
    expect(tails.of(RUN, { historyLength: 4, isOpen: true }).latest).toBeUndefined();
    for (const { socket } of readers) socket.close();
  });
});

describe('a crowd that has fallen behind', () => {
  /** One batch is on its way to them, and two more come, which one that is faster gets. */
  async function crowdBehind(run: GrowingRun, tails: Tails, size: number) {
    run.grow(1);
    const fast = follow(run, tails);
    const crowd = Array.from({ length: size }, () => follow(run, tails));
    const all = [fast, ...crowd];
    await until(() => all.every(({ socket }) => socket.eventIds.length === 1), 'the first');
    for (const { socket } of crowd) socket.isFull = true;
    for (const total of [3, 5, 7]) {
      run.grow(2);
      await until(() => fast.socket.eventIds.length === total, 'the batch');
    }
    run.reads = 0;
    return all.map(({ socket }) => socket);
  }

  it('has what it lacks read once, of which nothing is kept', async () => {
    const run = new GrowingRun();
    const tails = new Tails(run.engine);
    const sockets = await crowdBehind(run, tails, 50);
    for (const socket of sockets) socket.drain();
    await until(() => sockets.every(({ eventIds }) => eventIds.length === 7), 'all');
    for (const { eventIds } of sockets) expect(eventIds).toEqual(upTo(7));
    expect(run.reads).toBe(1);
    await new Promise(setImmediate);
    expect(tails.of(RUN, { historyLength: 7, isOpen: true }).past.isKept).toBe(false);
    for (const socket of sockets) socket.close();
  });

  it('has it kept for none who does not take it', async () => {
    const run = new GrowingRun();
    const tails = new Tails(run.engine);
    const sockets = await crowdBehind(run, tails, 10);
    run.grow(10_000);
    for (const socket of sockets) socket.drain(true);
    await until(() => run.reads > 0, 'the read');
    for (let round = 0; round < 20; round++) await new Promise(setImmediate);
    expect(tails.of(RUN, { historyLength: 10_007, isOpen: true }).past.isKept).toBe(false);
    for (const socket of sockets) socket.close();
  });

  it('is told when it cannot be read', async () => {
    const run = new GrowingRun();
    const tails = new Tails(run.engine);
    const sockets = await crowdBehind(run, tails, 10);
    run.engine.history = () => Promise.reject(new Error('the disk is gone'));
    for (const socket of sockets) socket.drain();
    await until(() => sockets.slice(1).every(({ destroyed }) => destroyed), 'the end');
    for (const { text } of sockets.slice(1)) expect(text).toContain('failed: the disk is gone');
    sockets[0]!.close();
  });

  it('lets others be heard while it is read to', async () => {
    const run = new GrowingRun();
    const sockets = await crowdBehind(run, new Tails(run.engine), 100);
    let written = 0;
    for (const socket of sockets) {
      const write = socket.write.bind(socket);
      socket.write = (bytes) => {
        for (const end = performance.now() + 1; performance.now() < end; );
        written++;
        return write(bytes);
      };
    }
    for (const socket of sockets) socket.drain();
    let most = 0;
    while (!sockets.every(({ eventIds }) => eventIds.length === 7)) {
      const before = written;
      await new Promise(setImmediate);
      most = Math.max(most, written - before);
    }
    expect(most).toBeLessThan(30);
    for (const socket of sockets) socket.close();
  });
});

describe('a reader that takes nothing for a while', () => {
  it.each([1, 2, 5])('misses none of %d batches that a faster one gets meanwhile', async (batches) => {
    const run = new GrowingRun();
    run.grow(3);
    const tails = new Tails(run.engine);
    const [slow, fast] = [follow(run, tails), follow(run, tails)];
    await until(() => slow.socket.eventIds.length === 3 && fast.socket.eventIds.length === 3, 'the first');
    slow.socket.isFull = true;
    let total = 3;
    for (let batch = 0; batch < batches; batch++) {
      run.grow(4);
      total += 4;
      await until(() => fast.socket.eventIds.length === total, 'the batch');
    }
    expect(slow.socket.eventIds.length).toBeLessThanOrEqual(3 + 4);
    slow.socket.drain();
    await until(() => slow.socket.eventIds.length >= total, 'all that the slow one lacks');
    expect(slow.socket.eventIds).toEqual(upTo(total));
    expect(fast.socket.eventIds).toEqual(upTo(total));
    run.grow(1);
    await until(() => slow.socket.eventIds.length === total + 1, 'what comes later');
    slow.socket.close();
    fast.socket.close();
    expect([slow.isOver(), fast.isOver(), tails.size]).toEqual([true, true, 0]);
  });

  it('is not left when it takes again in time, and is when it does not', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const tails = new Tails(run.engine);
    const [patient, stalled] = [follow(run, tails, false, 100), follow(run, tails, false, 100)];
    await until(() => [patient, stalled].every(({ socket }) => socket.eventIds.length === 1), 'the first');
    for (const { socket } of [patient, stalled]) socket.isFull = true;
    run.grow(1);
    await until(() => [patient, stalled].every(({ socket }) => socket.eventIds.length === 2), 'the second');
    patient.socket.drain();
    await until(stalled.isOver, 'the end of the one');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(patient.isOver()).toBe(false);
    patient.socket.close();
  });

  it('is left also when it takes everything but the end', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const { socket, isOver } = follow(run, new Tails(run.engine), false, 20);
    await until(() => socket.eventIds.length === 1, 'the first');
    socket.takesEnd = false;
    run.end();
    await until(isOver, 'the end');
    expect(socket.text).toContain('event: done');
  });

  it('has one frame of what the run spends on its way, and gets all before the end', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const place = { at: 1, stepName: 's', activityId: '1', attempt: 1 };
    const records = Array.from({ length: 1_700 }, () => ({ ...costOf({ amount: 1 }), ...place }));
    run.engine.cost = async (_run, _scope, take) => {
      take({ ...RUN, workflowType: 't', records });
      return { ...RUN, budget: null };
    };
    const { socket, isOver } = follow(run, new Tails(run.engine), true);
    await until(() => socket.eventIds.length === 1, 'the event');
    socket.drain(true);
    await until(() => socket.costs.length > 0, 'the first frame');
    socket.drain(true);
    await until(() => socket.costs.length > 1, 'the second frame');
    await new Promise(setImmediate);
    expect(socket.costs).toEqual([500, 500]);
    socket.drain(true);
    await until(() => socket.costs.length > 2, 'the third frame');
    run.end();
    socket.drain(true);
    await until(() => socket.eventIds.length === 2, 'the last event');
    await new Promise(setImmediate);
    expect(socket.costs).toEqual([500, 500, 500]);
    expect(socket.text).not.toContain('event: done');
    socket.drain();
    await until(isOver, 'the end');
    expect(socket.costs).toEqual([500, 500, 500, 200]);
    expect(socket.text.indexOf('event: done')).toBeGreaterThan(socket.text.lastIndexOf('event: cost'));
  });

  it('lets others be heard while a crowd is told what the run spends, however fast it takes that', async () => {
    const run = new GrowingRun();
    const place = { at: 1, stepName: 's', activityId: '1', attempt: 1 };
    const records = Array.from({ length: 2_000 }, () => ({ ...costOf({ amount: 1 }), ...place }));
    run.engine.cost = async (_run, _scope, take) => {
      take({ ...RUN, workflowType: 't', records });
      return { ...RUN, budget: null };
    };
    const tails = new Tails(run.engine);
    let written = 0;
    const crowd = Array.from({ length: 20 }, () => {
      const { socket } = follow(run, tails, true);
      const write = socket.write.bind(socket);
      socket.write = (bytes) => {
        written++;
        process.nextTick(() => socket.drain(true));
        return write(bytes);
      };
      return socket;
    });
    let most = 0;
    for (let before = written; crowd.some(({ costs }) => costs.length < 4); before = written) {
      await new Promise(setImmediate);
      most = Math.max(most, written - before);
    }
    // Each has one frame in a turn, and one turn in a round.
    expect(most).toBeLessThanOrEqual(crowd.length);
    for (const socket of crowd) socket.close();
  });

  it('gets what the run has spent last before the end of it, also when nobody has looked since', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const records: CostRecord[] = [];
    run.engine.cost = async (_run, _scope, take) => {
      take({ ...RUN, workflowType: 't', records: [...records] });
      return { ...RUN, budget: null };
    };
    const { socket, isOver } = follow(run, new Tails(run.engine), true);
    socket.drain();
    await until(() => socket.eventIds.length === 1 && socket.costs.length === 1, 'the first look');
    records.push({ ...costOf({ amount: 1 }), at: 1, stepName: 's', activityId: '1', attempt: 1 });
    run.end();
    await until(isOver, 'the end');
    expect(socket.costs).toEqual([0, 1]);
    expect(socket.text.indexOf('event: done')).toBeGreaterThan(socket.text.lastIndexOf('event: cost'));
  });

  it('lets others be heard while a crowd is written to', async () => {
    const run = new GrowingRun();
    run.grow(1);
    const tail = new Tails(run.engine).of(RUN, { historyLength: 1, isOpen: true });
    let woken = 0;
    const crowd = Array.from({ length: 100 }, () => ({
      cursor: 0,
      wake() {
        for (const end = performance.now() + 1; performance.now() < end; );
        woken++;
      },
    }));
    for (const follower of crowd) tail.join(follower);
    run.grow(1);
    const wokenInBetween: number[] = [];
    while (woken < crowd.length) {
      await new Promise((resolve) => setImmediate(resolve));
      wokenInBetween.push(woken);
    }
    expect(wokenInBetween.some((count) => count > 0 && count < crowd.length)).toBe(true);
    for (const follower of crowd) tail.leave(follower);
  });
});
