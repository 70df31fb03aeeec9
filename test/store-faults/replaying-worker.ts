/**
 * A worker in this process whose workflows are pure functions of their history: what a turn asks for is what the history
 * calls for and does not have yet. So it can take up any run where a restart has left it.
 */
import type { Command } from '../../src/core/history/command.js';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { FromWorker, StepTask, ToWorker, TurnTask, UpdateRequest } from '../../src/core/task.js';
import { step, timer, workflow } from '../../src/embedded/scripted-worker.fixture.js';
import type { TaskSource, WorkerSession } from '../../src/engine.js';

export const CATALOG = 'scenario';

/** Fails at first, so that a step is tried again. */
const STUMBLING = 'a';

/** Attempts that restarts cut off count too. */
const QUICK_RETRY = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 100,
  nonRetryableErrorTypes: [],
};

export interface Attempt {
  runId: string;
  scheduledEventId: number;
  attempt: number;
}

export class ReplayingWorker {
  readonly #session: WorkerSession;
  readonly #cache = new Map<string, HistoryEvent[]>();

  /** `onAttempt` hears of every step that begins. */
  constructor(
    engine: TaskSource,
    private readonly onAttempt: (attempt: Attempt) => void = () => {},
  ) {
    // Two rounds later, so that what arrives while a turn is under way is committed before the turn has ended.
    this.#session = engine.connect((message) =>
      setImmediate(() => setImmediate(() => this.#receive(message))),
    );
    this.#say({
      kind: 'register',
      catalog: CATALOG,
      workflows: ['order', 'child', 'victim'].map((name) => workflow(name)),
      slots: { turns: 100, steps: 100 },
      resultFormat: 'current',
      identity: 'replaying',
      codeId: 'v1',
    });
  }

  #say(message: FromWorker): void {
    this.#session.receive(message);
  }

  #receive(message: ToWorker): void {
    if (message.kind === 'turn') this.#turn(message);
    else if (message.kind === 'step') this.#step(message);
    else if (message.kind === 'ping') this.#say({ kind: 'pong' });
    else if (message.kind === 'forget') this.#cache.delete(message.runId);
  }

  #turn({ turnId, runId, workflowId, workflowType, events, updates, queries, readOnly }: TurnTask): void {
    const isWhole = events[0]?.id === 1;
    const known = isWhole ? [] : this.#cache.get(runId);
    if (!known) {
      this.#say({ kind: 'turnMissed', turnId, runId });
      return;
    }
    const history = [...known, ...events];
    this.#cache.set(runId, history);
    const commands = readOnly ? [] : decide({ workflowType, workflowId, history, updates });
    const answers = queries.map(({ queryId }) => ({
      queryId,
      kind: 'answered' as const,
      result: JSON.stringify(signalsOf(history)),
    }));
    this.#say({ kind: 'turnCompleted', turnId, runId, commands, answers });
  }

  #step({ runId, scheduledEventId, attempt, stepName }: StepTask): void {
    this.onAttempt({ runId, scheduledEventId, attempt });
    const which = { runId, scheduledEventId, attempt };
    if (stepName === STUMBLING && attempt === 1) {
      this.#say({
        kind: 'stepFailed',
        ...which,
        failure: { kind: 'application', type: 'Error', message: 'stumbled' },
      });
    } else this.#say({ kind: 'stepCompleted', ...which, result: JSON.stringify(stepName) });
  }
}

function signalsOf(history: readonly HistoryEvent[]): string[] {
  return history.flatMap((event) =>
    event.type === 'WORKFLOW_EXECUTION_SIGNALED' ? [event.attributes.signalName] : [],
  );
}

interface Situation {
  workflowType: string;
  workflowId: string;
  history: readonly HistoryEvent[];
  updates: readonly UpdateRequest[];
}

