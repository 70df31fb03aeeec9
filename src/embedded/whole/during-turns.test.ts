/**
 * Whatever arrives while a turn is under way, however that turn ends, and wherever a kill comes in between: it is seen
 * once, nothing hangs, and everybody who waits gets an answer. Every pair of an arrival and an ending is played; what
 * holds after each commit is looked at by the folder (commit-check.fixture.ts, on-disk.fixture.ts).
 */
import { describe, expect, it } from 'vitest';
import { takeOneIn } from '../../../test/share.js';
import type { Command } from '../../core/history/command.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { StepTask, ToWorker, TurnTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  child,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from '../scripted-worker.fixture.js';
import type { ActiveRun } from '../store/active-run.js';

takeOneIn(2);

const ID = 'main';
const once = {
  initialIntervalMs: 1_000,
  backoffCoefficient: 1,
  maximumIntervalMs: 1_000,
  maximumAttempts: 1,
  nonRetryableErrorTypes: [],
};
/** Longer than the timer takes, and than the step may. */
const TIMER_MS = 5_000;
const STEP_MS = 20_000;
/** Nothing in here takes longer, however busy the machine is. */
const BOUND_MS = 60_000;

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let impatience: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    impatience = setTimeout(() => reject(new Error(`${what} has not come in ${BOUND_MS} ms`)), BOUND_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(impatience));
}

/** A run that waits for a timer, a step and a child, whose turn is under way because of a signal. */
class Scene {
  readonly clock = new HandClock();
  readonly folder = new Folder();
  engine!: EmbeddedEngine;
  /** Takes turns only, so that nothing else is lost with it. */
  worker!: ScriptedWorker;
  stepWorker!: ScriptedWorker;
  run!: RunRef;
  kid!: RunRef;
  /** The step that a worker has. */
  step!: StepTask;
  underWay!: TurnTask;
  /** Answers that callers wait for. */
  readonly answers: Promise<unknown>[] = [];
  #onCommit: ((runs: Iterable<ActiveRun>) => void) | undefined;

  constructor() {
    this.open();
  }

  open(folder = this.folder): void {
    this.engine = folder.open({
      clock: this.clock,
      inspectCommit: (_tables, runs) => this.#onCommit?.(runs),
    });
    this.stepWorker = new ScriptedWorker(this.engine, { turns: 0 });
    this.replaceWorker();
  }

  replaceWorker(codeId = 'v1'): void {
    this.worker = new ScriptedWorker(this.engine, { steps: 0, codeId });
  }

  start(workflowId: string): Promise<RunRef> {
    return this.engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });
  }

  /** The next turn of that workflow; those of others before it are answered with nothing. */
  async turnOf(workflowId: string): Promise<TurnTask> {
    for (;;) {
      const task = await this.worker.next('turn');
      if (task.workflowId === workflowId) return task;
      this.worker.completeTurn(task);
    }
  }

  async stepCalled(name: string): Promise<StepTask> {
    for (;;) {
      const task = await this.stepWorker.next('step');
      if (task.stepName === name) return task;
    }
  }

  async begin(): Promise<this> {
    const { worker } = this;
    this.run = await this.start(ID);
    worker.completeTurn(await this.turnOf(ID), [step(1, 'first')]);
    this.stepWorker.completeStep(await this.stepCalled('first'));
    worker.completeTurn(await this.turnOf(ID), [
      timer(2, TIMER_MS),
      step(3, 'work', { retry: once, startToCloseTimeoutMs: STEP_MS }),
      child(4, 'kid'),
    ]);
    this.step = await this.stepCalled('work');
    worker.completeTurn(await this.turnOf('kid'));
    worker.completeTurn(await this.turnOf(ID));
    this.kid = { workflowId: 'kid', runId: (await this.engine.describe({ workflowId: 'kid' })).runId };
    // The turn carries messages, whose callers get their answers however it ends.
    const signal = this.engine.signal(this.run, 'go', []);
    this.answer(this.engine.update(this.run, 'carried', []));
    this.answer(this.engine.query(this.run, 'carried', []));
    await signal;
    this.underWay = await this.turnOf(ID);
    expect([this.underWay.updates.length, this.underWay.queries.length]).toEqual([1, 1]);
    return this;
  }

  /** Resolves when a commit has brought something into the inbox of the run. */
  async arrived(act: () => void): Promise<void> {
    const arrival = new Promise<void>((resolve) => {
      this.#onCommit = (runs) => {
        for (const { state, inbox } of runs) if (state.workflowId === ID && inbox.length > 0) resolve();
      };
    });
    act();
    await within(arrival, 'what should arrive');
    this.#onCommit = undefined;
  }

  /** Resolves when all that was decided is on disk, by writing something of no consequence. */
  settle(): Promise<void> {
    return this.engine.recordTrace(this.run, {});
  }

  answer(promise: Promise<unknown>): void {
    this.answers.push(promise.catch((error: Error) => error.name));
  }
}

