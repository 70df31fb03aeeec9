/**
 * A bit flips in a value that is stored, one at a time, in every column of every table and in every index, as the schema
 * has them: nobody is told what was never written, `perdure check` finds it, the engine starts and the others are served.
 * By a key that has flipped nothing is found: it is as if it were not there, and only the check knows that it was.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Command } from '../../../core/history/command.js';
import type { TurnTask } from '../../../core/task.js';
import type { RunRef } from '../../../engine.js';
import { EmbeddedEngine, InMemory } from '../../index.js';
import {
  CATALOG,
  child,
  complete,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from '../../scripted-worker.fixture.js';
import { checkDataFolder } from '../../store/check/check.js';
import { DataFolderError } from '../../store/folder/data-folder-error.js';
import { type StoredValue, storedValues } from '../../stored-values.fixture.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-flipped-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const REQUEST = { workflowType: 'flow', catalog: CATALOG, input: ['"input"'] };
const IDEMPOTENCY = { key: 'key-of-a-caller', fingerprint: 'fingerprint' };

const open = (image?: Buffer) =>
  EmbeddedEngine.open({
    dataDir: new InMemory(image),
    clock: new HandClock(),
    limits: { childrenEndedAtOnce: 1, messagesSentAtOnce: 1 },
  });

/** Runs that are open, closed, paused, held back, parents and children, and all else that there is a table for. */
async function everything(): Promise<{ image: Buffer; runs: RunRef[] }> {
  const engine = open();
  const worker = new ScriptedWorker(engine);
  const budget = { amount: '100', currency: 'EUR' };
  const closed = await engine.start({ ...REQUEST, workflowId: 'closed', idempotency: IDEMPOTENCY });
  await worker.turn(complete());
  await engine.outcome(closed, { waitMs: 60_000 });
  await engine.recordTrace(closed, { local: '/traces/closed' });
  const parent = await engine.start({ ...REQUEST, workflowId: 'parent', budget });
  await worker.turn(child(1, 'child'));
  await worker.turn(timer(1, 3_600_000));
  const paused = await engine.start({ ...REQUEST, workflowId: 'paused' });
  await worker.turn(timer(1, 3_600_000));
  await engine.pause(paused, { reason: 'a look', by: 'operator' });
  const heldBack = await engine.start({ ...REQUEST, workflowId: 'held-back' });
  await worker.misfit();
  const stepping = await engine.start({ ...REQUEST, workflowId: 'stepping' });
  await worker.turn(step(1, 'work', { startToCloseTimeoutMs: 3_600_000 }), timer(1, 3_600_000));
  const { runId, scheduledEventId, attempt } = await worker.next('step');
  const costs = [{ kind: 'tokens', label: null, amount: '1', currency: 'EUR', usage: {} }];
  worker.say({ kind: 'stepCosts', runId, scheduledEventId, attempt, costs });
  const busy = await engine.start({ ...REQUEST, workflowId: 'busy' });
  await turnOf(worker, 'busy');
  await engine.signal(busy, 'waits', ['"text"']);
  const ending = await engine.start({ ...REQUEST, workflowId: 'ending' });
  worker.completeTurn(await turnOf(worker, 'ending'), [
    child(1, 'ending/1', 'TERMINATE'),
    child(2, 'ending/2', 'TERMINATE'),
  ]);
  const sending = await turnOf(worker, 'ending');
  await turnOf(worker, 'ending/2');
  worker.completeTurn(sending, [signal(1, 'ending/1'), signal(2, 'ending/2')]);
  await engine.terminate(ending, 'enough');
  const image = engine.image();
  await engine.close();
  const childRef = { workflowId: 'child' } as RunRef;
  return { image, runs: [closed, parent, childRef, paused, heldBack, stepping, busy] };
}

const signal = (seq: number, workflowId: string): Command => ({
  kind: 'signalExternal',
  signalSeq: String(seq),
  workflowId,
  signalName: 'news',
  input: [],
});

/** Turns of others stay under way. */
async function turnOf(worker: ScriptedWorker, workflowId: string): Promise<TurnTask> {
  for (;;) {
    const task = await worker.next('turn');
    if (task.workflowId === workflowId) return task;
  }
}

type Answer = { value: unknown } | { error: string };

async function answer(ask: () => unknown): Promise<Answer> {
  try {
    return { value: await ask() };
  } catch (error) {
    return { error: (error as Error).name };
  }
}