function decide(situation: Situation): Command[] {
  const has = new Facts(situation.history);
  if (situation.workflowType === 'child') {
    if (!has.step(1)) return [quickStep(1, 'c')];
    return has.stepResult(1) ? [{ kind: 'completeRun', result: '"child"' }] : [];
  }
  if (situation.workflowType === 'victim') return has.timer(1) ? [] : [timer(1, 3_600_000)];
  if (has.cancelRequested) return [{ kind: 'cancelRun' }];
  return has.input === '1' ? beginning(situation, has) : continuation(situation, has);
}

/** A step that stumbles, a timer, a child and a signal; then another step, and on as another run. */
function beginning({ workflowId }: Situation, has: Facts): Command[] {
  const commands: Command[] = [];
  if (!has.step(1)) commands.push(quickStep(1, STUMBLING));
  if (!has.timer(1)) commands.push(timer(1, 5));
  if (!has.child) {
    commands.push({
      kind: 'startChild',
      childSeq: '1',
      workflowId: `${workflowId}-child`,
      workflowType: 'child',
      input: [],
      parentClosePolicy: 'TERMINATE',
    });
  }
  const isComplete = has.stepResult(1) && has.timerFired && has.childClosed && has.signals.includes('go');
  if (!isComplete) return commands;
  if (!has.step(2)) return [...commands, quickStep(2, 'b')];
  return has.stepResult(2)
    ? [...commands, { kind: 'continueAsNew', workflowType: 'order', input: ['2'] }]
    : commands;
}

/** Updates, one kind of which needs a step, until a signal ends it. */
function continuation({ updates }: Situation, has: Facts): Command[] {
  const commands: Command[] = [];
  const slow = [...has.openUpdates];
  for (const { updateId, name } of updates) {
    commands.push({ kind: 'acceptUpdate', updateId });
    if (name === 'slow') slow.push(updateId);
    else commands.push({ kind: 'completeUpdate', updateId, result: '"added"' });
  }
  if (slow.length > 0) {
    if (!has.step(3)) commands.push(quickStep(3, 'd'));
    else if (has.stepResult(3)) {
      for (const updateId of slow) commands.push({ kind: 'completeUpdate', updateId, result: '"at last"' });
    }
  }
  if (has.signals.includes('finish')) commands.push({ kind: 'completeRun', result: '"done"' });
  return commands;
}

const quickStep = (id: number, name: string): Command => step(id, name, { retry: QUICK_RETRY });

/** What a history says. */
class Facts {
  readonly input: string | undefined;
  readonly signals: string[];
  readonly openUpdates = new Set<string>();
  child = false;
  childClosed = false;
  timerFired = false;
  cancelRequested = false;
  readonly #steps = new Map<string, number>();
  readonly #results = new Set<number>();
  readonly #timers = new Set<string>();

  constructor(history: readonly HistoryEvent[]) {
    const first = history[0];
    this.input = first?.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes.input[0] : undefined;
    this.signals = signalsOf(history);
    for (const event of history) this.#take(event);
  }

  #take(event: HistoryEvent): void {
    switch (event.type) {
      case 'ACTIVITY_TASK_SCHEDULED':
        this.#steps.set(event.attributes.activityId, event.id);
        break;
      case 'ACTIVITY_TASK_COMPLETED':
        this.#results.add(event.attributes.scheduledEventId);
        break;
      case 'TIMER_STARTED':
        this.#timers.add(event.attributes.timerId);
        break;
      case 'TIMER_FIRED':
        this.timerFired = true;
        break;
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
        this.child = true;
        break;
      case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
        this.childClosed = true;
        break;
      case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        this.cancelRequested = true;
        break;
      case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
        this.openUpdates.add(event.attributes.updateId);
        break;
      case 'WORKFLOW_EXECUTION_UPDATE_COMPLETED':
        this.openUpdates.delete(event.attributes.updateId);
        break;
    }
  }

  step(id: number): boolean {
    return this.#steps.has(String(id));
  }

  stepResult(id: number): boolean {
    return this.#results.has(this.#steps.get(String(id)) ?? 0);
  }

  timer(id: number): boolean {
    return this.#timers.has(String(id));
  }
}
