/** What the engine does about one call of its store that fails, kind by kind. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Command } from '../../src/core/history/command.js';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import {
  CATALOG,
  child,
  complete,
  Folder,
  ScriptedWorker,
  step,
  timer,
} from '../../src/embedded/scripted-worker.fixture.js';
import type { RunRef } from '../../src/engine.js';
import { type CallKind, connecting, type Fault, type FaultPlan } from './faulty-database.js';

/** So many tries a read is given. */
const FOR_GOOD = 1_000;

/** Calls fail while they are told to. */
class OnDemand implements FaultPlan {
  #fault: Fault | undefined;
  #left = 0;
  #concerns: (kind: CallKind, sql: string) => boolean = () => false;
  failed = 0;

  fail(fault: Fault, concerns: (kind: CallKind, sql: string) => boolean, times = 1): void {
    this.#fault = fault;
    this.#concerns = concerns;
    this.#left = times;
    this.failed = 0;
  }

  faultOf(kind: CallKind, sql: string): Fault | undefined {
    if (this.#left === 0 || !this.#concerns(kind, sql)) return undefined;
    this.#left--;
    this.failed++;
    return this.#fault;
  }

  mend(): void {
    this.#left = 0;
  }
}

let folder: Folder;
let disk: OnDemand;
let fatal: Error | undefined;
beforeEach(() => {
  folder = new Folder();
  disk = new OnDemand();
  fatal = undefined;
});
afterEach(async () => {
  disk.mend();
  await folder.remove();
});

const open = (): EmbeddedEngine =>
  folder.open({
    connect: connecting(disk),
    // What the check of every commit reads is not what is tested here.
    inspectCommit: undefined,
    onFatal: (error) => {
      fatal = error;
    },
  });

const start = (engine: EmbeddedEngine, workflowId: string): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

const isBegin = (kind: CallKind) => kind === 'begin';
const isCommit = (kind: CallKind) => kind === 'commit';
const reads = (part: string) => (kind: CallKind, sql: string) => kind === 'read' && sql.includes(part);
const unavailable = { name: 'EngineUnavailableError' };

describe('a commit', () => {
  it.each([
    ['busy', isBegin],
    ['busy', isCommit],
    ['full', isBegin],
    ['full', isCommit],
  ] as const)('that meets "%s" is made a moment later, once', async (fault, where) => {
    const engine = open();
    disk.fail(fault, where, 2);
    const run = await start(engine, 'a');
    expect(disk.failed).toBe(2);
    expect(fatal).toBeUndefined();
    await engine.ready();
    expect(await engine.describe(run)).toMatchObject({ status: 'running', historyLength: 2 });
  });

  it.each([
    ['ioerr-before', 0],
    ['ioerr-after', 1],
  ] as const)('whose outcome is unknown (%s) is the last one', async (fault, there) => {
    const engine = open();
    const before = await start(engine, 'before');
    const waiting = engine.history(before, { afterEventId: 2, limit: 10, waitMs: 20_000 });
    disk.fail(fault, isCommit);
    await Promise.all([
      expect(start(engine, 'a')).rejects.toMatchObject(unavailable),
      expect(waiting).rejects.toMatchObject(unavailable),
    ]);
    expect(fatal).toBeDefined();
    await expect(engine.ready()).rejects.toMatchObject(unavailable);
    await expect(start(engine, 'b')).rejects.toMatchObject(unavailable);
    await engine.close();
    expect((await open().list({}, { limit: 10 })).runs).toHaveLength(1 + there);
  });
});

describe('a read', () => {
  it('that fails now and then is made again, and nobody notices', async () => {
    const engine = open();
    const run = await start(engine, 'a');
    for (const fault of ['busy', 'ioerr-before', 'ioerr-after'] as const) {
      disk.fail(fault, (kind) => kind === 'read', 4);
      expect(await engine.describe(run)).toMatchObject({ status: 'running' });
      expect(disk.failed).toBe(4);
    }
    expect(fatal).toBeUndefined();
  });

  it('that fails for a caller who only looks stops nobody', async () => {
    const engine = open();
    const run = await start(engine, 'a');
    disk.fail('ioerr-before', reads('FROM runs WHERE run_id'), FOR_GOOD);
    await expect(engine.describe(run)).rejects.toMatchObject(unavailable);
    disk.mend();
    expect(fatal).toBeUndefined();
    expect(await engine.describe(run)).toMatchObject({ status: 'running' });
  });

  it('that fails in the middle of a turn stops the engine, and the run goes on with the next one', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'parent');
    const turn = await worker.next('turn');
    const child: Command = {
      kind: 'startChild',
      childSeq: '1',
      workflowId: 'child',
      workflowType: 'flow',
      input: [],
      parentClosePolicy: 'TERMINATE',
    };
    disk.fail('ioerr-before', reads('WHERE workflow_id'), FOR_GOOD);
    worker.completeTurn(turn, [child]);
    expect(fatal).toBeDefined();
    disk.mend();
    await engine.close();
    const again = open();
    expect(await again.describe(run)).toMatchObject({ status: 'running', historyLength: 2 });
    const next = new ScriptedWorker(again);
    await next.turn(child);
    expect((await next.next('turn')).workflowId).toBe('child');
  });

