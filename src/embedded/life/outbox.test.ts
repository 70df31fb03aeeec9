/** What one turn does to many others reaches all of them, a few at a commit, whatever comes in between. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { EventTypeName, ParentClosePolicy } from '../../core/history/event.js';
import type { TurnTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import { child, complete, step } from '../scripted-worker.fixture.js';
import { FamilyStage } from './family.fixture.js';

const PIECE = 4;
const CHILDREN = 14;
const limits = { messagesSentAtOnce: PIECE, childrenEndedAtOnce: PIECE, cachedRuns: 3 };

const CANCELLED = 'WORKFLOW_EXECUTION_CANCEL_REQUESTED';
const SIGNALLED = 'WORKFLOW_EXECUTION_SIGNALED';
const CANCEL_ANSWERED = 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED';

const stage = new FamilyStage(limits);

const ids = Array.from({ length: CHILDREN }, (_, index) => `root/${index}`);
const last = ids.at(-1)!;

const children = (policy?: ParentClosePolicy): Command[] =>
  ids.map((id, index) => child(index + 1, id, policy));

const cancels = (): Command[] =>
  ids.map((workflowId, index) => ({
    kind: 'cancelExternal',
    cancelSeq: String(index + 1),
    workflowId,
    childSeq: String(index + 1),
  }));

const signal = (workflowId: string, seq: number): Command => ({
  kind: 'signalExternal',
  signalSeq: String(seq),
  workflowId,
  signalName: 'news',
  input: [],
});

/** Later turns are the test's to answer. */
async function answer(answers: Record<string, Command[]>): Promise<void> {
  await stage.answer(answers);
  stage.worker.takeOver(() => false);
}

const onTheirWay = (): number => [...stage.tables.outbox.all().values()].flat().length;

const typesOf = (workflowId: string): EventTypeName[] =>
  stage.tables.history.read(stage.tables.runs.latest(workflowId)!.key, 0).map(({ type }) => type);

const countOf = (workflowId: string, type: EventTypeName): number =>
  typesOf(workflowId).filter((each) => each === type).length;

const cancelled = (): string[] => ids.filter((id) => countOf(id, CANCELLED) > 0);

/** Turns of others stay under way. */
async function turnOf(workflowId: string): Promise<TurnTask> {
  for (;;) {
    const task = await stage.worker.next('turn');
    if (task.workflowId === workflowId) return task;
  }
}

/** A run with its children, which has the turn to make that the test answers. */
async function family(policy?: ParentClosePolicy): Promise<RunRef> {
  const root = await stage.start('root');
  await answer({ root: children(policy) });
  await stage.engine.signal(root, 'go', []);
  return root;
}

