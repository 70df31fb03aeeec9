/** Large families: the end of a run reaches all of its children, a few at a commit, whatever comes in between. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { ParentClosePolicy } from '../../core/history/event.js';
import { child, complete, ScriptedWorker, step } from '../scripted-worker.fixture.js';
import { FamilyStage } from './family.fixture.js';

const PIECE = 4;
const CHILDREN = 14;
const limits = { childrenEndedAtOnce: PIECE, cachedRuns: 3 };

const stage = new FamilyStage(limits);

const children = (of: string, count: number, policy?: ParentClosePolicy): Command[] =>
  Array.from({ length: count }, (_, index) => child(index + 1, `${of}/${index}`, policy));

const hasEnded = () => stage.open.length === 0 && stage.tables.closingRuns().length === 0;

const typesOf = async (workflowId: string) =>
  (await stage.engine.history({ workflowId }, { afterEventId: 0, limit: 100 })).events.map(
    ({ type }) => type,
  );

describe('a large family', () => {
  it('ends a few at a commit, and others are answered in between', async () => {
    const root = await stage.start('root');
    const other = await stage.start('other');
    await stage.answer({ root: children('root', CHILDREN, 'TERMINATE') });
    const commits: number[] = [];
    stage.onCommit = (runs) => commits.push(runs);
    await stage.engine.terminate(root, 'enough');
    expect(stage.open).toHaveLength(CHILDREN - PIECE + 1);
    await stage.engine.signal(other, 'go', []);
    expect(stage.open.length).toBeGreaterThan(PIECE);
    await stage.until(() => stage.open.length === 1 && stage.tables.closingRuns().length === 0);
    expect(stage.open).toEqual(['other']);
    expect(Math.max(...commits)).toBeLessThanOrEqual(PIECE + 1);
    for (let index = 0; index < CHILDREN; index++) {
      expect((await stage.engine.describe({ workflowId: `root/${index}` })).status).toBe('terminated');
    }
  });

  it('is not parted from its parent by retention before all of it has ended', async () => {
    const root = await stage.start('root');
    await stage.answer({ root: children('root', CHILDREN, 'TERMINATE') });
    const expired = () => stage.tables.runs.expired(Number.MAX_SAFE_INTEGER, 100).map(({ runId }) => runId);
    const early: boolean[] = [];
    stage.onCommit = () => {
      if (stage.tables.closingRuns().length > 0) early.push(expired().includes(root.runId));
    };
    await stage.engine.terminate(root, 'enough');
    await stage.until(hasEnded);
    expect(early.length).toBeGreaterThan(1);
    expect(early).not.toContain(true);
    expect(expired()).toContain(root.runId);
  });

  it('ends after a kill between any two commits, and gets nothing done before', async () => {
    const root = await stage.start('root');
    await stage.answer({ root: children('root', CHILDREN, 'TERMINATE') });
    for (let index = 0; index < CHILDREN; index++)
      await stage.engine.signal({ workflowId: `root/${index}` }, 'go', []);
    await stage.answer({});
    stage.worker.takeOver(() => false);
    // All of them have a turn to make.
    stage.worker.lose();
    for (let index = 0; index < CHILDREN; index++)
      await stage.engine.signal({ workflowId: `root/${index}` }, 'go', []);
    stage.killAfterEachCommit();
    await stage.engine.terminate(root, 'enough');
    await stage.until(hasEnded);
    expect(stage.killed.length).toBeGreaterThanOrEqual(Math.ceil(CHILDREN / PIECE));
    await stage.afterEachKill(async () => {
      await stage.engine.signal({ workflowId: 'other' }, 'go', []);
      await stage.until(() => stage.open.length === 1);
      expect((await stage.worker.next('turn')).workflowId).toBe('other');
      expect(stage.worker.pending('turn')).toEqual([]);
      await stage.until(() => stage.tables.closingRuns().length === 0);
    });
  });

  it('of which each is asked to stop hears of it once, also after a kill', async () => {
    const root = await stage.start('root');
    await stage.answer({ root: children('root', CHILDREN) });
    stage.worker.takeOver(() => false);
    await stage.engine.signal(root, 'go', []);
    stage.killAfterEachCommit();
    await stage.worker.turn(complete());
    await stage.until(
      () => stage.killed.length > CHILDREN / PIECE && stage.tables.closingRuns().length === 0,
    );
    await stage.afterEachKill(async () => {
      await stage.until(() => stage.tables.closingRuns().length === 0);
      for (let index = 0; index < CHILDREN; index++) {
        const types = await typesOf(`root/${index}`);
        expect(types.filter((type) => type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED')).toHaveLength(1);
      }
    });
  });

  it('ends over all generations, a few at a commit', async () => {
    const root = await stage.start('root');
    await stage.answer({
      root: children('root', 3, 'TERMINATE'),
      'root/0': children('root/0', 3, 'TERMINATE'),
      'root/1': children('root/1', 5, 'TERMINATE'),
      'root/0/2': children('root/0/2', 6, 'TERMINATE'),
      'root/0/2/5': children('deep', 1, 'ABANDON'),
    });
    const commits: number[] = [];
    stage.onCommit = (runs) => {
      commits.push(runs);
      stage.killed.push(stage.folder.asKilled());
    };
    await stage.engine.terminate(root, 'enough');
    const isOver = () => stage.open.length === 1 && stage.tables.closingRuns().length === 0;
    await stage.until(isOver);
    expect(stage.open).toEqual(['deep/0']);
    expect(Math.max(...commits)).toBeLessThanOrEqual(PIECE + 1);
    await stage.afterEachKill(async () => {
      await stage.until(() => stage.open.length === 2 && stage.tables.closingRuns().length === 0);
    });
  });

  it('that is no larger ends in the commit that closes its parent', async () => {
    const root = await stage.start('root');
    await stage.answer({ root: children('root', PIECE, 'TERMINATE') });
    const commits: number[] = [];
    stage.onCommit = (runs) => commits.push(runs);
    await stage.engine.terminate(root, 'enough');
    expect(commits).toEqual([PIECE + 1]);
    expect(hasEnded()).toBe(true);
  });
});

describe('a child that is still to end', () => {
  const last = { workflowId: `root/${CHILDREN - 1}` };

  it('has its turn under way taken from it, and no message', async () => {
    const root = await stage.start('root');
    await stage.answer({ root: children('root', CHILDREN, 'TERMINATE') });
    stage.worker.takeOver(() => false);
    await stage.engine.signal(last, 'go', []);
    const underWay = await stage.worker.next('turn');
    await stage.engine.terminate(root, 'enough');
    expect(stage.open).toContain(last.workflowId);
    stage.worker.completeTurn(underWay, [step(1)]);
    await expect(stage.engine.signal(last, 'late', [])).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
    await stage.until(hasEnded);
    expect(await typesOf(last.workflowId)).not.toContain('ACTIVITY_TASK_SCHEDULED');
    expect(stage.worker.pending('step')).toEqual([]);
  });

  it('sees in its next turn that it was asked to stop', async () => {
    await stage.start('root');
    await stage.answer({ root: children('root', CHILDREN) });
    stage.worker.takeOver(() => false);
    stage.worker.lose();
    await stage.engine.signal(last, 'go', []);
    await stage.engine.terminate({ workflowId: 'root' }, 'enough');
    expect(stage.open).toContain(last.workflowId);
    stage.worker = new ScriptedWorker(stage.engine, { turns: 1 });
    for (let left = CHILDREN; left > 0; left--) {
      const task = await stage.worker.next('turn');
      expect(task.events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
      stage.worker.completeTurn(task, [{ kind: 'cancelRun' }]);
    }
    await stage.until(hasEnded);
  });

  it('is found by the run that it went on as', async () => {
    const root = await stage.start('root');
    await stage.answer({
      root: children('root', CHILDREN, 'TERMINATE'),
      [last.workflowId]: [{ kind: 'continueAsNew', workflowType: 'flow', input: [] }],
    });
    await stage.engine.terminate(root, 'enough');
    await stage.until(hasEnded);
    expect((await stage.engine.describe(last)).status).toBe('terminated');
  });

  it('has ended when its parent is reset, which hears of it', async () => {
    const root = await stage.start('root');
    await stage.answer({ root: [...children('root', CHILDREN, 'TERMINATE'), step(1)] });
    stage.worker.takeOver(() => false);
    stage.worker.completeStep(await stage.worker.next('step'));
    await stage.worker.turn();
    await stage.engine.terminate(root, 'enough');
    expect(stage.open).toContain(last.workflowId);
    await stage.engine.reset(root, { stepName: 'work' });
    const ended = (await typesOf('root')).filter((type) => type === 'CHILD_WORKFLOW_EXECUTION_TERMINATED');
    expect(ended).toHaveLength(CHILDREN);
    await stage.until(() => stage.tables.closingRuns().length === 0);
    expect(stage.open).toEqual(['root']);
  });
});
