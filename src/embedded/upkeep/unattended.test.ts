/** Runs that wait for nobody are warned of: once, and again only after somebody had come. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Scheduler, systemScheduler } from '../../core/clock.js';
import type { Log } from '../../core/log.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, Folder, ScriptedWorker, step, timer, workflow } from '../scripted-worker.fixture.js';
import { LOOK_MS } from './unattended.js';

let folder: Folder;
let engine: EmbeddedEngine;
let warnings: string[];
let look: () => void;

const scheduler: Scheduler = {
  ...systemScheduler,
  after(ms, action, isBackground) {
    if (ms !== LOOK_MS) return systemScheduler.after(ms, action, isBackground);
    look = action;
    return { cancel() {} };
  },
};

const open = () => {
  const log: Log = {
    ...{ debug() {}, info() {}, error() {} },
    warn: (_fields, message) => {
      if (!message.includes('is lost')) warnings.push(message);
    },
  };
  engine = folder.open({ scheduler, log });
};

beforeEach(() => {
  folder = new Folder();
  warnings = [];
  open();
});
afterEach(() => folder.remove());

const start = (workflowId: string, workflowType = 'flow', catalog = CATALOG) =>
  engine.start({ workflowType, catalog, input: [], workflowId });
const looks = (count: number) => {
  for (let i = 0; i < count; i++) look();
};

it('a catalog with a run that waits for its first turn, once', async () => {
  await start('a', 'flow', 'nobodys');
  looks(1);
  expect(warnings).toEqual([]);
  looks(5);
  expect(warnings).toEqual([expect.stringContaining('catalog "nobodys" has open runs and no worker')]);
});

it('a catalog whose runs only sleep, after a start and after its last worker has left', async () => {
  const worker = new ScriptedWorker(engine);
  await start('a');
  await worker.turn(timer(1, 3_600_000));
  await engine.recordTrace(
    { workflowId: 'a', runId: (await engine.describe({ workflowId: 'a' })).runId },
    {},
  );
  looks(5);
  expect(warnings).toEqual([]);
  worker.lose();
  looks(5);
  expect(warnings).toHaveLength(1);
  const again = new ScriptedWorker(engine);
  looks(2);
  again.lose();
  looks(5);
  expect(warnings).toHaveLength(2);
  await engine.close();
  open();
  looks(5);
  expect(warnings).toHaveLength(3);
});

it('no catalog that has no open runs, and no restart of a worker', async () => {
  const worker = new ScriptedWorker(engine);
  worker.lose();
  looks(5);
  expect(warnings).toEqual([]);
  new ScriptedWorker(engine).lose();
  await start('a');
  looks(1);
  new ScriptedWorker(engine);
  looks(5);
  expect(warnings).toEqual([]);
});

it('a workflow and a step that no connected worker has', async () => {
  const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', {}, ['work'])] });
  await start('a');
  await worker.turn(step(1, 'more'));
  await start('b', 'other');
  looks(5);
  expect(warnings.sort()).toEqual([
    expect.stringContaining('step "flow#more"'),
    expect.stringContaining('workflow "other"'),
  ]);
});