describe('the cancels of one turn', () => {
  it('arrive a few at a commit, and others are answered in between', async () => {
    const other = await stage.start('other');
    await answer({ other: [] });
    await family();
    const commits: number[] = [];
    stage.onCommit = (runs) => commits.push(runs);
    await stage.worker.turn(...cancels());
    await stage.engine.ready();
    stage.engine.flush();
    expect(cancelled()).toEqual(ids.slice(0, PIECE));
    expect(onTheirWay()).toBe(CHILDREN - PIECE);
    await stage.engine.signal(other, 'go', []);
    expect(cancelled().length).toBeLessThan(CHILDREN);
    await stage.until(() => onTheirWay() === 0);
    expect(cancelled()).toEqual(ids);
    expect(Math.max(...commits)).toBeLessThanOrEqual(PIECE + 2);
    expect(countOf('root', CANCEL_ANSWERED)).toBe(CHILDREN);
  });

  it('have all arrived when the sender makes its next turn', async () => {
    await family();
    stage.worker.completeTurn(await stage.worker.next('turn'), cancels());
    await stage.engine.signal({ workflowId: 'root' }, 'again', []);
    const task = await turnOf('root');
    expect(task.events.filter(({ type }) => type === CANCEL_ANSWERED)).toHaveLength(CHILDREN);
  });

  it('reach each once, after a kill between any two commits', async () => {
    await family();
    stage.killAfterEachCommit();
    await stage.worker.turn(...cancels());
    await stage.until(() => stage.killed.length > 0 && onTheirWay() === 0 && cancelled().length === CHILDREN);
    expect(stage.killed.length).toBeGreaterThanOrEqual(Math.ceil(CHILDREN / PIECE));
    await stage.afterEachKill(async () => {
      await stage.until(() => onTheirWay() === 0);
      // The kill may have come before the turn was recorded.
      if (cancelled().length === 0) return;
      for (const id of ids) expect(countOf(id, CANCELLED)).toBe(1);
      expect(countOf('root', CANCEL_ANSWERED)).toBe(CHILDREN);
      await turnOf('root');
    });
  });

  it('are not parted from their sender by retention before all have arrived', async () => {
    const root = await family('ABANDON');
    const expired = () => stage.tables.runs.expired(Number.MAX_SAFE_INTEGER, 100).map(({ runId }) => runId);
    const early: boolean[] = [];
    stage.onCommit = () => {
      if (onTheirWay() > 0) early.push(expired().includes(root.runId));
    };
    await stage.worker.turn(...cancels(), complete());
    await stage.until(() => cancelled().length === CHILDREN && onTheirWay() === 0);
    expect(early.length).toBeGreaterThan(1);
    expect(early).not.toContain(true);
    expect(expired()).toContain(root.runId);
  });

  it.each<[string, Command]>([
    ['completes', complete()],
    ['goes on as another run', { kind: 'continueAsNew', workflowType: 'flow', input: [] }],
  ])('arrive when the turn also closes the run, which %s, after a kill too', async (_, close) => {
    const root = await family('ABANDON');
    stage.killAfterEachCommit();
    await stage.worker.turn(...cancels(), signal(last, 1), close);
    await stage.until(() => stage.killed.length > 1 && onTheirWay() === 0 && cancelled().length === CHILDREN);
    await stage.afterEachKill(async () => {
      await stage.until(() => onTheirWay() === 0);
      if (stage.tables.runs.byId(root.runId)!.closed_at !== null) {
        for (const id of ids) expect(countOf(id, CANCELLED)).toBe(1);
        const heard = typesOf(last).filter((type) => type === CANCELLED || type === SIGNALLED);
        expect(heard).toEqual([CANCELLED, SIGNALLED]);
      }
    });
  });
});

