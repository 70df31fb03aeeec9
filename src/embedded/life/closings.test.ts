/** Large families: the end of a run reaches all of its children, a few at a commit, whatever comes in between. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { ParentClosePolicy } from '../../core/history/event.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, child, complete, Folder, ScriptedWorker, step } from '../scripted-worker.fixture.js';
import type { Tables } from '../store/tables/tables.js';

const PIECE = 4;
const CHILDREN = 14;
const limits = { childrenEndedAtOnce: PIECE, cachedRuns: 3 };

let folder: Folder;
let killed: Folder[];
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
let tables: Tables;
let onCommit: (runs: number) => void;
beforeEach(() => {
  folder = new Folder();
  killed = [];
  onCommit = () => {};
  engine = opened(folder);
  worker = new ScriptedWorker(engine);
});
afterEach(async () => {
  await folder.remove();
  for (const each of killed) await each.remove();
});

const opened = (place: Folder): EmbeddedEngine =>
  place.open({
    limits,
    inspectCommit: (seen, runs) => {
      tables = seen;
      onCommit(runs.size);
    },
  });

const start = (workflowId: string): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

const children = (of: string, count: number, policy?: ParentClosePolicy): Command[] =>
  Array.from({ length: count }, (_, index) => child(index + 1, `${of}/${index}`, policy));

/** Answers the turns that come by the ids of their runs, and those of others with nothing, until all is quiet. */
async function answer(answers: Record<string, Command[]>): Promise<void> {
  worker.takeOver((message) => {
    if (message.kind !== 'turn') return false;
    const commands = answers[message.workflowId] ?? [];
    delete answers[message.workflowId];
    worker.completeTurn(message, commands);
    return true;
  });
  await until(() => Object.keys(answers).length === 0 && engine.load().turnsQueued === 0);
  engine.flush();
}

async function until(holds: () => boolean): Promise<void> {
  const patience = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > patience) throw new Error(`it never came; open are ${open().join(', ')}`);
    await new Promise(setImmediate);
  }
}

const open = (): string[] =>
  tables
    .listRuns({ status: 'running' }, { from: 0, before: Number.MAX_SAFE_INTEGER }, 1_000)
    .map((row) => row.workflow_id);

const hasEnded = () => open().length === 0 && tables.closingRuns().length === 0;

const typesOf = async (workflowId: string) =>
  (await engine.history({ workflowId }, { afterEventId: 0, limit: 100 })).events.map(({ type }) => type);