  it('that fails when something falls due stops the engine, and it falls due in the next one', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    disk.fail('ioerr-before', reads('wake_at <='), FOR_GOOD);
    await worker.turn(timer(1, 1));
    await vi.waitFor(() => expect(fatal).toBeDefined(), 60_000);
    disk.mend();
    await engine.close();
    const next = new ScriptedWorker(open());
    const { events, runId } = await next.next('turn');
    expect(runId).toBe(run.runId);
    expect(events.map((event) => event.type)).toContain('TIMER_FIRED');
  });

  it('that fails after a commit leaves nobody waiting for it', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    await start(engine, 'a');
    await worker.turn(timer(1, 30));
    const outcome = engine.outcome({ workflowId: 'a' }, { waitMs: 20_000 });
    disk.fail('ioerr-before', reads('min(wake_at)'), FOR_GOOD);
    await expect(outcome).rejects.toMatchObject(unavailable);
    expect(fatal).toBeDefined();
  });

  it('of one run, where nothing else fails, sets that run apart until the next start', async () => {
    let engine = open();
    const run = await start(engine, 'a');
    await start(engine, 'b');
    await engine.close();
    disk.fail('ioerr-before', (kind, sql) => reads('FROM history')(kind, sql) && disk.failed < 5, FOR_GOOD);
    engine = open();
    await expect(engine.signal(run, 'lost', [])).rejects.toMatchObject({ name: 'DataCorruptionError' });
    disk.mend();
    expect(fatal).toBeUndefined();
    await engine.signal({ workflowId: 'b' }, 'taken', []);
    await engine.close();
    expect(await open().signal(run, 'taken', [])).toEqual(run);
  });

  it('of one run, where the whole disk fails, is not told as damage of that run', async () => {
    const engine = open();
    const run = await start(engine, 'a');
    disk.fail('ioerr-before', (kind, sql) => kind !== 'read' || sql.includes('FROM history'), FOR_GOOD);
    await expect(engine.describe(run)).rejects.toMatchObject(unavailable);
    expect(fatal).toBeDefined();
  });
});

describe('a start', () => {
  it.each([
    'coalesce(max(key), 0)',
    'SELECT name FROM catalogs',
    'is_active = 1 AND damaged IS NULL ORDER BY',
    'SELECT min(wake_at)',
  ])('that cannot read (%s) says so and leaves the folder to the next', async (part) => {
    const engine = open();
    const run = await start(engine, 'a');
    await engine.close();
    disk.fail('ioerr-before', reads(part), FOR_GOOD);
    expect(open).toThrow(/the disk of the data folder .* fails/);
    disk.mend();
    expect(await open().describe(run)).toMatchObject({ status: 'running' });
  });
});

describe('a reset', () => {
  it('is refused while what was decided before it cannot be written', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    const turn = await worker.next('turn');
    disk.fail('busy', isBegin, FOR_GOOD);
    worker.completeTurn(turn, [complete()]);
    await expect(engine.reset(run, { stepName: 'work' })).rejects.toMatchObject(unavailable);
    disk.mend();
    expect(await engine.outcome(run, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
    const again = await engine.reset(run, { stepName: 'work' });
    expect(await engine.describe(again)).toMatchObject({ status: 'running' });
    expect(fatal).toBeUndefined();
  });
});

describe('a budget', () => {
  it('is not changed while it cannot be written who waits for it: that one would wait for ever', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const budget = { amount: '0', currency: 'USD' };
    const request = { workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'a' };
    const run = await engine.start({ ...request, budget });
    await worker.turn(child(1, 'kid'));
    const turns = [await worker.next('turn'), await worker.next('turn')];
    disk.fail('busy', isBegin, FOR_GOOD);
    for (const turn of turns) worker.completeTurn(turn, turn.workflowId === 'kid' ? [step(1)] : []);
    const paused = await worker.next('turn');
    await expect(engine.setBudget(run, '1')).rejects.toMatchObject(unavailable);
    disk.mend();
    worker.completeTurn(paused, []);
    await expect
      .poll(async () => (await engine.describe({ workflowId: 'kid' })).paused)
      .toMatchObject({ by: 'budget' });
    await engine.setBudget(run, '1');
    expect(await worker.next('step')).toMatchObject({ workflowId: 'kid' });
  });
});