/** What callers are told, by what they ask. */
async function answers(engine: EmbeddedEngine, runs: readonly RunRef[]): Promise<Map<string, Answer>> {
  const told = new Map<string, Answer>();
  for (const run of runs) {
    const ask = async (what: string, action: () => unknown) =>
      told.set(`${what} of ${run.workflowId}`, await answer(action));
    await ask('status', () => engine.describe(run));
    await ask('outcome', () => engine.outcome(run));
    await ask('history', () => engine.history(run, { afterEventId: 0, limit: 1_000 }));
    await ask('cost', async () => {
      const costs: unknown[] = [];
      const report = await engine.cost(run, 'tree', (each) => costs.push(each));
      return { report, costs };
    });
  }
  told.set('start', await answer(() => engine.start({ ...REQUEST, idempotency: IDEMPOTENCY })));
  // Without the family that is still to end, which goes on with that.
  const ids = new Set(runs.map(({ workflowId }) => workflowId));
  told.set(
    'list',
    await answer(async () =>
      (await engine.list({}, { limit: 50 })).runs.filter(({ workflowId }) => ids.has(workflowId)),
    ),
  );
  return told;
}

/** What is wrong with what callers were told; a run may only be refused, or not be there. */
function wrongAnswers(told: Map<string, Answer>, right: Map<string, Answer>): string[] {
  const wrong: string[] = [];
  for (const [what, expected] of right) {
    const got = told.get(what)!;
    if (isDeepStrictEqual(got, expected)) continue;
    if ('error' in got) {
      if (!['DataCorruptionError', 'WorkflowNotFoundError'].includes(got.error))
        wrong.push(`${what}: ${got.error}`);
    } else if (what === 'list') {
      const all = (expected as { value: unknown[] }).value;
      const strangers = (got.value as unknown[]).filter(
        (run) => !all.some((each) => isDeepStrictEqual(each, run)),
      );
      if (strangers.length > 0) wrong.push(`list: ${JSON.stringify(strangers)}`);
    } else wrong.push(`${what}: ${JSON.stringify(got.value)}`);
  }
  return wrong;
}

function problemsOf(image: Buffer): string[] {
  writeFileSync(join(folder, 'perdure.db'), image);
  try {
    return checkDataFolder(folder).problems.map(({ problem }) => problem);
  } catch (error) {
    if (!(error instanceof DataFolderError)) throw error;
    return [error.message];
  }
}

interface Flip {
  value: StoredValue;
  at: number;
  bit: number;
}

/** Of each column the first and the last row: a bit of the value at either end, and one of what says its kind. */
function flips(values: readonly StoredValue[]): Flip[] {
  const columns = new Map<string, StoredValue[]>();
  for (const value of values) {
    const name = `${value.of}.${value.column}`;
    columns.set(name, [...(columns.get(name) ?? []), value]);
  }
  let count = 0;
  return [...columns.values()].flatMap((all) => {
    const rows = all.length > 1 ? [all[0]!, all.at(-1)!] : all;
    return rows.flatMap((value) => {
      const { kindAt, from, to } = value;
      const places = to > from ? [kindAt, from, to - 1] : [kindAt];
      return places.map((at) => ({ value, at, bit: count++ % 7 }));
    });
  });
}

it('is never read as if it had been written', { timeout: 600_000 }, async () => {
  const { image, runs } = await everything();
  const db = new Database(image);
  const values = storedValues(db, image);
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all() as string[];
  db.close();
  const covered = new Set(values.map(({ of }) => of));
  expect(
    tables.filter((table) => !covered.has(table)),
    'tables without a row to flip a bit of',
  ).toEqual([]);
  expect(problemsOf(image)).toEqual([]);
  const sound = open(image);
  const right = await answers(sound, runs);
  await sound.close();

  const wrong: string[] = [];
  for (const { value, at, bit } of flips(values.filter(({ of }) => of !== 'sqlite_schema'))) {
    const damaged = Buffer.from(image);
    damaged[at]! ^= 1 << bit;
    const where = `${value.of}.${value.column} row ${value.row}, bit ${bit} of byte ${at - value.from} (${at === value.kindAt ? 'kind' : 'value'})`;
    if (problemsOf(damaged).length === 0) wrong.push(`${where}: check finds nothing`);
    try {
      const engine = open(damaged);
      const told = await answers(engine, runs);
      if (!value.isLookedUpBy) for (const each of wrongAnswers(told, right)) wrong.push(`${where}: ${each}`);
      const served = [...right].filter(([what, expected]) => isDeepStrictEqual(told.get(what), expected));
      if (served.length < right.size / 2)
        wrong.push(`${where}: only ${served.length} of ${right.size} answers are right`);
      const after = engine.image();
      await engine.close();
      // What it has written of the damage does not keep the next one from starting.
      await open(after).close();
    } catch (error) {
      if (!(error instanceof DataFolderError)) wrong.push(`${where}: ${(error as Error).stack}`);
    }
  }
  expect(wrong).toEqual([]);
});
