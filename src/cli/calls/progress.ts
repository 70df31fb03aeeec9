/** What a run is doing, read from its events: its steps, timers and children, as lines for a person. */
import type { HistoryEvent, RunEvent, Why } from '../../client/index.js';
import { isPauseSignal, type Paused, pausedAfter } from '../../core/run/pause.js';
import type { Colours } from '../colours.js';
import { durationText, plain } from './screen.js';

type State = 'running' | 'done' | 'failed' | 'cancelled';

export interface Item {
  kind: 'step' | 'timer' | 'child';
  name: string;
  state: State;
  startedAt: number;
  endedAt?: number;
  attempt?: number;
  error?: string;
  /** Of a timer. */
  firesAt?: number;
  /** Of a step, which the service knows it by. */
  activityId?: string;
  /** Of a step that has failed and is tried again. */
  nextAttemptAt?: number;
}

const MARKS: Record<State, [mark: string, colour: 'cyan' | 'green' | 'red' | 'yellow']> = {
  running: ['●', 'cyan'],
  done: ['✓', 'green'],
  failed: ['✗', 'red'],
  cancelled: ['–', 'yellow'],
};

interface Attributes {
  stepName?: string;
  activityId?: string;
  scheduledEventId?: string;
  attempt?: number;
  timerId?: string;
  startToFireTimeout?: string;
  startedEventId?: string;
  workflowId?: string;
  workflowType?: { name: string };
  initiatedEventId?: string;
  signalName?: string;
  input?: unknown[];
  failure?: WireFailure;
  lastFailure?: WireFailure;
}
interface WireFailure {
  message: string;
  type: string;
}

/** The change that an event has made, as a line of its own where there is no terminal to draw on. */
export class Progress {
  /** In the order in which they began. */
  readonly items = new Map<string, Item>();
  /** What the last run of the chain ended with. */
  closedBy: string | undefined;
  /** While it is: nothing below goes on by itself then. */
  paused: Paused | undefined;

  /** Those of the output that it is shown on. */
  constructor(private readonly colours: Colours) {}