/** Something that arrives for the run, and the events by which it is known to have been seen. */
interface Arrival {
  name: string;
  act(scene: Scene): Promise<void>;
  isSeen?(event: HistoryEvent, scene: Scene): boolean;
  count?: number;
}

const isSignal = (event: HistoryEvent, signalName: string) =>
  event.type === 'WORKFLOW_EXECUTION_SIGNALED' && event.attributes.signalName === signalName;
const endsStep = ({ type, attributes }: HistoryEvent, { step }: Scene) =>
  /^ACTIVITY_TASK_(COMPLETED|FAILED|TIMED_OUT|CANCELED)$/.test(type) &&
  (attributes as { scheduledEventId: number }).scheduledEventId === step.scheduledEventId;
const endsTimer = ({ type, attributes }: HistoryEvent) =>
  /^TIMER_(FIRED|CANCELED)$/.test(type) && (attributes as { timerId: string }).timerId === '2';

const ARRIVALS: Arrival[] = [
  { name: 'nothing', act: async () => {} },
  {
    name: 'a signal',
    act: async ({ engine, run }) => void (await engine.signal(run, 'A', [])),
    isSeen: (event) => isSignal(event, 'A'),
  },
  {
    name: 'two signals, between which the run is evicted',
    async act({ engine, run, worker }) {
      await engine.signal(run, 'A', []);
      worker.say({ kind: 'evicted', runIds: [run.runId] });
      await engine.signal(run, 'A', []);
    },
    isSeen: (event) => isSignal(event, 'A'),
    count: 2,
  },
  {
    name: 'an update',
    act: async (scene) => scene.answer(scene.engine.update(scene.run, 'change', [])),
  },
  {
    name: 'a query',
    act: async (scene) => scene.answer(scene.engine.query(scene.run, 'state', [])),
  },
  {
    name: 'a timer',
    act: (scene) => scene.arrived(() => scene.clock.pass(TIMER_MS)),
    isSeen: endsTimer,
  },
  {
    name: 'a timer, and then much time',
    async act(scene) {
      await scene.arrived(() => scene.clock.pass(TIMER_MS));
      scene.clock.pass(TIMER_MS);
      await scene.arrived(() => void scene.engine.signal(scene.run, 'later', []));
    },
    isSeen: endsTimer,
  },
  {
    name: 'the completion of a step',
    act: (scene) => scene.arrived(() => scene.stepWorker.completeStep(scene.step, '"paid"')),
    isSeen: endsStep,
  },
  {
    name: 'the failure of a step',
    act: (scene) => scene.arrived(() => scene.stepWorker.failStep(scene.step)),
    isSeen: endsStep,
  },
  {
    name: 'the timeout of a step, and then its answer',
    async act(scene) {
      await scene.arrived(() => scene.clock.pass(STEP_MS));
      await scene.stepWorker.next('stopStep');
      scene.stepWorker.completeStep(scene.step, '"late"');
    },
    isSeen: endsStep,
  },
  {
    name: 'the completion of a step, and then its timeout',
    async act(scene) {
      await scene.arrived(() => scene.stepWorker.completeStep(scene.step, '"paid"'));
      // The timer is due by then as well, so that there is something to wait for.
      await scene.arrived(() => scene.clock.pass(STEP_MS));
      await scene.settle();
    },
    isSeen: endsStep,
  },
  {
    name: 'the end of a child',
    async act(scene) {
      await scene.engine.signal(scene.kid, 'end', []);
      const task = await scene.turnOf('kid');
      await scene.arrived(() => scene.worker.completeTurn(task, [complete('"grown up"')]));
    },
    isSeen: ({ type }) => /^CHILD_WORKFLOW_EXECUTION_(?!STARTED)/.test(type),
  },
  {
    name: 'a request to stop, twice',
    async act({ engine, run }) {
      await engine.cancel(run);
      await engine.cancel(run);
    },
    isSeen: ({ type }) => type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
  },
  {
    name: 'a signal of another workflow',
    async act(scene) {
      await scene.start('other');
      const task = await scene.turnOf('other');
      const command = { kind: 'signalExternal', signalSeq: '1', workflowId: ID, signalName: 'A', input: [] };
      await scene.arrived(() => scene.worker.completeTurn(task, [command as Command]));
    },
    isSeen: (event) => isSignal(event, 'A'),
  },
];

