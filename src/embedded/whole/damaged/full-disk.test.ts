/** A full disk loses nothing, stops nobody for good, and is told at the door. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TurnTask } from '../../../core/task.js';
import type { RunRef } from '../../../engine.js';
import { EmbeddedEngine } from '../../index.js';
import { CATALOG, complete, Folder, ScriptedWorker, step, timer } from '../../scripted-worker.fixture.js';
import { checkCommit } from '../../store/check/projection-check.js';

const start = (engine: EmbeddedEngine, workflowId?: string, more: object = {}): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId, ...more });

const isFull = { name: 'StorageFullError', status: 507, details: { retryAfterSeconds: expect.any(Number) } };

describe('with little space left', () => {
  let folder: Folder;
  beforeEach(() => {
    folder = new Folder();
  });
  afterEach(() => folder.remove());

  it('starts and messages are refused, reads go on, and what runs ends', async () => {
    let free = 1_000;
    const engine = folder.open({ limits: { lowWaterBytes: 500 }, freeBytes: () => free });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'one');
    const other = await start(engine, 'two', { idempotency: { key: 'k', fingerprint: 'f' } });
    free = 499;
    await vi.waitFor(() => expect(engine.ready()).rejects.toMatchObject(isFull), 60_000);
    await expect(start(engine, 'three')).rejects.toMatchObject(isFull);
    await expect(engine.signal(run, 's', [])).rejects.toMatchObject(isFull);
    await expect(engine.update(run, 'u', [])).rejects.toMatchObject(isFull);
    await expect(engine.reset(run, { stepName: 'work' })).rejects.toMatchObject(isFull);
    expect(await engine.describe(run)).toMatchObject({ status: 'running' });
    // What was started before is known by its key all the same.
    expect(await start(engine, 'two', { idempotency: { key: 'k', fingerprint: 'f' } })).toEqual(other);
    await engine.cancel(other);
    await engine.terminate(other, 'to make space');
    await worker.turn(complete());
    expect(await engine.outcome(run, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
    free = 500;
    await vi.waitFor(() => engine.ready(), 60_000);
    await start(engine, 'three');
  });
});

it('a backup is begun only where there is room for it besides what runs need', async () => {
  const folder = new Folder();
  let free = 10_000_000;
  const engine = folder.open({ limits: { lowWaterBytes: 5_000_000 }, freeBytes: () => free });
  try {
    const { bytes, discard } = await engine.backup();
    await discard();
    free = 5_000_000 + bytes - 1;
    await expect(engine.backup()).rejects.toMatchObject({ name: 'StorageFullError' });
    free = 5_000_000 + bytes;
    await (await engine.backup()).discard();
  } finally {
    await folder.remove();
  }
});

/** A file system of a few megabytes, where mounting is permitted. */
function smallDisk(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'perdure-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', path], { stdio: 'ignore' });
    return path;
  } catch {
    rmSync(path, { recursive: true, force: true });
    return undefined;
  }
}

const disk = smallDisk();
const name = disk
  ? 'on a full disk'
  : 'on a full disk (skipped: mounting a file system is not permitted here)';

