/** Runs that wait for a worker are rows in a table: however large their inputs are, few of them are kept in memory. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, ScriptedWorker, step } from '../scripted-worker.fixture.js';

const INPUT = JSON.stringify('x'.repeat(100_000));
const RUNS = 30;
/** Of those that are kept, and one more that was just made. */
const HELD = 11;

let folder: Folder;
let engine: EmbeddedEngine;

beforeEach(async () => {
  folder = new Folder();
  engine = folder.open({ limits: { cachedBytes: 10 * INPUT.length } });
  for (let i = 0; i < RUNS; i++) {
    await engine.start({ workflowType: 'flow', catalog: CATALOG, workflowId: `w${i}`, input: [INPUT] });
  }
});
afterEach(() => folder.remove());

it('holds no more of their inputs than it may, and every run has its own when its turn comes', async () => {
  expect(engine.load().runsInMemory).toBeLessThanOrEqual(HELD);
  const worker = new ScriptedWorker(engine, { turns: 1 });
  const seen = new Set<string>();
  for (let i = 0; i < RUNS; i++) {
    const { workflowId, events } = await worker.turn(complete());
    expect(events[0]!.attributes).toMatchObject({ workflowId, input: [INPUT] });
    seen.add(workflowId);
  }
  expect(seen.size).toBe(RUNS);
});

it('queues the turn of a run once, however many messages come for it while it is not in memory', async () => {
  expect(engine.load().turnsQueued).toBe(RUNS);
  await engine.signal({ workflowId: 'w0' }, 'go', []);
  for (let i = 1; i < RUNS; i++) await engine.signal({ workflowId: `w${i}` }, 'go', []);
  await engine.signal({ workflowId: 'w0' }, 'go', []);
  expect(engine.load().turnsQueued).toBe(RUNS);
});

it('counts what their steps were given, and forgets what has ended', async () => {
  const worker = new ScriptedWorker(engine, { steps: 1 });
  const large = { ...step(1), input: [INPUT] } as Command;
  for (let i = 0; i < RUNS; i++) await worker.turn(large);
  await expect.poll(() => engine.load().runsInMemory).toBeLessThanOrEqual(HELD / 2 + 1);
  for (let i = 0; i < RUNS; i++) {
    const task = await worker.next('step');
    expect(task.input).toEqual([INPUT]);
    worker.completeStep(task);
    await worker.turn(complete());
  }
  await expect.poll(() => engine.load().runsInMemory).toBe(0);
});

it('reads a history of large events in parts, without a gap', async () => {
  const run = { workflowId: 'w0', runId: (await engine.describe({ workflowId: 'w0' })).runId };
  for (let i = 0; i < 20; i++) await engine.signal(run, 'more', [INPUT]);
  await engine.terminate(run, 'enough');
  const { historyLength } = await engine.describe(run);
  const ids: number[] = [];
  let reads = 0;
  for (;;) {
    const page = await engine.history(run, {
      afterEventId: ids.at(-1) ?? 0,
      limit: 1_000,
      maxBytes: 3 * INPUT.length,
    });
    expect(JSON.stringify(page.events).length).toBeLessThan(6 * INPUT.length);
    ids.push(...page.events.map(({ id }) => id));
    reads++;
    expect(page.isCut).toBe(!page.ended);
    if (page.ended) break;
  }
  expect(ids).toEqual(Array.from({ length: historyLength }, (_, i) => i + 1));
  expect(reads).toBeGreaterThan(5);
});