  /** Takes an event in; answers with the line for it, or undefined for what says nothing to people. */
  take(event: RunEvent): string | undefined {
    const { eventTypeName: type, eventId, runId } = event;
    const at = Date.parse(event.eventTime);
    const given = attributesOf(event);
    const key = (id: string | undefined) => `${runId}/${id}`;
    switch (type) {
      case 'ACTIVITY_TASK_SCHEDULED':
        return this.#begin(key(eventId), {
          kind: 'step',
          name: given.stepName ?? '',
          state: 'running',
          startedAt: at,
          activityId: given.activityId,
        });
      case 'ACTIVITY_TASK_STARTED': {
        const step = this.items.get(key(given.scheduledEventId));
        if (step) Object.assign(step, { attempt: given.attempt, error: messageOf(given.lastFailure) });
        return undefined;
      }
      case 'ACTIVITY_TASK_COMPLETED':
        return this.#end(key(given.scheduledEventId), 'done', at);
      case 'ACTIVITY_TASK_FAILED':
      case 'ACTIVITY_TASK_TIMED_OUT':
        return this.#end(key(given.scheduledEventId), 'failed', at, messageOf(given.failure) ?? 'timed out');
      case 'ACTIVITY_TASK_CANCELED':
        return this.#end(key(given.scheduledEventId), 'cancelled', at);
      case 'TIMER_STARTED': {
        const firesAt = at + Number.parseFloat(given.startToFireTimeout ?? '0') * 1_000;
        return this.#begin(key(`timer ${given.timerId}`), {
          kind: 'timer',
          name: 'timer',
          state: 'running',
          startedAt: at,
          firesAt,
        });
      }
      case 'TIMER_FIRED':
        return this.#end(key(`timer ${given.timerId}`), 'done', at);
      case 'TIMER_CANCELED':
        return this.#end(key(`timer ${given.timerId}`), 'cancelled', at);
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED': {
        const name = `${given.workflowType?.name ?? 'child'} ${given.workflowId ?? ''}`;
        return this.#begin(key(eventId), { kind: 'child', name, state: 'running', startedAt: at });
      }
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
        return this.#end(key(given.initiatedEventId), 'done', at);
      case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
        return this.#end(key(given.initiatedEventId), 'failed', at, messageOf(given.failure));
      case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
        return this.#end(key(given.initiatedEventId), 'cancelled', at);
      case 'WORKFLOW_EXECUTION_SIGNALED':
        return this.#signal(given);
      case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        this.paused = undefined;
        return 'asked to stop';
      default:
        return this.#whole(type);
    }
  }

  get hasOpenSteps(): boolean {
    return [...this.items.values()].some(({ kind, state }) => kind === 'step' && state === 'running');
  }

  /**
   * Takes in what a history has only once a step has ended: which attempt it is at, what the last one failed with and when the next
   * one is. Answers with a line for each attempt that it had not been told of.
   */
  explain({ runId, reasons }: Why, now: number): string[] {
    const lines: string[] = [];
    for (const reason of reasons) {
      if (reason.code !== 'stepBackingOff' && reason.code !== 'stepRunning') continue;
      const step = this.#openStep(runId, reason.activityId);
      if (!step) continue;
      const isNew = reason.attempt > (step.attempt ?? 1);
      step.attempt = reason.attempt;
      step.nextAttemptAt = undefined;
      if (reason.code === 'stepBackingOff') {
        step.nextAttemptAt = Date.parse(reason.nextAttemptAt);
        step.error = `${reason.lastError.name}: ${reason.lastError.message}`;
      }
      if (isNew) lines.push(`${nameOf(step)}${this.#detail(step, now)}`);
    }
    return lines;
  }

  #openStep(runId: string, activityId: string): Item | undefined {
    for (const [key, item] of this.items) {
      const isIt = item.activityId === activityId && key.startsWith(`${runId}/`);
      if (isIt && item.state === 'running') return item;
    }
    return undefined;
  }

  #signal({ signalName = '', input = [] }: Attributes): string {
    if (!isPauseSignal(signalName)) return `signal ${plain(signalName)}`;
    this.paused = pausedAfter(this.paused, signalName, [JSON.stringify(input[0] ?? null)]);
    return this.paused ? `paused: ${plain(this.paused.reason)}` : 'resumed';
  }

  #whole(type: HistoryEvent['eventTypeName']): string | undefined {
    const [, how] =
      /^WORKFLOW_EXECUTION_(COMPLETED|FAILED|TIMED_OUT|CANCELED|TERMINATED|CONTINUED_AS_NEW)$/.exec(type) ??
      [];
    if (how === undefined) return undefined;
    this.paused = undefined;
    for (const item of this.items.values()) if (item.state === 'running') item.state = 'cancelled';
    this.closedBy = how === 'CANCELED' ? 'cancelled' : how.toLowerCase();
    return this.closedBy.replaceAll('_', ' ');
  }

  #begin(key: string, item: Item): string {
    this.items.set(key, item);
    return `${nameOf(item)} started`;
  }

  #end(key: string, state: State, at: number, error?: string): string | undefined {
    const item = this.items.get(key);
    if (!item) return undefined;
    Object.assign(item, { state, endedAt: at, ...(error !== undefined && { error }) });
    return `${nameOf(item)} ${state === 'done' && item.kind === 'timer' ? 'fired' : state}${this.#detail(item, at)}`;
  }

  /**
   * So many as they are at the moment, in their order: those that go on before those that have ended, and the latest of each. Children
   * stand in from what the run does itself.
   */
  lines(now: number, room: number): string[] {
    return this.#latest(room).map((item) => {
      const indent = item.kind === 'child' ? '    ' : '  ';
      const [mark, colour] = MARKS[item.state];
      return `${indent}${this.colours[colour](mark)} ${nameOf(item)}${this.#detail(item, now)}`;
    });
  }

  #latest(room: number): Item[] {
    const all = [...this.items.values()];
    if (all.length <= room) return all;
    const ended = all.filter(({ state }) => state !== 'running');
    const open = all.filter(({ state }) => state === 'running');
    const shown = new Set([...ended, ...open].slice(-room));
    return all.filter((item) => shown.has(item));
  }

  #detail(item: Item, now: number): string {
    return this.colours.dim(` (${detailsOf(item, now).join(', ')})`);
  }
}

const nameOf = ({ kind, name }: Item): string => (kind === 'timer' ? name : `${kind} ${plain(name)}`);

function detailsOf(item: Item, now: number): string[] {
  const { state, attempt, error, firesAt, startedAt, endedAt, nextAttemptAt } = item;
  const parts: string[] = [];
  if (attempt !== undefined && attempt > 1) parts.push(`attempt ${attempt}`);
  if (state === 'running' && nextAttemptAt !== undefined)
    parts.push(nextAttemptAt > now ? `again in ${durationText(nextAttemptAt - now)}` : 'again at once');
  else if (state === 'running' && firesAt !== undefined)
    parts.push(`fires in ${durationText(firesAt - now)}`);
  else parts.push(durationText((endedAt ?? now) - startedAt));
  if (error !== undefined && state !== 'done') parts.push(plain(error));
  return parts;
}

/** As the result says it: what user code gave as the cause of its error is no more than that. */
const messageOf = (failure: WireFailure | undefined): string | undefined =>
  failure && `${failure.type}: ${failure.message}`;

function attributesOf(event: HistoryEvent): Attributes {
  const key = Object.keys(event).find((each) => each.endsWith('EventAttributes'));
  return ((key && (event as Record<string, unknown>)[key]) ?? {}) as Attributes;
}