it.each<[string, Command, EventTypeName]>([
  ['signal', signal('alone', 1), 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED'],
  [
    'cancel',
    { kind: 'cancelExternal', cancelSeq: '1', workflowId: 'alone' },
    'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
  ],
])('a %s that a run sends to itself finds nobody', async (_what, command, failed) => {
  await stage.start('alone');
  await stage.worker.turn(command);
  const { events } = await turnOf('alone');
  expect(events.map(({ type }) => type)).toContain(failed);
  expect(typesOf('alone').filter((type) => type === CANCELLED || type === SIGNALLED)).toEqual([]);
});

describe('what is on its way', () => {
  const heardBy = (workflowId: string) =>
    typesOf(workflowId).filter((type) => type === CANCELLED || type === SIGNALLED);

  it('stays in the order in which it was sent, and before what callers send later', async () => {
    await family();
    stage.worker.completeTurn(await stage.worker.next('turn'), [...cancels(), signal(last, 1)]);
    stage.engine.flush();
    expect(heardBy(last)).toEqual([]);
    await stage.engine.signal({ workflowId: last }, 'late', []);
    expect(heardBy(last)).toEqual([CANCELLED, SIGNALLED, SIGNALLED]);
    const names = stage.tables.history
      .read(stage.tables.runs.latest(last)!.key, 0)
      .flatMap((event) => (event.type === SIGNALLED ? [event.attributes.signalName] : []));
    expect(names).toEqual(['news', 'late']);
    await stage.until(() => onTheirWay() === 0);
  });

  it('comes before the answer to a turn under way, which may not close the run', async () => {
    await family();
    const ofRoot = await stage.worker.next('turn');
    await stage.engine.signal({ workflowId: last }, 'go', []);
    const ofLast = await stage.worker.next('turn');
    expect(ofLast.workflowId).toBe(last);
    stage.worker.completeTurn(ofRoot, cancels());
    stage.engine.flush();
    expect(heardBy(last)).toEqual([SIGNALLED]);
    stage.worker.completeTurn(ofLast, [complete()]);
    await stage.until(() => onTheirWay() === 0);
    expect(heardBy(last)).toEqual([SIGNALLED, CANCELLED]);
    expect(typesOf(last)).not.toContain('WORKFLOW_EXECUTION_COMPLETED');
  });

  it('is answered at once by whoever has closed, or is not there', async () => {
    await family();
    await stage.engine.terminate({ workflowId: last }, 'enough');
    await stage.worker.turn(...cancels(), signal('nobody', 1));
    stage.engine.flush();
    expect(onTheirWay()).toBe(CHILDREN - PIECE - 1);
    expect(typesOf('root')).toContain('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED');
    await stage.until(() => onTheirWay() === 0);
    expect(countOf('root', CANCEL_ANSWERED)).toBe(CHILDREN);
  });

  it('is told to the run that takes the place of its sender, which was terminated meanwhile', async () => {
    const root = await stage.start('root');
    await answer({ root: [...children('ABANDON'), step(1)] });
    const ofStep = await stage.worker.next('step');
    await stage.engine.signal(root, 'go', []);
    const turn = await stage.worker.next('turn');
    stage.worker.completeStep(ofStep);
    stage.worker.completeTurn(turn, cancels());
    stage.engine.flush();
    await stage.engine.terminate(root, 'enough');
    expect(onTheirWay()).toBeGreaterThan(0);
    await stage.engine.reset(root, { stepName: 'work' });
    expect(onTheirWay()).toBe(0);
    expect(countOf('root', 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED')).toBe(CHILDREN);
    expect(countOf('root', CANCEL_ANSWERED)).toBe(CHILDREN);
    for (const id of ids) expect(countOf(id, CANCELLED)).toBe(1);
  });
});

describe('children that a reset cuts off', () => {
  const isOpen = (workflowId: string) => stage.tables.runs.latest(workflowId)!.closed_at === null;

  /** A run that has asked for its children after its step. */
  async function afterItsStep(): Promise<RunRef> {
    const root = await stage.start('root');
    await answer({ root: [step(1)] });
    stage.worker.completeStep(await stage.worker.next('step'));
    await answer({ root: children() });
    return root;
  }

  it('end a few at a commit, after a kill too', async () => {
    const root = await afterItsStep();
    const commits: number[] = [];
    stage.onCommit = (runs) => {
      commits.push(runs);
      stage.killed.push(stage.folder.asKilled());
    };
    await stage.engine.reset(root, { stepName: 'work' });
    expect(ids.filter(isOpen)).toHaveLength(CHILDREN - PIECE);
    await stage.until(() => onTheirWay() === 0);
    expect(ids.filter(isOpen)).toEqual([]);
    expect(Math.max(...commits)).toBeLessThanOrEqual(PIECE + 2);
    await stage.afterEachKill(async () => {
      await stage.until(() => onTheirWay() === 0);
      expect(ids.filter(isOpen)).toEqual([]);
      expect(isOpen('root')).toBe(true);
    });
  });

  it('have ended when the new run starts others under their ids, and it hears nothing of them', async () => {
    const root = await afterItsStep();
    await stage.engine.reset(root, { stepName: 'work' });
    expect(ids.filter(isOpen)).toHaveLength(CHILDREN - PIECE);
    const before = ids.map((id) => stage.tables.runs.latest(id)!.run_id);
    await answer({ root: children() });
    await stage.until(() => onTheirWay() === 0);
    expect(ids.filter(isOpen)).toEqual(ids);
    expect(ids.map((id) => stage.tables.runs.latest(id)!.run_id)).not.toEqual(before);
    expect(typesOf('root')).not.toContain('START_CHILD_WORKFLOW_EXECUTION_FAILED');
    expect(typesOf('root')).not.toContain('CHILD_WORKFLOW_EXECUTION_TERMINATED');
    for (const id of before) {
      expect(stage.tables.runs.byId(id)!.status).toBe('terminated');
    }
  });

  it('and that go on by themselves say nothing to the new run, which has started others in their place', async () => {
    const root = await stage.start('root');
    await answer({ root: [step(1)] });
    stage.worker.completeStep(await stage.worker.next('step'));
    const detached = ids.map((id) => `detached/${id}`);
    await answer({ root: detached.map((id, index) => child(index + 1, id, 'ABANDON')) });
    await stage.engine.reset(root, { stepName: 'work' });
    await answer({ root: children() });
    // Some of them have the number in the old history that one of these has in the new.
    for (const workflowId of detached) {
      await stage.engine.signal({ workflowId }, 'go', []);
      await answer({ [workflowId]: [complete()] });
    }
    await stage.until(() => !detached.some(isOpen));
    expect(ids.filter(isOpen)).toEqual(ids);
    expect(typesOf('root')).not.toContain('CHILD_WORKFLOW_EXECUTION_COMPLETED');
  });
});
