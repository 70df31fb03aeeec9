/**
 * What is committed of one run, kept beside the engine and folded by rules of its own. Each event that comes to it is held
 * against what was there before: numbers and times (I3), steps (I6), timers (I8), the end (I10), messages (I11, I12), and
 * that the code of a paused run does not go on (paused).
 */
import {
  CLOSE_EVENTS,
  COMMAND_EVENTS,
  type EventOf,
  type HistoryEvent,
  type NewEvent,
  type ParentClosePolicy,
} from '../../src/core/history/event.js';
import { isPauseSignal, PAUSE_SIGNAL, type PausedBy } from '../../src/core/run/pause.js';
import { actionAt, MAX_RUNS, partOf, REFUSED } from './program.js';
import { BINDS, type MessageInput, type ProgramInput, type ProgramResult } from './virtual-run.js';
import type { Instant } from './virtual-time.js';

export class Violation extends Error {
  override readonly name = 'Violation';
}

export interface RecordedTimer {
  firesAt: number;
  /** The latest that the clock has shown before it was set back. */
  highestAt: number;
}

export interface RecordedChild {
  initiatedEventId: number;
  workflowId: string;
  policy: ParentClosePolicy;
  runId?: string;
}

/** One sending of a message. */
export const sendingOf = ({ id, sending }: MessageInput): string => `${id}#${sending}`;

export class RunRecord {
  /** As they were read from the disk: what is there later must be the same text. */
  readonly texts: string[] = [];
  readonly timers = new Map<string, RecordedTimer>();
  readonly openSteps = new Set<number>();
  readonly closedSteps = new Set<number>();
  readonly children = new Map<number, RecordedChild>();
  /** Sendings of signals and updates, in the order of the history. */
  readonly signals: string[] = [];
  readonly accepted = new Map<string, string>();
  readonly completedUpdates = new Map<string, string | undefined>();
  inbox: NewEvent[] = [];
  started!: EventOf<'WORKFLOW_EXECUTION_STARTED'>['attributes'];
  closed: HistoryEvent | undefined;
  /** By the monotonic clock, when the commit that holds its end had been made. */
  closedAtMs = Number.POSITIVE_INFINITY;
  isCancelRequested = false;
  /** How often its history says that it was paused, and by its budget. */
  #pauses = 0;
  budgetPauses = 0;
  /** Which pause it was in before the last commit: in that one it may have been resumed and paused again. */
  pauseBefore: number | undefined;
  /** By whom, as its history says; what waits in the inbox may end it. */
  #pausedBy: PausedBy | undefined;
  /** The turn that has begun saw the run paused. */
  #isTurnPaused = false;
  /** The run that was reset to make this one. */
  resetOf: string | undefined;
  /** Up to this event the history is that of the run which was reset. */
  copiedUpTo = 0;
  /**
   * What has come of those that did not end by themselves, by their places in the program: of children that the run which was
   * reset had started, and that ended with it before this one took its place; of children that had, or have below them, a time
   * limit or something that not all code takes; and of steps that all code has refused.
   */
  readonly #others = new Map<string, string>();
  /** When it times out. */
  expiresAt: number | undefined;
  /** The latest that the clock has shown before it was set back. */
  #highestAt = 0;
  /** The only code that can go on with it. */
  boundTo: string | undefined;
  readonly #stepNames = new Map<number, string>();
  /** The latest that the clock has shown by the last event. */
  #shownAtEnd = 0;
  #lastAt = 0;
  #turn: 'none' | 'scheduled' | 'started' = 'none';

  constructor(
    readonly runId: string,
    readonly key: number,
  ) {}

  get length(): number {
    return this.texts.length;
  }

  get input(): ProgramInput {
    return JSON.parse(this.started.input[0]!) as ProgramInput;
  }

  /** Told of every instant at which the clock is set back or forth. */
  clockShows(now: number): void {
    for (const timer of this.timers.values()) timer.highestAt = Math.max(timer.highestAt, now);
    this.#highestAt = Math.max(this.#highestAt, now);
  }

  append(events: readonly HistoryEvent[], { now, ms }: Instant, shownBefore = 0): void {
    for (const { id, type, attributes } of events) {
      if (type !== 'WORKFLOW_TASK_FAILED' || attributes.cause !== 'RESET_WORKFLOW') continue;
      this.copiedUpTo = id;
      this.resetOf = attributes.baseRunId;
    }
    for (const event of events) {
      this.#requireNext(event);
      this.#fold(event, now, shownBefore);
      this.texts.push(JSON.stringify(event));
    }
    if (this.closed) this.closedAtMs = Math.min(this.closedAtMs, ms);
  }

