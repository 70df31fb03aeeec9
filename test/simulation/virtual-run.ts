/**
 * A run of a program as a worker has it in its cache: the program is performed by threads that wait for conditions, so
 * that what it asks for follows from its history alone. Turns that are in the history are performed again, and must ask
 * for what is recorded of them (I5).
 */
import type { Command } from '../../src/core/history/command.js';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { QueryAnswer, TurnTask, UpdateRequest } from '../../src/core/task.js';
import { HistoryReader } from '../../src/worker/sandbox/run/history.js';
import { Pausing } from '../../src/worker/sandbox/run/pausing.js';
import { type Action, MAX_RUNS, type Program, partOf, type Spend } from './program.js';
import { askedFor, recordedBy } from './replay.js';

/** What every run of a program is started with. */
export interface ProgramInput {
  program: Program;
  /** The action with which it goes on, and what the runs before have brought together. */
  from: number;
  values: string[];
  signals: string[];
  updates: string[];
}

export interface ProgramResult {
  values: string[];
  /** Ids of what was received, in the order in which it was seen first. */
  signals: string[];
  updates: string[];
}

/** What a step is asked to do. */
export interface StepInput {
  ms: number;
  fails: number;
  heartbeats?: boolean;
  hasLittleTime?: boolean;
  /** The only code that takes it. */
  onlyFor?: string;
  /** Whatever becomes of the attempt. */
  spends?: Spend[];
}

export interface MessageInput {
  id: string;
  /** Tells one sending of the message from the next. */
  sending: number;
  isSlow?: boolean;
}

export const workflowTypeOf = ({
  failures,
  timeLimitMs,
}: Pick<Program, 'failures' | 'timeLimitMs'>): string =>
  `${failures > 0 ? 'retried' : 'plain'}${timeLimitMs ?? ''}`;

export const inputOf = (program: Program): string[] => {
  const input: ProgramInput = { program, from: 0, values: [], signals: [], updates: [] };
  return [JSON.stringify(input)];
};

/** Enough when nothing is slow, and less than a turn may take. */
const LITTLE_TIME_MS = 150;

type Thread = { routine: Generator<() => boolean, void>; isReady: () => boolean; isDone: boolean };
type Ended = 'completed' | 'failed' | 'cancelled' | 'other';

export class ReplayMismatch extends Error {}

/** The run is bound to other code. */
export class OtherCode extends Error {}

/** What binds a run is recorded as a patch of this name. */
export const BINDS = 'code ';

export class VirtualRun {
  readonly #reader = new HistoryReader();
  /** As every worker has it. */
  readonly #pausing = new Pausing();
  #input: ProgramInput | undefined;
  #attempt = 1;
  #threads: Thread[] = [];
  #commands: Command[] = [];
  #isCancelled = false;
  #isClosed = false;
  #numbers = 0;
  /** What it waits for, by its number, and how it ended. */
  readonly #steps = new Map<string, Ended | undefined>();
  readonly #timers = new Map<string, boolean>();
  readonly #children = new Map<string, { workflowId: string; isStarted: boolean; end?: string }>();
  readonly #told = new Map<string, boolean>();
  /** Numbers by the events that recorded them. */
  readonly #recorded = new Map<number, string>();
  #lastCommands: Command[] = [];

  constructor(
    private readonly runId: string,
    private readonly workflowId: string,
    /** The workflow ids of the programs of the world. */
    private readonly others: readonly string[],
    private readonly codeId: string,
  ) {}

  get nextEventId(): number {
    return this.#reader.nextEventId;
  }