/** How the turn under way ends. What it asks for must stand before what arrived meanwhile. */
interface Ending {
  name: string;
  act(scene: Scene): Promise<void> | void;
}

const misfit = { kind: 'application', type: 'NonDeterministicError', message: 'does not fit' } as const;
const answers =
  (...commands: Command[]) =>
  ({ worker, underWay }: Scene) =>
    worker.completeTurn(underWay, commands);

const ENDINGS: Ending[] = [
  { name: 'is answered with nothing', act: answers() },
  { name: 'asks for more', act: answers(timer(5, 60_000), step(6, 'more')) },
  {
    name: 'no longer wants what it waits for',
    act: answers({ kind: 'cancelTimer', timerId: '2' }, { kind: 'cancelStep', activityId: '3' }),
  },
  { name: 'wants to complete', act: answers(complete()) },
  { name: 'wants to fail', act: answers({ kind: 'failRun', failure: misfit }) },
  {
    name: 'wants to continue as new',
    act: answers({ kind: 'continueAsNew', workflowType: 'flow', input: [] }),
  },
  {
    name: 'fails, and fits after a deployment',
    async act(scene) {
      const { turnId, runId } = scene.underWay;
      const failed = { turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure: misfit } as const;
      scene.worker.say({ kind: 'turnFailed', ...failed });
      await scene.settle();
      scene.worker.lose();
      scene.replaceWorker('v2');
    },
  },
  {
    name: 'fails, and is terminated',
    async act(scene) {
      const { turnId, runId } = scene.underWay;
      const failed = { turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure: misfit } as const;
      scene.worker.say({ kind: 'turnFailed', ...failed });
      await scene.settle();
      await scene.engine.terminate(scene.run, 'enough');
    },
  },
  {
    name: 'is lost with its worker',
    act(scene) {
      const { worker } = scene;
      scene.replaceWorker();
      worker.lose();
    },
  },
  {
    name: 'finds its run gone from the cache',
    act({ worker, underWay: { turnId, runId } }) {
      worker.say({ kind: 'evicted', runIds: [runId] });
      worker.say({ kind: 'turnMissed', turnId, runId });
    },
  },
  {
    name: 'is overtaken by a terminate',
    async act({ engine, run, worker, underWay }) {
      await engine.terminate(run, 'enough');
      worker.completeTurn(underWay, [complete('"too late"')]);
    },
  },
  {
    name: 'is overtaken by a reset',
    async act({ engine, run, worker, underWay }) {
      await engine.reset(run, { stepName: 'first' });
      worker.completeTurn(underWay, [complete('"too late"')]);
    },
  },
  {
    name: 'is overtaken by a shutdown',
    async act(scene) {
      await scene.engine.close();
      scene.open();
    },
  },
];

/** Answers everything, and completes runs that have got the signal to end. Notes the steps that are given out. */
function autopilot(worker: ScriptedWorker, steps: StepTask[]): void {
  const ending = new Set<string>();
  worker.takeOver((message: ToWorker) => {
    if (message.kind === 'step') {
      steps.push(message);
      queueMicrotask(() => worker.completeStep(message));
      return true;
    }
    if (message.kind !== 'turn') return false;
    if (message.events.some((event) => isSignal(event, 'end'))) ending.add(message.runId);
    const updates = message.updates.flatMap(({ updateId }): Command[] => [
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId, result: '"changed"' },
    ]);
    const isEnding = ending.has(message.runId) && !message.readOnly;
    const replies = message.queries.map(
      ({ queryId }) => ({ kind: 'answered', queryId, result: '1' }) as const,
    );
    queueMicrotask(() =>
      worker.completeTurn(message, [...updates, ...(isEnding ? [complete()] : [])], replies),
    );
    return true;
  });
}