  /** What waits in the inbox must come into the history once, and not be there yet. */
  receive(inbox: NewEvent[]): void {
    this.inbox = inbox;
    const closing = new Set<number>();
    const firing = new Set<string>();
    for (const event of inbox) {
      if (isStepEnd(event)) {
        const { scheduledEventId } = event.attributes;
        this.#require(
          this.openSteps.has(scheduledEventId),
          'I6',
          `the inbox closes step ${scheduledEventId}, which is not open`,
        );
        this.#require(
          !closing.has(scheduledEventId),
          'I6',
          `the inbox closes step ${scheduledEventId} twice`,
        );
        closing.add(scheduledEventId);
      }
      if (event.type === 'TIMER_FIRED') {
        const { timerId } = event.attributes;
        this.#require(
          this.timers.has(timerId),
          'I8',
          `timer ${timerId} fires in the inbox and is not pending`,
        );
        this.#require(!firing.has(timerId), 'I8', `timer ${timerId} fires in the inbox twice`);
        firing.add(timerId);
      }
      if (event.type === 'WORKFLOW_EXECUTION_SIGNALED' && !pausingOf(event)) {
        const sending = sendingOf(JSON.parse(event.attributes.input[0]!) as MessageInput);
        this.#require(
          !this.signals.includes(sending),
          'I11',
          `signal ${sending} is in the history and in the inbox`,
        );
      }
    }
    this.#require(!this.closed || inbox.length === 0, 'I10', 'a closed run has something in its inbox');
  }

  signalsInInbox(): string[] {
    return this.inbox.flatMap((event) =>
      event.type === 'WORKFLOW_EXECUTION_SIGNALED' && !pausingOf(event)
        ? [sendingOf(JSON.parse(event.attributes.input[0]!) as MessageInput)]
        : [],
    );
  }

  hasSignal(sending: string): boolean {
    return this.signals.includes(sending) || this.signalsInInbox().includes(sending);
  }

  /** With what waits in the inbox. */
  pausedBy(): PausedBy | undefined {
    if (this.hasCancelRequest() || this.closed) return undefined;
    return this.inbox.reduce(pausedByAfter, this.#pausedBy);
  }

  isPaused(): boolean {
    return this.pausedBy() !== undefined;
  }

  /** How often it was paused, with what waits in the inbox. */
  get pauses(): number {
    return this.#pauses + this.inbox.filter((event) => pausingOf(event) === 'pauses').length;
  }

  hasPause(): boolean {
    return this.pauses > 0 || this.inbox.some((event) => pausingOf(event) !== undefined);
  }

  hasCancelRequest(): boolean {
    return (
      this.isCancelRequested || this.inbox.some(({ type }) => type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED')
    );
  }

  isStepOpen(scheduledEventId: number): boolean {
    return (
      this.openSteps.has(scheduledEventId) &&
      !this.inbox.some((event) => isStepEnd(event) && event.attributes.scheduledEventId === scheduledEventId)
    );
  }

  isChildEnding(initiatedEventId: number): boolean {
    return this.inbox.some(
      ({ type, attributes }) =>
        type.startsWith('CHILD_WORKFLOW_EXECUTION_') &&
        type !== 'CHILD_WORKFLOW_EXECUTION_STARTED' &&
        (attributes as { initiatedEventId?: number }).initiatedEventId === initiatedEventId,
    );
  }

  /** Timers that should have fired by `now`, and the time limit. */
  overdue(now: number): string[] {
    if (this.closed) return [];
    const overdue: string[] = [];
    for (const [timerId, { firesAt }] of this.timers) {
      const isFiring = this.inbox.some(
        (event) => event.type === 'TIMER_FIRED' && event.attributes.timerId === timerId,
      );
      if (firesAt < now && !isFiring) overdue.push(timerId);
    }
    if (this.expiresAt !== undefined && this.expiresAt < now) overdue.push('of its time limit');
    return overdue;
  }

  /** The run that goes on in its place. */
  get successor(): string | undefined {
    return (this.closed?.attributes as { newExecutionRunId?: string } | undefined)?.newExecutionRunId;
  }

  #require(holds: boolean, rule: string, message: string): void {
    if (!holds) throw new Violation(`${rule}: run ${this.runId}: ${message}`);
  }

  #requireNext({ id, at, type }: HistoryEvent): void {
    this.#require(id === this.length + 1, 'I3', `event ${id} follows event ${this.length}`);
    this.#require(at >= this.#lastAt, 'I3', `event ${id} is older than the one before`);
    this.#require(!this.closed, 'I10', `event ${id} (${type}) comes after the closing event`);
    this.#lastAt = at;
  }

  #fold(event: HistoryEvent, now: number, shownBefore: number): void {
    this.#shownAtEnd = Math.max(now, shownBefore, this.#highestAt);
    const isNew = event.id > this.copiedUpTo;
    if (COMMAND_EVENTS.has(event.type) && this.#isTurnPaused && isNew)
      this.#require(false, 'paused', `event ${event.id} (${event.type}) comes of a turn while it is paused`);
    switch (event.type) {
      case 'WORKFLOW_EXECUTION_STARTED':
        this.started = event.attributes;
        this.#begin(event.at);
        return;
      case 'WORKFLOW_TASK_SCHEDULED':
        this.#require(this.#turn === 'none', 'I15', `event ${event.id} schedules a second turn`);
        this.#turn = 'scheduled';
        return;
      case 'WORKFLOW_TASK_STARTED':
        this.#require(
          this.#turn === 'scheduled',
          'I15',
          `event ${event.id} starts a turn that is not scheduled`,
        );
        this.#turn = 'started';
        this.#isTurnPaused = this.#pausedBy !== undefined;
        return;
      case 'WORKFLOW_TASK_COMPLETED':
      case 'WORKFLOW_TASK_FAILED':
        this.#require(this.#turn === 'started', 'I15', `event ${event.id} ends a turn that is not under way`);
        this.#turn = 'none';
        if (event.id === this.copiedUpTo) this.#begin(event.at, true);
        return;
      case 'MARKER_RECORDED': {
        const { patchId } = event.attributes.details;
        if (patchId.startsWith(BINDS)) this.boundTo = patchId.slice(BINDS.length);
        return;
      }
      case 'ACTIVITY_TASK_SCHEDULED':
        this.openSteps.add(event.id);
        this.#stepNames.set(event.id, event.attributes.stepName);
        return;
      case 'TIMER_STARTED': {
        const { timerId, startToFireTimeoutMs, countsFrom = event.at } = event.attributes;
        this.timers.set(timerId, { firesAt: countsFrom + startToFireTimeoutMs, highestAt: shownBefore });
        return;
      }
      case 'TIMER_FIRED':
      case 'TIMER_CANCELED': {
        const { timerId } = event.attributes;
        const timer = this.timers.get(timerId);
        this.#require(
          timer !== undefined,
          'I8',
          `event ${event.id} (${event.type}): timer ${timerId} is not pending`,
        );
        this.timers.delete(timerId);
        if (event.type === 'TIMER_CANCELED' || event.id <= this.copiedUpTo) return;
        const shown = Math.max(timer!.highestAt, now);
        this.#require(
          shown >= timer!.firesAt,
          'I8',
          `timer ${timerId} fires ${timer!.firesAt - shown} ms early`,
        );
        return;
      }
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED': {
        const { workflowId, parentClosePolicy: policy } = event.attributes;
        this.children.set(event.id, { initiatedEventId: event.id, workflowId, policy });
        return;
      }
      case 'CHILD_WORKFLOW_EXECUTION_STARTED':
        this.children.get(event.attributes.initiatedEventId)!.runId =
          event.attributes.workflowExecution.runId;
        return;
      case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
      case 'CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED': {
        const { initiatedEventId } = event.attributes;
        const child = this.children.get(initiatedEventId);
        if (child) this.#childEnded(event, placeOf(child.workflowId), initiatedEventId <= this.copiedUpTo);
        this.#require(
          this.children.delete(initiatedEventId),
          'I15',
          `event ${event.id} ends child ${initiatedEventId} again`,
        );
        return;
      }
      case 'WORKFLOW_EXECUTION_SIGNALED': {
        const pausing = pausingOf(event);
        if (pausing) {
          if (this.isCancelRequested) return;
          this.#pausedBy = pausedByAfter(this.#pausedBy, event);
          if (this.#pausedBy) this.#pauses++;
          if (this.#pausedBy === 'budget') this.budgetPauses++;
          return;
        }
        const sending = sendingOf(JSON.parse(event.attributes.input[0]!) as MessageInput);
        this.#require(!this.signals.includes(sending), 'I11', `signal ${sending} is there twice`);
        this.signals.push(sending);
        return;
      }
      case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        this.#require(!this.isCancelRequested, 'I2', 'it was asked to stop twice');
        this.isCancelRequested = true;
        this.#pausedBy = undefined;
        return;
      case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED': {
        const { updateId, input } = event.attributes;
        const sending = sendingOf(JSON.parse(input[0]!) as MessageInput);
        const isNew = !this.accepted.has(updateId) && ![...this.accepted.values()].includes(sending);
        this.#require(isNew, 'I12', `update ${sending} is accepted twice`);
        this.accepted.set(updateId, sending);
        return;
      }
      case 'WORKFLOW_EXECUTION_UPDATE_COMPLETED': {
        const { updateId, result } = event.attributes;
        const sending = this.accepted.get(updateId);
        this.#require(sending !== undefined, 'I12', `update ${updateId} completes and was not accepted`);
        this.#require(!this.completedUpdates.has(sending!), 'I12', `update ${sending} completes twice`);
        this.completedUpdates.set(sending!, result);
        return;
      }
      default:
        if (isStepEnd(event)) {
          const { scheduledEventId } = event.attributes;
          this.#require(
            this.openSteps.delete(scheduledEventId),
            'I6',
            `event ${event.id} closes step ${scheduledEventId}, which is not open`,
          );
          this.closedSteps.add(scheduledEventId);
          if (event.type === 'ACTIVITY_TASK_FAILED' && event.attributes.failure.type === REFUSED) {
            const path = this.#stepNames.get(scheduledEventId)!.slice(1);
            this.#others.set(path, `step ${path} failed`);
          }
        } else if (CLOSE_EVENTS.has(event.type)) this.#close(event);
    }
  }

  /** A run has its time from its start on, those that follow it share it, and a reset gives it all of it again. */
  #begin(at: number, isReset = false): void {
    const limitMs = this.input.program.timeLimitMs;
    const { executionExpiresAt, continuedExecutionRunId } = this.started;
    this.expiresAt = isReset && limitMs !== undefined ? at + limitMs : executionExpiresAt;
    this.#require(
      (this.expiresAt === undefined) === (limitMs === undefined),
      'limit',
      `it has to end by ${this.expiresAt}, and its program by ${limitMs}`,
    );
    if (isReset || continuedExecutionRunId !== undefined || limitMs === undefined) return;
    this.#require(
      this.expiresAt === at + limitMs,
      'limit',
      `it has ${this.expiresAt! - at} ms, not ${limitMs}`,
    );
  }

  #childEnded(event: HistoryEvent, place: string, isCopied: boolean): void {
    if (isCopied && isEndedFromOutside(event)) this.#others.set(place, 'child ended');
    const action = actionAt(this.input.program, place);
    const program = action?.do === 'child' ? action.program : undefined;
    if (event.type === 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT') {
      this.#require(
        program?.timeLimitMs !== undefined,
        'limit',
        `child ${place} timed out and has no time limit`,
      );
      this.#others.set(place, 'child ended');
    }
    // Its time may not have sufficed for another try.
    const isTried = program !== undefined && program.failures > 0 && program.timeLimitMs !== undefined;
    if (event.type === 'CHILD_WORKFLOW_EXECUTION_FAILED' && isTried) this.#others.set(place, 'child failed');
    if (event.type === 'CHILD_WORKFLOW_EXECUTION_COMPLETED' && isUncertain(program)) {
      // What it came to was held against its own program when it ended.
      const { values } = JSON.parse(event.attributes.result!) as ProgramResult;
      this.#others.set(place, `child(${values.join()})`);
    }
  }

  #close(event: HistoryEvent): void {
    this.closed = event;
    const { program, signals: earlier, updates: earlierUpdates } = this.input;
    switch (event.type) {
      case 'WORKFLOW_EXECUTION_COMPLETED': {
        const result = JSON.parse(event.attributes.result!) as ProgramResult;
        const values = program.failures >= MAX_RUNS ? ['failed'] : this.#valuesUpTo(program.actions.length);
        this.#requireSame('what its program comes to', result.values, values);
        const ids = [...earlier, ...this.signals.map(idOf)];
        this.#requireSame('the signals that it received', result.signals, [...new Set(ids)]);
        const updates = [...earlierUpdates, ...[...this.accepted.values()].map(idOf)];
        this.#requireSame('the updates that it accepted', result.updates, updates);
        const wasStopped = this.isCancelRequested && program.onCancel === 'cleanUp';
        this.#require(!wasStopped, 'I11', 'it completed although it was asked to stop');
        return;
      }
      case 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW': {
        const next = JSON.parse(event.attributes.input[0]!) as ProgramInput;
        this.#requireSame('what it hands on to the next run', next.values, this.#valuesUpTo(next.from));
        return;
      }
      case 'WORKFLOW_EXECUTION_FAILED':
        this.#require(
          this.started.attempt <= program.failures,
          'model',
          `it failed in attempt ${this.started.attempt}`,
        );
        return;
      case 'WORKFLOW_EXECUTION_CANCELED':
        this.#require(this.isCancelRequested, 'model', 'it stopped without being asked');
        return;
      case 'WORKFLOW_EXECUTION_TIMED_OUT':
        this.#require(this.expiresAt !== undefined, 'limit', 'it timed out and has no time limit');
        this.#require(
          this.#shownAtEnd >= this.expiresAt!,
          'limit',
          `it timed out ${this.expiresAt! - this.#shownAtEnd} ms early`,
        );
        return;
      default:
    }
  }

  /** What the runs before have brought together was held against the program when they handed it on. */
  #valuesUpTo(end: number): string[] {
    const { program, from, values } = this.input;
    const own = program.actions
      .slice(from, end)
      .map((action, at) => partOf(action, String(from + at), this.#others));
    return [...values, ...own];
  }

  #requireSame(what: string, actual: readonly string[], expected: readonly string[]): void {
    const [a, b] = [actual.join(), expected.join()];
    this.#require(a === b, 'model', `${what} is ${a} and should be ${b}`);
  }
}