describe('a large family', () => {
  it('ends a few at a commit, and others are answered in between', async () => {
    const root = await start('root');
    const other = await start('other');
    await answer({ root: children('root', CHILDREN, 'TERMINATE') });
    const commits: number[] = [];
    onCommit = (runs) => commits.push(runs);
    await engine.terminate(root, 'enough');
    expect(open()).toHaveLength(CHILDREN - PIECE + 1);
    await engine.signal(other, 'go', []);
    expect(open().length).toBeGreaterThan(PIECE);
    await until(() => open().length === 1 && tables.closingRuns().length === 0);
    expect(open()).toEqual(['other']);
    expect(Math.max(...commits)).toBeLessThanOrEqual(PIECE + 1);
    for (let index = 0; index < CHILDREN; index++) {
      expect((await engine.describe({ workflowId: `root/${index}` })).status).toBe('terminated');
    }
  });

  it('ends after a kill between any two commits, and gets nothing done before', async () => {
    const root = await start('root');
    await answer({ root: children('root', CHILDREN, 'TERMINATE') });
    for (let index = 0; index < CHILDREN; index++)
      await engine.signal({ workflowId: `root/${index}` }, 'go', []);
    await answer({});
    worker.takeOver(() => false);
    // All of them have a turn to make.
    worker.lose();
    for (let index = 0; index < CHILDREN; index++)
      await engine.signal({ workflowId: `root/${index}` }, 'go', []);
    onCommit = () => killed.push(folder.asKilled());
    await engine.terminate(root, 'enough');
    await until(hasEnded);
    onCommit = () => {};
    expect(killed.length).toBeGreaterThanOrEqual(Math.ceil(CHILDREN / PIECE));
    await engine.close();
    for (const each of killed) {
      engine = opened(each);
      worker = new ScriptedWorker(engine);
      await engine.signal(await start('other'), 'go', []);
      await until(() => open().length === 1);
      expect((await worker.next('turn')).workflowId).toBe('other');
      expect(worker.pending('turn')).toEqual([]);
      await until(() => tables.closingRuns().length === 0);
      await engine.close();
    }
  });

  it('of which each is asked to stop hears of it once, also after a kill', async () => {
    const root = await start('root');
    await answer({ root: children('root', CHILDREN) });
    worker.takeOver(() => false);
    await engine.signal(root, 'go', []);
    onCommit = () => killed.push(folder.asKilled());
    await worker.turn(complete());
    await until(() => killed.length > CHILDREN / PIECE && tables.closingRuns().length === 0);
    onCommit = () => {};
    await engine.close();
    for (const each of killed) {
      engine = opened(each);
      await start('other');
      await until(() => tables.closingRuns().length === 0);
      for (let index = 0; index < CHILDREN; index++) {
        const types = await typesOf(`root/${index}`);
        expect(types.filter((type) => type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED')).toHaveLength(1);
      }
      await engine.close();
    }
  });

  it('ends over all generations, a few at a commit', async () => {
    const root = await start('root');
    await answer({
      root: children('root', 3, 'TERMINATE'),
      'root/0': children('root/0', 3, 'TERMINATE'),
      'root/1': children('root/1', 5, 'TERMINATE'),
      'root/0/2': children('root/0/2', 6, 'TERMINATE'),
      'root/0/2/5': children('deep', 1, 'ABANDON'),
    });
    const commits: number[] = [];
    onCommit = (runs) => {
      commits.push(runs);
      killed.push(folder.asKilled());
    };
    await engine.terminate(root, 'enough');
    const isOver = () => open().length === 1 && tables.closingRuns().length === 0;
    await until(isOver);
    expect(open()).toEqual(['deep/0']);
    expect(Math.max(...commits)).toBeLessThanOrEqual(PIECE + 1);
    onCommit = () => {};
    await engine.close();
    for (const each of killed) {
      engine = opened(each);
      engine.flush();
      await start('other');
      await until(() => open().length === 2 && tables.closingRuns().length === 0);
      await engine.close();
    }
  });

  it('that is no larger ends in the commit that closes its parent', async () => {
    const root = await start('root');
    await answer({ root: children('root', PIECE, 'TERMINATE') });
    const commits: number[] = [];
    onCommit = (runs) => commits.push(runs);
    await engine.terminate(root, 'enough');
    expect(commits).toEqual([PIECE + 1]);
    expect(hasEnded()).toBe(true);
  });
});

describe('a child that is still to end', () => {
  const last = { workflowId: `root/${CHILDREN - 1}` };

  it('has its turn under way taken from it, and no message', async () => {
    const root = await start('root');
    await answer({ root: children('root', CHILDREN, 'TERMINATE') });
    worker.takeOver(() => false);
    await engine.signal(last, 'go', []);
    const underWay = await worker.next('turn');
    await engine.terminate(root, 'enough');
    expect(open()).toContain(last.workflowId);
    worker.completeTurn(underWay, [step(1)]);
    await expect(engine.signal(last, 'late', [])).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
    await until(hasEnded);
    expect(await typesOf(last.workflowId)).not.toContain('ACTIVITY_TASK_SCHEDULED');
    expect(worker.pending('step')).toEqual([]);
  });

  it('sees in its next turn that it was asked to stop', async () => {
    await start('root');
    await answer({ root: children('root', CHILDREN) });
    worker.takeOver(() => false);
    worker.lose();
    await engine.signal(last, 'go', []);
    await engine.terminate({ workflowId: 'root' }, 'enough');
    expect(open()).toContain(last.workflowId);
    worker = new ScriptedWorker(engine, { turns: 1 });
    for (let left = CHILDREN; left > 0; left--) {
      const task = await worker.next('turn');
      expect(task.events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
      worker.completeTurn(task, [{ kind: 'cancelRun' }]);
    }
    await until(hasEnded);
  });

  it('is found by the run that it went on as', async () => {
    const root = await start('root');
    await answer({
      root: children('root', CHILDREN, 'TERMINATE'),
      [last.workflowId]: [{ kind: 'continueAsNew', workflowType: 'flow', input: [] }],
    });
    await engine.terminate(root, 'enough');
    await until(hasEnded);
    expect((await engine.describe(last)).status).toBe('terminated');
  });

  it('has ended when its parent is reset, which hears of it', async () => {
    const root = await start('root');
    await answer({ root: [...children('root', CHILDREN, 'TERMINATE'), step(1)] });
    worker.takeOver(() => false);
    worker.completeStep(await worker.next('step'));
    await worker.turn();
    await engine.terminate(root, 'enough');
    expect(open()).toContain(last.workflowId);
    await engine.reset(root, { stepName: 'work' });
    const ended = (await typesOf('root')).filter((type) => type === 'CHILD_WORKFLOW_EXECUTION_TERMINATED');
    expect(ended).toHaveLength(CHILDREN);
    await until(() => tables.closingRuns().length === 0);
    expect(open()).toEqual(['root']);
  });
});
