/** What arrives while a turn is under way is acknowledged, so it must be on disk exactly once, whenever the end comes. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { TurnTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from '../scripted-worker.fixture.js';
import type { ActiveRun } from '../store/active-run.js';
import { checkCommit } from '../store/check/projection-check.js';

let folder: Folder;
let clock: HandClock;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
let run: RunRef;
const copies: Folder[] = [];
let onCommit: ((runs: Iterable<ActiveRun>) => void) | undefined;

beforeEach(async () => {
  folder = new Folder();
  clock = new HandClock();
  onCommit = undefined;
  engine = folder.open({
    clock,
    inspectCommit(tables, runs) {
      checkCommit(tables, runs);
      onCommit?.(runs);
    },
  });
  worker = new ScriptedWorker(engine);
  run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'] });
});
afterEach(async () => {
  for (const copy of copies.splice(0)) await copy.remove();
  await folder.remove();
});

const signal = (name: string) => engine.signal(run, name, []);

/** Starts anew on what a kill at this moment leaves, and takes the next turn there. */
async function afterKill(): Promise<{ worker: ScriptedWorker; engine: EmbeddedEngine; turn: TurnTask }> {
  const copy = folder.asKilled();
  copies.push(copy);
  const again = copy.open({ clock });
  const next = new ScriptedWorker(again);
  return { worker: next, engine: again, turn: await next.next('turn') };
}

const signals = (events: readonly HistoryEvent[]) =>
  events
    .filter((event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED')
    .map((event) => event.attributes.signalName);

describe('signals during turns', () => {
  it('are neither lost nor doubled when as many come as a turn has taken', async () => {
    const first = await worker.next('turn');
    await signal('A');
    // The turn ends and B comes, both before the next commit: as many wait as before, but not the same.
    worker.completeTurn(first, [timer(1, 60_000)]);
    const second = await worker.next('turn');
    await signal('B');
    expect(signals((await afterKill()).turn.events)).toEqual(['A', 'B']);
    worker.completeTurn(second, [timer(2, 60_000)]);
    await worker.next('turn');
    expect(signals((await afterKill()).turn.events)).toEqual(['A', 'B']);
  });

  it.each([
    [1, 0],
    [1, 1],
    [1, 2],
    [2, 1],
    [3, 3],
    [0, 2],
  ])('survive a kill with %d in the first turn and %d in the second', async (before, after) => {
    const first = await worker.next('turn');
    for (let i = 1; i <= before; i++) await signal(`first ${i}`);
    const sent = Array.from({ length: before }, (_, i) => `first ${i + 1}`);
    worker.completeTurn(first, [timer(1, 60_000), step(1)]);
    // The turn that sees them, or the one after the step.
    if (before === 0) worker.completeStep(await worker.next('step'));
    await worker.next('turn');
    for (let i = 1; i <= after; i++) {
      sent.push(`second ${i}`);
      await signal(`second ${i}`);
      expect(signals((await afterKill()).turn.events)).toEqual(sent);
    }
    await engine.describe(run);
    expect(signals((await afterKill()).turn.events)).toEqual(sent);
  });

  it('stay when the turn that they came in is lost with its worker, twice', async () => {
    await worker.next('turn');
    await signal('A');
    worker.lose();
    const other = new ScriptedWorker(engine);
    const turn = await other.next('turn');
    await signal('B');
    expect(signals((await afterKill()).turn.events)).toEqual(['A', 'B']);
    other.completeTurn(turn, [complete('"too early"')]);
    await other.next('turn');
    await signal('C');
    expect(signals((await afterKill()).turn.events)).toEqual(['A', 'B', 'C']);
  });
});

describe('much that arrives during one turn', () => {
  it('is stored in pieces that stay small, and read again', async () => {
    const first = await worker.next('turn');
    const large = JSON.stringify('x'.repeat(900_000));
    for (let i = 0; i < 12; i++) await engine.signal(run, `s${i}`, [large]);
    const names = Array.from({ length: 12 }, (_, i) => `s${i}`);
    expect(signals((await afterKill()).turn.events)).toEqual(names);
    worker.completeTurn(first, [timer(1, 60_000)]);
    await engine.history(run, { afterEventId: 10, limit: 1, waitMs: 5_000 });
    expect(signals((await afterKill()).turn.events)).toEqual(names);
    await copies.at(-1)!.close();
    const db = new Database(join(copies.at(-1)!.path, 'perdure.db'), { readonly: true });
    // No longer than one event beyond the bound.
    expect(db.prepare('SELECT max(length(events)) FROM history').pluck().get()).toBeLessThan(2_000_000);
    db.close();
  });
});

describe('the turn that only an update caused', () => {
  const updateTurn = async (...commands: Command[]) => {
    await worker.turn(...commands);
    await engine.history(run, { afterEventId: 4, limit: 1, waitMs: 5_000 });
    void engine.update(run, 'change', []).catch(() => {});
    await worker.next('turn');
  };

  it('does not keep a signal that came in it from waking the run after a kill', async () => {
    await updateTurn(timer(1, 60_000));
    await signal('A');
    expect(signals((await afterKill()).turn.events)).toEqual(['A']);
  });

  it('does not keep a timer that fired in it from waking the run after a kill', async () => {
    await updateTurn(timer(1, 5), timer(2, 60_000));
    const fired = new Promise<void>((resolve) => {
      onCommit = (runs) => {
        for (const each of runs) if (each.inbox.length > 0) resolve();
      };
    });
    clock.ms += 5;
    await fired;
    const { turn } = await afterKill();
    expect(turn.events.map((event) => event.type)).toContain('TIMER_FIRED');
  });
});