/** Resolves when the workflow has made every turn that it has to make, which nobody has to push it to. */
async function seenAll(engine: EmbeddedEngine): Promise<void> {
  for (;;) {
    const { runId, historyLength, status } = await engine.describe({ workflowId: ID });
    const run = { workflowId: ID, runId };
    const { events } = await engine.history(run, { afterEventId: 0, limit: 1_000 });
    const turn = events.findLast(({ type }) => /^WORKFLOW_TASK_(SCHEDULED|COMPLETED)$/.test(type));
    if (status !== 'running' || turn?.type !== 'WORKFLOW_TASK_SCHEDULED') return;
    await engine.history(run, { afterEventId: historyLength, limit: 1, waitMs: BOUND_MS });
  }
}

/** Lets the workflow go on until it is closed, and gives back the histories of its runs, the oldest first. */
async function finish(engine: EmbeddedEngine, ...workers: ScriptedWorker[]) {
  const steps: StepTask[] = [];
  for (const worker of workers) autopilot(worker, steps);
  await within(seenAll(engine), 'the turn that sees what has arrived');
  await engine.signal({ workflowId: ID }, 'end', []).catch((error: Error) => {
    expect(error.name).toBe('WorkflowAlreadyClosedError');
  });
  const outcome = await within(
    engine.outcome({ workflowId: ID }, { waitMs: BOUND_MS }),
    `the end of ${ID}, which`,
  );
  expect(outcome, 'the run has not come to its end').toBeDefined();
  const { runs } = await engine.list({ workflowId: ID }, { limit: 10 });
  const histories = await Promise.all(
    runs.reverse().map(async (run) => (await engine.history(run, { afterEventId: 0, limit: 1_000 })).events),
  );
  expect((await engine.describe({ workflowId: ID })).heldBack).toBeUndefined();
  return { histories, steps };
}

type Finished = Awaited<ReturnType<typeof finish>>;

function expectSeen({ histories, steps }: Finished, arrival: Arrival, ending: Ending, scene: Scene): void {
  expect(
    steps.map(({ stepName }) => stepName),
    'a completed step runs again',
  ).not.toContain('first');
  const { isSeen, count = 1 } = arrival;
  if (!isSeen) return;
  const counts = histories.map((events) => events.filter((event) => isSeen(event, scene)).length);
  // Of a run that is ended from outside, what waited stands there as well.
  expect(Math.max(...counts), `${arrival.name} in a turn that ${ending.name}`).toBe(count);
  const last = histories.at(-1)!;
  const isReset = last.some(
    ({ type, attributes }) => type === 'WORKFLOW_TASK_FAILED' && 'newRunId' in attributes,
  );
  if (isReset && isSeen(SIGNAL, scene)) expect(counts.at(-1), 'after the reset').toBe(count);
  const asked = last.findIndex(
    ({ type, attributes }) => type === 'TIMER_STARTED' && attributes.timerId === '5',
  );
  if (asked >= 0)
    expect(
      last.findIndex((event) => isSeen(event, scene)),
      'its place',
    ).toBeGreaterThan(asked);
}

const SIGNAL: HistoryEvent = {
  ...{ id: 1, at: 1, type: 'WORKFLOW_EXECUTION_SIGNALED' },
  attributes: { signalName: 'A', input: [] },
};

/** At a time: most of them wait for the engine to look at the clock. */
describe.concurrent.each(ARRIVALS)('while a turn is under way there comes $name', (arrival) => {
  it.for(ENDINGS)('and the turn $name', async (ending, { onTestFinished }) => {
    const scene = new Scene();
    const folders = [scene.folder];
    onTestFinished(async () => {
      for (const folder of folders) await folder.remove();
    });
    await scene.begin();
    await arrival.act(scene);
    folders.push(scene.folder.asKilled());
    await ending.act(scene);
    await scene.settle();
    folders.push(scene.folder.asKilled());

    const finished = await finish(scene.engine, scene.worker, scene.stepWorker);
    expectSeen(finished, arrival, ending, scene);
    await within(Promise.all(scene.answers), 'an answer');
    for (const copy of folders.slice(1)) {
      const engine = copy.open({ clock: scene.clock });
      expectSeen(await finish(engine, new ScriptedWorker(engine)), arrival, ending, scene);
    }
  });
});
