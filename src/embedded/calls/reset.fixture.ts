/** An engine with one worker for each test, and what the tests of resets do with runs. */
import { afterEach, beforeEach } from 'vitest';
import type { Limits } from '../../core/bounds/limits.js';
import type { Command } from '../../core/history/command.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, Folder, HandClock, ScriptedWorker, workflow } from '../scripted-worker.fixture.js';

let folder: Folder;
export let clock: HandClock;
export let engine: EmbeddedEngine;
export let worker: ScriptedWorker;
beforeEach(() => {
  folder = new Folder();
  clock = new HandClock();
  open();
});
afterEach(() => folder.remove());

function open(limits: Partial<Limits> = {}): void {
  engine = folder.open({ clock, limits });
  worker = new ScriptedWorker(engine, {
    workflows: [workflow('flow'), workflow('child'), workflow('hasty', { executionTimeoutMs: 10_000 })],
  });
}

/** Before the first run of a test. */
export async function reopen(limits: Partial<Limits>): Promise<void> {
  await engine.close();
  open(limits);
}

export const start = (workflowId: string, workflowType = 'flow'): Promise<RunRef> =>
  engine.start({ workflowType, catalog: CATALOG, input: ['1'], workflowId });

export const eventsOf = async (run: RunRef): Promise<HistoryEvent[]> =>
  (await engine.history(run, { afterEventId: 0, limit: 1_000 })).events;

export const typesOf = async (run: RunRef): Promise<string[]> =>
  (await eventsOf(run)).map(({ type }) => type);

/** The next turn of that run; turns of others before it are answered with nothing. */
export async function turnOf(run: RunRef, ...commands: Command[]) {
  for (;;) {
    const task = await worker.next('turn');
    worker.completeTurn(task, task.runId === run.runId ? commands : []);
    if (task.runId === run.runId) return task;
  }
}

/** The latest run of the id once it is on disk, and once it is another one than `before`. */
export async function latestRun(workflowId: string, before?: RunRef): Promise<RunRef> {
  for (let looks = 0; looks < 1_000; looks++) {
    const found = await engine.describe({ workflowId }).catch(() => undefined);
    if (found && found.runId !== before?.runId) return { workflowId, runId: found.runId };
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`no run of ${workflowId} has come`);
}
