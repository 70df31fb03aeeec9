/** Trees of children: how large one may become. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { silentLog } from '../../core/log.js';
import type { TurnTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  timer,
  workflow,
} from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
const limits = { openDescendants: 6, childDepth: 2 };
beforeEach(() => {
  folder = new Folder();
  engine = folder.open({ limits });
  worker = new ScriptedWorker(engine);
});
afterEach(() => folder.remove());

const start = (workflowId: string): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

const children = (of: string, count: number): Command[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'startChild',
    childSeq: String(index + 1),
    workflowId: `${of}/${index}`,
    workflowType: 'flow',
    input: [],
    parentClosePolicy: 'REQUEST_CANCEL',
  }));

/** Answers turns until the run has had its own. */
async function turnOf(workflowId: string, ...commands: Command[]): Promise<TurnTask> {
  for (;;) {
    const task = await worker.next('turn');
    worker.completeTurn(task, task.workflowId === workflowId ? commands : []);
    if (task.workflowId === workflowId) return task;
  }
}

describe('a child', () => {
  it('of another catalog is given to the workers of that one', async () => {
    const others = new ScriptedWorker(engine, { catalog: 'other' });
    await start('root');
    await turnOf('root', { ...children('root', 1)[0]!, catalog: 'other' } as Command);
    expect(await others.turn(complete())).toMatchObject({ workflowId: 'root/0', catalog: 'other' });
  });

  it('is nested no deeper than it may be', async () => {
    const root = await start('root');
    await turnOf('root', ...children('root', 1));
    await turnOf('root/0', ...children('root/0', 1));
    await turnOf('root/0/0', ...children('root/0/0', 1));
    await engine.recordTrace(root, {});
    const outcome = await engine.outcome({ workflowId: 'root/0/0' }, { waitMs: 5_000 });
    expect(outcome?.failure).toMatchObject({ message: expect.stringContaining('deeper than 2 levels') });
  });

  it('that ends, is reset and ends again during one turn of its parent has ended once for that', async () => {
    const root = await start('root');
    await turnOf('root', ...children('root', 1));
    const first = await worker.next('turn');
    await turnOf('root');
    await engine.signal(root, 'go', []);
    const underWay = await worker.next('turn');
    expect(underWay.workflowId).toBe('root');
    worker.completeTurn(first, [complete('"first"')]);
    await engine.outcome({ workflowId: 'root/0' }, { waitMs: 5_000 });
    await engine.reset({ workflowId: 'root/0' }, { toStart: true });
    await turnOf('root/0', complete('"second"'));
    await engine.outcome({ workflowId: 'root/0' }, { waitMs: 5_000 });
    worker.completeTurn(underWay);
    const { events } = await worker.turn(complete());
    const ends = events.filter(({ type }) => type === 'CHILD_WORKFLOW_EXECUTION_COMPLETED');
    expect(ends.map(({ attributes }) => attributes)).toMatchObject([{ result: '"first"' }]);
  });

  it('that has continued as new is awaited on after a start of the server', async () => {
    const root = await start('root');
    await turnOf('root', ...children('root', 1));
    await turnOf('root/0', { kind: 'continueAsNew', workflowType: 'flow', input: [] });
    await turnOf('root/0');
    await engine.signal(root, 'go', []);
    await engine.close();
    engine = folder.open({ limits });
    worker = new ScriptedWorker(engine);
    await turnOf('root');
    await engine.signal({ workflowId: 'root/0' }, 'end', []);
    await turnOf('root/0', complete());
    const { events } = await turnOf('root', complete());
    expect(events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_COMPLETED');
  });

  it('that has timed out is told as that', async () => {
    await engine.close();
    const clock = new HandClock();
    engine = folder.open({ limits, clock });
    const workflows = [workflow('flow'), workflow('short', { executionTimeoutMs: 1_000 })];
    worker = new ScriptedWorker(engine, { workflows });
    await start('root');
    await turnOf('root', { ...children('root', 1)[0]!, workflowType: 'short' } as Command);
    await turnOf('root');
    engine.flush();
    clock.pass(1_000);
    const { events } = await turnOf('root', complete());
    expect(events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_TIMED_OUT');
  });

  it('that is asked to stop while its turn waits comes before the others of its tree', async () => {
    worker.lose();
    worker = new ScriptedWorker(engine, { turns: 1 });
    await start('root');
    await turnOf('root', ...children('root', 4));
    const underWay = await worker.next('turn');
    await engine.cancel({ workflowId: 'root/3' });
    worker.completeTurn(underWay);
    const next = await worker.next('turn');
    expect(next.workflowId).toBe('root/3');
    worker.completeTurn(next, [{ kind: 'cancelRun' }]);
    expect((await engine.outcome({ workflowId: 'root/3' }, { waitMs: 5_000 }))?.status).toBe('cancelled');
  });
});

describe('a tree whose root is terminated', () => {
  it('is stopped before it goes on growing', async () => {
    worker.lose();
    engine = await reopened({ openDescendants: 1_000 });
    worker = new ScriptedWorker(engine, { turns: 1 });
    const root = await start('root');
    await turnOf('root', ...children('root', 2));
    await turnOf('root/0', timer(1, 3_600_000));
    await turnOf('root', timer(1, 3_600_000));
    await turnOf('root/1', ...children('root/1', 20));
    // All that is left are the first turns of grandchildren, and that of their parent.
    const underWay = await worker.next('turn');
    await engine.terminate(root, 'enough');
    worker.completeTurn(underWay);
    const order: string[] = [];
    for (let count = 0; count < 2; count++) {
      const task = await worker.next('turn');
      order.push(task.workflowId);
      worker.completeTurn(task, [{ kind: 'cancelRun' }]);
    }
    expect(order.sort()).toEqual(['root/0', 'root/1']);
    for (let count = 0; count < 19; count++) {
      const task = await worker.next('turn');
      expect(task.events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
      worker.completeTurn(task, [{ kind: 'cancelRun' }]);
    }
  });
});

async function reopened(limits: { openDescendants: number }): Promise<EmbeddedEngine> {
  await engine.close();
  return folder.open({ limits });
}

describe('a child that was reset', () => {
  it('counts as one of the open descendants', async () => {
    await start('root');
    await turnOf('root', ...children('root', 6));
    await turnOf('root/0');
    await engine.reset({ workflowId: 'root/0' }, { toStart: true });
    await engine.signal({ workflowId: 'root' }, 'go', []);
    await turnOf('root', { ...children('more', 1)[0]!, childSeq: '7' } as Command);
    const failed = await engine.outcome({ workflowId: 'root' }, { waitMs: 5_000 });
    expect(failed).toMatchObject({ status: 'failed', failure: { type: 'LimitExceededError' } });
  });
});

describe('the starts of descendants of one workflow', () => {
  it('are bounded within a minute, however soon each of them ends', async () => {
    worker.lose();
    await engine.close();
    const clock = { ms: 0, now: () => Date.now(), monotonicMs: () => clock.ms };
    engine = folder.open({ clock, limits: { childStartsPerMinute: 3 } });
    worker = new ScriptedWorker(engine);
    await start('root');
    await turnOf('root', ...children('root', 2));
    await turnOf('root/0', complete());
    await turnOf('root/1', ...children('root/1', 1));
    await turnOf('root/1/0', complete());
    clock.ms += 59_999;
    await engine.signal({ workflowId: 'root/1' }, 'go', []);
    await turnOf('root/1', { ...children('root/1', 1)[0]!, childSeq: '2' } as Command);
    const failed = await engine.outcome({ workflowId: 'root/1' }, { waitMs: 5_000 });
    expect(failed).toMatchObject({ status: 'failed', failure: { type: 'LimitExceededError' } });
    expect(failed!.failure!.message).toContain('have started 4 descendants within a minute; the limit is 3');
    clock.ms += 1;
    await engine.signal({ workflowId: 'root' }, 'go', []);
    await turnOf('root', { ...children('again', 1)[0]!, childSeq: '3' } as Command);
    await turnOf('again/0', complete());
    expect((await engine.describe({ workflowId: 'root' })).status).toBe('running');
  });
});

describe('a chain', () => {
  const again: Command = { kind: 'continueAsNew', workflowType: 'flow', input: [] };

  it('that goes on without end is slowed down, and others are not', async () => {
    worker.lose();
    await engine.close();
    const clock = { ms: 0, now: () => 1_000_000 + clock.ms, monotonicMs: () => clock.ms };
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
    engine = folder.open({ clock, log, limits: { continuationsPerMinute: 2 } });
    worker = new ScriptedWorker(engine);
    await start('endless');
    for (let runs = 0; runs < 3; runs++) await turnOf('endless', again);
    expect((await engine.why({ workflowId: 'endless' })).reasons).toMatchObject([{ code: 'timer' }]);
    expect(warnings).toEqual([expect.stringContaining('more than 2 times within a minute')]);
    await start('other');
    await turnOf('other', again);
    await turnOf('other', complete());
    expect((await engine.outcome({ workflowId: 'other' }, { waitMs: 5_000 }))?.status).toBe('completed');
    clock.ms += 60_000;
    await turnOf('endless', again);
    await turnOf('endless', complete());
    expect((await engine.outcome({ workflowId: 'endless' }, { waitMs: 5_000 }))?.status).toBe('completed');
    expect(warnings).toHaveLength(1);
  });
});

describe('the open descendants of one workflow', () => {
  it('are bounded over all generations, and the run that asks for too many fails with the reason', async () => {
    const root = await start('root');
    await turnOf('root', ...children('root', 2));
    await turnOf('root/0', ...children('root/0', 4));
    const other = await start('other');
    await turnOf('root/1', ...children('root/1', 1));
    const failed = await engine.outcome({ workflowId: 'root/1' }, { waitMs: 5_000 });
    expect(failed).toMatchObject({ status: 'failed', failure: { type: 'LimitExceededError' } });
    expect(failed!.failure!.message).toContain('would have 7 open descendants; the limit is 6');
    await turnOf('other', ...children('other', 6), complete());
    expect((await engine.outcome(other, { waitMs: 5_000 }))?.status).toBe('completed');
    expect((await engine.describe(root)).status).toBe('running');
  });

  it('are counted over restarts, and no longer once they have closed', async () => {
    await start('root');
    await turnOf('root', ...children('root', 6));
    await engine.terminate(await start('b'), 'to have all of it on disk');
    await engine.close();
    engine = folder.open({ limits });
    worker = new ScriptedWorker(engine);
    await engine.terminate({ workflowId: 'root/3' }, 'makes room for one');
    await turnOf('root/0', ...children('root/0', 1));
    await turnOf('root/1', ...children('root/1', 1));
    expect((await engine.outcome({ workflowId: 'root/1' }, { waitMs: 5_000 }))?.status).toBe('failed');
    expect((await engine.describe({ workflowId: 'root/0' })).status).toBe('running');
  });
});