  turn(task: TurnTask): { commands: Command[]; answers: QueryAnswer[] } {
    for (const { type, attributes } of task.events) {
      if (type !== 'MARKER_RECORDED' || !attributes.details.patchId.startsWith(BINDS)) continue;
      const { patchId } = attributes.details;
      if (patchId !== BINDS + this.codeId)
        throw new OtherCode(`${patchId} is needed, and this is ${this.codeId}`);
    }
    for (const { incoming, commandEvents, executed } of this.#reader.read(task.events)) {
      const accepted = commandEvents.flatMap((event) =>
        event.type === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED'
          ? [{ updateId: event.attributes.updateId, name: '', input: event.attributes.input }]
          : [],
      );
      const commands = executed ? this.#lastCommands : this.#activate(incoming, accepted);
      this.#match(commands, commandEvents);
    }
    if (task.readOnly) return { commands: [], answers: this.#answers(task) };
    const commands = this.#activate(this.#reader.takeOpen().incoming, task.updates);
    this.#lastCommands = commands;
    return { commands, answers: this.#answers(task) };
  }

  #answers({ queries }: TurnTask): QueryAnswer[] {
    return queries.map(({ queryId, name }) => {
      if (name !== 'state') return { queryId, kind: 'noHandler', known: ['state'] };
      const { signals = [], updates = [] } = this.#input ?? {};
      return { queryId, kind: 'answered', result: JSON.stringify({ signals, updates }) };
    });
  }

  #activate(incoming: readonly HistoryEvent[], updates: readonly UpdateRequest[]): Command[] {
    this.#commands = [];
    const turn = this.#pausing.deliverable({ incoming, reseed: undefined });
    if (!turn) return [];
    for (const event of turn.incoming) this.#apply(event);
    for (const update of updates) this.#receiveUpdate(update);
    for (let hasMoved = true; hasMoved && !this.#isClosed; ) {
      hasMoved = false;
      for (const thread of [...this.#threads]) {
        if (thread.isDone || this.#isClosed || !this.#threads.includes(thread) || !thread.isReady()) continue;
        hasMoved = true;
        this.#resume(thread);
      }
    }
    return this.#commands;
  }

  #spawn(routine: Generator<() => boolean, void>): Thread {
    const thread: Thread = { routine, isReady: () => true, isDone: false };
    this.#threads.push(thread);
    this.#resume(thread);
    return thread;
  }

  #resume(thread: Thread): void {
    const { done, value } = thread.routine.next();
    if (done) thread.isDone = true;
    else thread.isReady = value;
  }