describe.skipIf(!disk)(name, () => {
  const path = disk!;
  const filler = join(path, 'filler');
  let engine: EmbeddedEngine;
  let fatal: Error | undefined;

  const open = () => {
    const options = { limits: { lowWaterBytes: 0 }, inspectCommit: checkCommit };
    engine = EmbeddedEngine.open({
      dataDir: join(path, 'data'),
      ...options,
      onFatal: (error) => {
        fatal = error;
      },
    });
    return engine;
  };
  const fill = () => {
    // Down to the last page, so that the next write of the database finds none.
    for (let size = 6 * 2 ** 20; size >= 1_024; size = Math.floor(size / 2)) {
      try {
        writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
      } catch {}
    }
  };
  const makeSpace = () => rmSync(filler, { force: true });

  beforeEach(() => {
    fatal = undefined;
    open();
  });
  afterEach(async () => {
    await engine.close();
    makeSpace();
    rmSync(join(path, 'data'), { recursive: true, force: true });
    expect(fatal).toBeUndefined();
  });
  afterAll(() => {
    execFileSync('umount', [path]);
    rmSync(path, { recursive: true, force: true });
  });

  it('nothing is lost and nobody answered until there is space, then all goes on by itself', async () => {
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'one');
    const first = await worker.next('turn');
    const quiet = await start(engine, 'two');
    fill();
    const big = JSON.stringify('x'.repeat(20_000));
    let acknowledged = 0;
    const signals = Array.from({ length: 5 }, () =>
      engine.signal(run, 's', [big]).then(
        () => acknowledged++,
        (error: Error) => error.name,
      ),
    );
    worker.completeTurn(first, [step(1), timer(1, 60_000)]);
    await vi.waitFor(() => expect(engine.ready()).rejects.toMatchObject(isFull), 60_000);
    await expect(start(engine, 'three')).rejects.toMatchObject(isFull);
    await expect(engine.signal(quiet, 's', [])).rejects.toMatchObject(isFull);
    expect(await engine.describe(run)).toMatchObject({ status: 'running', historyLength: 2 });
    expect(acknowledged).toBe(0);
    expect(worker.pending('step')).toEqual([]);

    makeSpace();
    await vi.waitFor(() => engine.ready(), 60_000);
    await Promise.all(signals);
    expect(acknowledged).toBe(5);
    worker.completeStep(await worker.next('step'));
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.filter((event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(5);
    await start(engine, 'three');
  });

  it('reads go on: a query is answered from what is on disk, and refused where that is behind', async () => {
    const worker = new ScriptedWorker(engine);
    const quiet = await start(engine, 'quiet');
    await worker.turn(timer(1, 60_000));
    const run = await start(engine, 'one');
    const first = await worker.next('turn');
    await engine.recordTrace(run, {});
    fill();
    const carried = Promise.allSettled([engine.query(run, 'state', [])]);
    const big = JSON.stringify('x'.repeat(50_000));
    worker.completeTurn(first, [{ ...step(1), input: [big] } as ReturnType<typeof step>]);
    const answer = (task: TurnTask) => {
      const answers = task.queries.map(
        ({ queryId }) => ({ kind: 'answered', queryId, result: '1' }) as const,
      );
      worker.completeTurn(task, [], answers);
    };
    answer(await worker.next('turn'));
    // It was answered before anybody knew that the disk is full.
    expect(await carried).toMatchObject([{ status: 'rejected', reason: isFull }]);
    await vi.waitFor(() => expect(engine.ready()).rejects.toMatchObject(isFull), 60_000);

    const later = expect(engine.query(run, 'state', [])).rejects.toMatchObject(isFull);
    answer(await worker.next('turn'));
    await later;
    const asked = engine.query(quiet, 'state', []);
    answer(await worker.next('turn'));
    expect(await asked).toBe('1');
    expect(await engine.describe(run)).toMatchObject({ status: 'running', historyLength: 2 });
    expect(await engine.outcome(run, { waitMs: 10 })).toBeUndefined();
    const page = await engine.history(run, { afterEventId: 0, limit: 10 });
    expect(page).toMatchObject({ ended: false, events: [{ id: 1 }, { id: 2 }] });
    expect((await engine.history(run, { afterEventId: 2, limit: 10, waitMs: 10 })).events).toEqual([]);
    expect((await engine.list({}, { limit: 10 })).runs).toHaveLength(2);
    await engine.cost(run, 'tree', () => {});
    const why = engine.why(quiet);
    answer(await worker.next('turn'));
    expect(await why).toMatchObject({ status: 'running' });
    expect(await engine.why(run)).toMatchObject({ status: 'running' });
    makeSpace();
    await vi.waitFor(() => engine.ready(), 60_000);
  });

  it('a caller who waits for a run that found no space is told so', async () => {
    fill();
    const run = await start(engine, 'awaited', {
      input: [JSON.stringify('x'.repeat(50_000))],
      isAwaited: true,
    });
    await expect(engine.outcome(run, { waitMs: 100 })).rejects.toMatchObject(isFull);
  });

  it('what was acknowledged is there after a start, also when the end came while it was full', async () => {
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'one');
    await worker.next('turn');
    await engine.signal(run, 'kept', []);
    fill();
    const refused = engine.signal(run, 'lost', [JSON.stringify('x'.repeat(50_000))]);
    await Promise.all([
      expect(refused).rejects.toMatchObject({ name: 'EngineUnavailableError' }),
      vi
        .waitFor(() => expect(engine.ready()).rejects.toMatchObject(isFull), 10_000)
        .then(() => engine.close()),
    ]);
    // The next start meets the full disk too, and serves what is there.
    open();
    expect(await engine.describe(run)).toMatchObject({ status: 'running' });
    makeSpace();
    const next = new ScriptedWorker(engine);
    const { events } = await next.next('turn');
    expect(
      events.flatMap((event) =>
        event.type === 'WORKFLOW_EXECUTION_SIGNALED' ? [event.attributes.signalName] : [],
      ),
    ).toEqual(['kept']);
    await vi.waitFor(() => engine.ready(), 60_000);
  });
});