/** Whether something in it, or below it, may end otherwise than by itself. */
const isUncertain = (program: unknown): boolean => /"(timeLimitMs|isPicky)"/.test(JSON.stringify(program));

const isEndedFromOutside = ({ type }: HistoryEvent): boolean =>
  type === 'CHILD_WORKFLOW_EXECUTION_CANCELED' || type === 'CHILD_WORKFLOW_EXECUTION_TERMINATED';

/** A child's id ends with its place in the program of its parent, the parent's attempt and, further down, the parent's run. */
const placeOf = (workflowId: string): string =>
  /^(\d+(?:\.\d+)*)\.\d+(?:\.[0-9a-f-]{36})?$/.exec(workflowId.slice(workflowId.lastIndexOf('/') + 1))![1]!;

/** Whether the event pauses the run or lets it go on; undefined when it does neither. */
function pausingOf(event: NewEvent): 'pauses' | 'resumes' | undefined {
  if (event.type !== 'WORKFLOW_EXECUTION_SIGNALED' || !isPauseSignal(event.attributes.signalName))
    return undefined;
  return event.attributes.signalName === PAUSE_SIGNAL ? 'pauses' : 'resumes';
}

/** Who holds the run after the event: an operator who pauses it takes over from its budget, and not the other way round. */
function pausedByAfter(before: PausedBy | undefined, event: NewEvent): PausedBy | undefined {
  const pausing = pausingOf(event);
  if (pausing === undefined || event.type !== 'WORKFLOW_EXECUTION_SIGNALED') return before;
  if (pausing === 'resumes') return undefined;
  const { by } = JSON.parse(event.attributes.input[0]!) as { by: PausedBy };
  return before === 'operator' ? before : by;
}

const idOf = (sending: string): string => sending.slice(0, sending.lastIndexOf('#'));

type StepEnd = Extract<
  NewEvent,
  {
    type:
      | 'ACTIVITY_TASK_COMPLETED'
      | 'ACTIVITY_TASK_FAILED'
      | 'ACTIVITY_TASK_TIMED_OUT'
      | 'ACTIVITY_TASK_CANCELED';
  }
>;

export function isStepEnd(event: NewEvent): event is StepEnd {
  return (
    event.type === 'ACTIVITY_TASK_COMPLETED' ||
    event.type === 'ACTIVITY_TASK_FAILED' ||
    event.type === 'ACTIVITY_TASK_TIMED_OUT' ||
    event.type === 'ACTIVITY_TASK_CANCELED'
  );
}