  #apply(event: HistoryEvent): void {
    const numberOf = (id: number) => this.#recorded.get(id) ?? '';
    switch (event.type) {
      case 'WORKFLOW_EXECUTION_STARTED':
        this.#input = JSON.parse(event.attributes.input[0]!) as ProgramInput;
        this.#attempt = event.attributes.attempt;
        // It begins when all that has come with the start is there.
        this.#threads.push({ routine: this.#main(this.#input), isReady: () => true, isDone: false });
        return;
      case 'WORKFLOW_EXECUTION_SIGNALED': {
        const { id } = JSON.parse(event.attributes.input[0]!) as MessageInput;
        const { signals } = this.#input!;
        if (!signals.includes(id)) signals.push(id);
        return;
      }
      case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        if (this.#input!.program.onCancel === 'ignore' || this.#isCancelled) return;
        this.#isCancelled = true;
        this.#threads = [{ routine: this.#cleanUp(), isReady: () => true, isDone: false }];
        return;
      case 'ACTIVITY_TASK_COMPLETED':
        this.#steps.set(numberOf(event.attributes.scheduledEventId), 'completed');
        return;
      case 'ACTIVITY_TASK_FAILED':
      case 'ACTIVITY_TASK_TIMED_OUT':
        this.#steps.set(numberOf(event.attributes.scheduledEventId), 'failed');
        return;
      case 'ACTIVITY_TASK_CANCELED':
        this.#steps.set(numberOf(event.attributes.scheduledEventId), 'cancelled');
        return;
      case 'TIMER_FIRED':
        this.#timers.set(event.attributes.timerId, true);
        return;
      case 'CHILD_WORKFLOW_EXECUTION_STARTED':
        this.#children.get(numberOf(event.attributes.initiatedEventId))!.isStarted = true;
        return;
      case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
        this.#children.get(numberOf(event.attributes.initiatedEventId))!.end = 'child exists';
        return;
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED': {
        const { values } = JSON.parse(event.attributes.result!) as ProgramResult;
        this.#children.get(numberOf(event.attributes.initiatedEventId))!.end = `child(${values.join()})`;
        return;
      }
      case 'CHILD_WORKFLOW_EXECUTION_FAILED':
        this.#children.get(numberOf(event.attributes.initiatedEventId))!.end = 'child failed';
        return;
      case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
        this.#children.get(numberOf(event.attributes.initiatedEventId))!.end = 'child ended';
        return;
      case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
        this.#told.set(numberOf(event.attributes.initiatedEventId), true);
        return;
      default:
    }
  }

  #receiveUpdate({ updateId, input: [payload = '{}'] }: UpdateRequest): void {
    const { id, isSlow } = JSON.parse(payload) as MessageInput;
    if (id.startsWith('bad')) {
      const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
      this.#commands.push({ kind: 'rejectUpdate', updateId, reason: 'validator', failure });
      return;
    }
    this.#spawn(this.#handle(updateId, id, isSlow === true));
  }

  *#handle(updateId: string, id: string, isSlow: boolean): Generator<() => boolean, void> {
    this.#commands.push({ kind: 'acceptUpdate', updateId });
    const { updates } = this.#input!;
    updates.push(id);
    const place = updates.length;
    if (isSlow) {
      const step = this.#schedule('handler', { ms: 50, fails: 0 }, 0);
      yield () => this.#steps.get(step) !== undefined;
    }
    this.#commands.push({ kind: 'completeUpdate', updateId, result: JSON.stringify({ id, place }) });
  }

  // ── the program ──────────────────────────────────────────────────────────────────────────────────

  *#main(input: ProgramInput): Generator<() => boolean, void> {
    const { program, values } = input;
    if (program.isBound)
      this.#commands.push({ kind: 'recordPatch', patchId: BINDS + this.codeId, deprecated: false });
    for (let at = input.from; at < program.actions.length; at++) {
      const action = program.actions[at]!;
      if (action.do === 'continueAsNew') {
        const next: ProgramInput = { ...input, from: at + 1, values: [...values, partOf(action)] };
        this.#close({
          kind: 'continueAsNew',
          workflowType: workflowTypeOf(program),
          input: [JSON.stringify(next)],
        });
        return;
      }
      const value = { text: '' };
      yield* this.#perform(action, String(at), value);
      values.push(value.text);
    }
    if (this.#attempt <= Math.min(program.failures, MAX_RUNS)) {
      const failure = { kind: 'application', type: 'Error', message: `attempt ${this.#attempt}` } as const;
      this.#close({ kind: 'failRun', failure });
      return;
    }
    const { signals, updates } = input;
    const result: ProgramResult = { values, signals, updates };
    this.#close({ kind: 'completeRun', result: JSON.stringify(result) });
  }

  *#perform(action: Action, path: string, value: { text: string }): Generator<() => boolean, void> {
    value.text = partOf(action);
    switch (action.do) {
      case 'step':
      case 'doomed': {
        const isDoomed = action.do === 'doomed';
        const step = this.#schedule(
          `s${path}`,
          {
            ms: action.ms,
            fails: isDoomed ? Number.MAX_SAFE_INTEGER : action.fails,
            spends: action.spends,
            ...(action.do === 'step' && {
              heartbeats: action.heartbeats,
              hasLittleTime: action.hasLittleTime,
              ...(action.isPicky && { onlyFor: this.codeId }),
            }),
          },
          isDoomed ? action.attempts : 0,
        );
        yield () => this.#steps.get(step) !== undefined;
        const wanted = isDoomed ? 'failed' : 'completed';
        if (this.#steps.get(step) !== wanted) value.text = `step ${path} ${this.#steps.get(step)}`;
        return;
      }
      case 'sleep': {
        const timer = this.#startTimer(action.ms);
        yield () => this.#timers.get(timer) === true;
        return;
      }
      case 'race': {
        const step = this.#schedule(`s${path}`, { ms: action.stepMs, fails: 0, spends: action.spends }, 0);
        const timer = this.#startTimer(action.timerMs);
        yield () => this.#steps.get(step) !== undefined || this.#timers.get(timer) === true;
        if (this.#timers.get(timer) === false) this.#cancelTimer(timer);
        if (this.#steps.get(step) === undefined) this.#cancelStep(step);
        return;
      }
      case 'all': {
        const texts = action.parts.map(() => ({ text: '' }));
        const threads = action.parts.map((part, at) =>
          this.#spawn(this.#perform(part, `${path}.${at}`, texts[at]!)),
        );
        yield () => threads.every(({ isDone }) => isDone);
        value.text = `[${texts.map(({ text }) => text).join()}]`;
        return;
      }
      case 'child': {
        const childSeq = String(++this.#numbers);
        // A child that is started again after a reset of its parent finds the ids of its own children taken.
        const life = this.workflowId.includes('/') ? `.${this.runId}` : '';
        const workflowId = `${this.workflowId}/${path}.${this.#attempt}${life}`;
        this.#children.set(childSeq, { workflowId, isStarted: false });
        this.#commands.push({
          kind: 'startChild',
          childSeq,
          workflowId,
          workflowType: workflowTypeOf(action.program),
          input: inputOf(action.program),
          parentClosePolicy: action.policy,
        });
        const child = this.#children.get(childSeq)!;
        yield () => child.end !== undefined || (child.isStarted && !action.isAwaited);
        if (action.isAwaited) value.text = child.end!;
        return;
      }
      case 'signals':
        yield () => this.#input!.signals.length >= action.count;
        return;
      case 'tell': {
        const signalSeq = String(++this.#numbers);
        this.#told.set(signalSeq, false);
        const message: MessageInput = { id: `${this.runId}:${path}`, sending: 1 };
        this.#commands.push({
          kind: 'signalExternal',
          signalSeq,
          workflowId: this.others[action.to] ?? 'nobody',
          signalName: 'note',
          input: [JSON.stringify(message)],
        });
        yield () => this.#told.get(signalSeq) === true;
        return;
      }
      case 'patch':
        this.#commands.push({ kind: 'recordPatch', patchId: path, deprecated: false });
        return;
      case 'continueAsNew':
        return;
    }
  }

  /** Ends all that is under way, does a last step and stops. */
  *#cleanUp(): Generator<() => boolean, void> {
    for (const [step, end] of this.#steps) if (end === undefined) this.#cancelStep(step);
    for (const [timer, hasFired] of this.#timers) if (!hasFired) this.#cancelTimer(timer);
    for (const [childSeq, { workflowId, end }] of this.#children) {
      if (end !== undefined) continue;
      this.#commands.push({
        kind: 'cancelExternal',
        cancelSeq: String(++this.#numbers),
        workflowId,
        childSeq,
      });
    }
    const step = this.#schedule('cleanUp', { ms: 5, fails: 0 }, 0);
    yield () => this.#steps.get(step) !== undefined;
    this.#close({ kind: 'cancelRun' });
  }

  // ── commands ─────────────────────────────────────────────────────────────────────────────────────

  #schedule(stepName: string, input: StepInput, maximumAttempts: number): string {
    const activityId = String(++this.#numbers);
    this.#steps.set(activityId, undefined);
    this.#commands.push({
      kind: 'scheduleStep',
      activityId,
      stepName,
      input: [JSON.stringify(input)],
      settings: {
        startToCloseTimeoutMs: input.hasLittleTime ? input.ms + LITTLE_TIME_MS : 10_000,
        ...(input.heartbeats && { heartbeatTimeoutMs: 3_000 }),
        retry: {
          initialIntervalMs: 200,
          backoffCoefficient: 2,
          maximumIntervalMs: 2_000,
          maximumAttempts,
          nonRetryableErrorTypes: [],
        },
      },
    });
    return activityId;
  }

  #cancelStep(activityId: string): void {
    // From here on nobody waits for it.
    this.#steps.set(activityId, 'other');
    this.#commands.push({ kind: 'cancelStep', activityId });
  }

  #startTimer(durationMs: number): string {
    const timerId = String(++this.#numbers);
    this.#timers.set(timerId, false);
    this.#commands.push({ kind: 'startTimer', timerId, durationMs });
    return timerId;
  }

  #cancelTimer(timerId: string): void {
    this.#timers.set(timerId, true);
    this.#commands.push({ kind: 'cancelTimer', timerId });
  }

  #close(command: Command): void {
    this.#isClosed = true;
    this.#commands.push(command);
  }

  #match(commands: readonly Command[], events: readonly HistoryEvent[]): void {
    const asked = commands.filter(({ kind }) => kind !== 'rejectUpdate').map(askedFor);
    const recorded = events.map((event) => recordedBy(event, this.#recorded));
    if (asked.join('\n') === recorded.join('\n')) return;
    throw new ReplayMismatch(
      `run ${this.runId} asks for ${asked.join(', ') || 'nothing'} where ${recorded.join(', ') || 'nothing'} is recorded`,
    );
  }
}
