/** A data folder for each test, and runs that are started on it. */
import { afterEach, beforeEach } from 'vitest';
import type { RunRef } from '../engine.js';
import type { EmbeddedEngine } from './index.js';
import { CATALOG, Folder } from './scripted-worker.fixture.js';

export let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

export const start = (engine: EmbeddedEngine, workflowId?: string): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

/** How the run has ended, once it has. */
export const closed = (engine: EmbeddedEngine, run: RunRef) => engine.outcome(run, { waitMs: 5_000 });
