/** A worker that says what it has not been asked: it concerns nobody's turn, step or run. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FromWorker, StepTask, TurnTask } from '../../src/core/task.js';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import {
  CATALOG,
  complete,
  Folder,
  ScriptedWorker,
  step,
} from '../../src/embedded/scripted-worker.fixture.js';
import type { RunRef } from '../../src/engine.js';

let folder: Folder;
let engine: EmbeddedEngine;
let honest: ScriptedWorker;
let forger: ScriptedWorker;
let run: RunRef;
let task: StepTask;
let openTurn: TurnTask;

beforeEach(async () => {
  folder = new Folder();
  engine = folder.open();
  honest = new ScriptedWorker(engine, { workerId: 'honest' });
  run = await engine.start({ workflowType: 'flow', catalog: CATALOG, workflowId: 'w', input: ['1'] });
  await honest.turn(step(1));
  task = await honest.next('step');
  await engine.start({ workflowType: 'flow', catalog: CATALOG, workflowId: 'other', input: ['1'] });
  openTurn = await honest.next('turn');
  forger = new ScriptedWorker(engine, { workerId: 'forger', turns: 0, steps: 0 });
});
afterEach(() => folder.remove());

const failure = { kind: 'application', type: 'Error', message: 'forged' } as const;

const FORGED: [string, () => FromWorker][] = [
  ["the result of another's step", () => ({ kind: 'stepCompleted', ...attempt(), result: '"forged"' })],
  ["the failure of another's step", () => ({ kind: 'stepFailed', ...attempt(), failure })],
  ["the end of another's step", () => ({ kind: 'stepCancelled', ...attempt() })],
  ["a heartbeat of another's step", () => ({ kind: 'stepHeartbeat', ...attempt(), details: '"forged"' })],
  [
    'a step of a run that is not',
    () => ({ kind: 'stepCompleted', ...attempt(), runId: UNKNOWN, result: '1' }),
  ],
  [
    'a step that was never scheduled',
    () => ({ kind: 'stepCompleted', ...attempt(), scheduledEventId: 1, result: '1' }),
  ],
  ['an attempt to come', () => ({ kind: 'stepCompleted', ...attempt(), attempt: 2, result: '1' })],
  ["the answer to another's turn", () => answer(openTurn.turnId, openTurn.runId)],
  ['the answer to a turn that is not', () => answer(999_999, run.runId)],
  [
    "another's turn as failed",
    () => ({
      kind: 'turnFailed',
      turnId: openTurn.turnId,
      runId: openTurn.runId,
      cause: 'NON_DETERMINISTIC_ERROR',
      failure,
    }),
  ],
  [
    "another's turn as missed",
    () => ({ kind: 'turnMissed', turnId: openTurn.turnId, runId: openTurn.runId }),
  ],
  ["that another's run is forgotten", () => ({ kind: 'evicted', runIds: [run.runId] })],
];
const UNKNOWN = '0198c0de-0000-7000-8000-000000000000';
const attempt = () => ({ runId: task.runId, scheduledEventId: task.scheduledEventId, attempt: task.attempt });
const answer = (turnId: number, runId: string): FromWorker => ({
  kind: 'turnCompleted',
  turnId,
  runId,
  commands: [complete('"forged"')],
  answers: [],
});

const historiesOf = async () =>
  JSON.stringify([
    await engine.history({ workflowId: 'w' }, { afterEventId: 0, limit: 100 }),
    await engine.history({ workflowId: 'other' }, { afterEventId: 0, limit: 100 }),
  ]);

it.each(FORGED)('%s changes nothing, and the honest worker goes on', async (_what, message) => {
  const before = await historiesOf();
  forger.say(message());
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(await historiesOf()).toBe(before);
  for (const worker of [honest, forger]) {
    for (const kind of ['turn', 'step'] as const) expect(worker.pending(kind)).toEqual([]);
  }

  honest.completeStep(task, '"honest"');
  await honest.turn(complete('"honest"'));
  honest.completeTurn(openTurn, [complete('"honest"')]);
  for (const workflowId of ['w', 'other']) {
    expect(await engine.outcome({ workflowId }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
      output: '"honest"',
    });
  }
});

it('an honest answer that comes twice counts once', async () => {
  honest.completeStep(task, '"first"');
  honest.completeStep(task, '"second"');
  await honest.turn(complete());
  await engine.outcome({ workflowId: 'w' }, { waitMs: 5_000 });
  const { events } = await engine.history({ workflowId: 'w' }, { afterEventId: 0, limit: 100 });
  const results = events.filter(({ type }) => type === 'ACTIVITY_TASK_COMPLETED');
  expect(results).toHaveLength(1);
  expect(results[0]!.attributes).toMatchObject({ result: '"first"' });
});
