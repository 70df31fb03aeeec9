/** What observers of the engine are told: whose trace things belong to, and what has failed, once that is on disk. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { AttemptEnded, EngineObserver, FailedAttempt, FailedRun, TurnEnded } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  child,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
} from '../scripted-worker.fixture.js';

const context = (digit: string): TraceContext => ({
  traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
  tracestate: `of=${digit}`,
});
const [STARTER, SIGNALLER, UPDATER] = [context('a'), context('b'), context('c')];
const fail: Command = { kind: 'failRun', failure: { kind: 'application', type: 'Refused', message: 'no' } };

let folder: Folder;
let clock: HandClock;
let turns: TurnEnded[];
let attempts: AttemptEnded[];
let failedAttempts: FailedAttempt[];
let failedRuns: FailedRun[];
const observer: EngineObserver = {
  turnEnded: (turn) => void turns.push(turn),
  attemptEnded: (attempt) => void attempts.push(attempt),
  attemptFailed: (attempt) => void failedAttempts.push(attempt),
  runFailed: (run) => void failedRuns.push(run),
};
beforeEach(() => {
  folder = new Folder();
  clock = new HandClock(1_000_000);
  [turns, attempts, failedAttempts, failedRuns] = [[], [], [], []];
});
afterEach(() => folder.remove());

const open = () => folder.open({ clock, observer });
const start = (engine: EmbeddedEngine, traceContext?: TraceContext) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId: 'w', traceContext });

it('as many runs start as close, with those of continue-as-new and reset', async () => {
  const seen: string[] = [];
  const engine = folder.open({
    clock,
    observer: {
      runStarted: (workflowType) => void seen.push(`${workflowType} started`),
      runClosed: (workflowType, status) => void seen.push(`${workflowType} ${status}`),
    },
  });
  const worker = new ScriptedWorker(engine);
  await start(engine);
  await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: ['2'] });
  await worker.turn();
  await engine.reset({ workflowId: 'w' }, { toStart: true });
  await worker.turn(complete());
  await engine.outcome({ workflowId: 'w' }, { waitMs: 5_000 });
  expect(seen.filter((each) => each === 'flow started')).toHaveLength(3);
  expect(seen.filter((each) => each !== 'flow started')).toEqual([
    'flow continued_as_new',
    'flow terminated',
    'flow completed',
  ]);
});

describe('the trace of a caller', () => {
  it('is that of all that follows: steps, children, the next run of the chain, also after a restart', async () => {
    let engine = open();
    let worker = new ScriptedWorker(engine);
    await start(engine, STARTER);
    await worker.turn(step(1), child(2, 'of-w'));
    expect(await worker.next('step')).toMatchObject({ traceContext: STARTER });
    await worker.turn(complete());
    await engine.close();

    engine = open();
    worker = new ScriptedWorker(engine);
    const again = await worker.next('step');
    expect(again).toMatchObject({ attempt: 2, traceContext: STARTER });
    worker.completeStep(again);
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: ['2'] });
    await worker.turn(step(1));
    expect(await worker.next('step')).toMatchObject({ traceContext: STARTER });
    expect(turns.length).toBeGreaterThanOrEqual(4);
    for (const { run } of turns) expect(run.traceContext).toEqual(STARTER);
    for (const { run } of attempts) expect(run.traceContext).toEqual(STARTER);
  });

  it('is kept with a message, and told with the turn that takes it, and only with that', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn();
    await engine.signal(run, 'go', [], { traceContext: SIGNALLER });
    await worker.turn();
    const update = engine.update(run, 'change', [], UPDATER);
    const task = await worker.next('turn');
    const { updateId } = task.updates[0]!;
    worker.completeTurn(task, [
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId },
    ]);
    await update;
    await engine.signal(run, 'go', []);
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    expect(turns.map(({ causes }) => causes)).toEqual([[], [SIGNALLER], [UPDATER], []]);

    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    const kept = events.flatMap(({ type, attributes }) =>
      'traceContext' in attributes && attributes.traceContext ? [[type, attributes.traceContext]] : [],
    );
    expect(kept).toEqual([
      ['WORKFLOW_EXECUTION_SIGNALED', SIGNALLER],
      ['WORKFLOW_EXECUTION_UPDATE_ACCEPTED', UPDATER],
    ]);
  });
});

describe('failures', () => {
  it('of attempts are told with the next one, and of runs with what they failed of', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(
      step(1, 'work', { retry: { ...DEFAULT_STEP_RETRY, maximumAttempts: 2, initialIntervalMs: 4_000 } }),
    );
    worker.failStep(await worker.next('step'), 'no money', 'CardDeclined');
    await engine.signal(run, 'to have all of it on disk', []);
    await worker.turn();
    const of = { ...run, workflowType: 'flow', stepName: 'work', maximumAttempts: 2 };
    const failure = { type: 'CardDeclined', message: 'no money' };
    expect(failedAttempts).toMatchObject([{ ...of, attempt: 1, nextAttemptAt: 1_004_000, failure }]);

    clock.pass(4_000);
    worker.failStep(await worker.next('step'), 'still no money', 'CardDeclined');
    await worker.turn(fail);
    await engine.outcome(run, { waitMs: 5_000 });
    expect(failedAttempts).toMatchObject([
      {},
      { ...of, attempt: 2, nextAttemptAt: null, failure: { message: 'still no money' } },
    ]);
    expect(failedRuns).toMatchObject([
      { ...run, workflowType: 'flow', status: 'failed', failure: { type: 'Refused', message: 'no' } },
    ]);
  });

  it('are not what somebody has ended', async () => {
    const engine = open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    await worker.next('step');
    await engine.terminate(run, 'enough');
    expect([failedAttempts, failedRuns]).toEqual([[], []]);
  });
});
