/** What the history of a run says so far: whether it is closed, and what it waits for. */
import {
  CLOSE_EVENTS,
  COMMAND_EVENTS,
  type EventOf,
  type EventTypeName,
  type HistoryEvent,
} from '../../src/core/history/event.js';
import { isPauseSignal, type Paused, pausedAfter, RESUME_SIGNAL } from '../../src/core/run/pause.js';
import { LONG_MS } from './numbering.js';

/** Turns are the engine's own business: where one begins and ends differs between engines and runs. */
export const TURN_EVENTS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'WORKFLOW_TASK_SCHEDULED',
  'WORKFLOW_TASK_STARTED',
  'WORKFLOW_TASK_COMPLETED',
  'WORKFLOW_TASK_FAILED',
  'WORKFLOW_TASK_TIMED_OUT',
]);

/** What Temporal notes so that runs can be found by it: beside the marker of a patch, and in a turn that learns of a pause. */
export const NOTES: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
  'WORKFLOW_PROPERTIES_MODIFIED',
]);

interface PendingStep {
  site: number;
  isCancelRequested: boolean;
}

interface PendingChild {
  workflowId: string;
  runId: string | undefined;
  parentClosePolicy: string;
}

export class RunView {
  readonly events: HistoryEvent[] = [];
  /** Positions among the events without those of turns, at which the script went on. */
  readonly cuts: number[] = [];
  readonly #steps = new Map<number, PendingStep>();
  readonly #timers = new Map<string, number>();
  readonly #children = new Map<number, PendingChild>();
  readonly #messages = new Set<number>();
  #isTurnDone = false;
  /** Messages by which its budget paused it, and let it go on. */
  readonly #ofBudget = new Set<HistoryEvent>();
  #paused: Paused | undefined;
  #isHeldBack = false;
  #resumed = 0;

  constructor(
    readonly workflowId: string,
    readonly runId: string,
  ) {}

  get #started(): EventOf<'WORKFLOW_EXECUTION_STARTED'>['attributes'] | undefined {
    const first = this.events[0];
    return first?.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes : undefined;
  }

  get workflowType(): string | undefined {
    return this.#started?.workflowType;
  }

  /** The statement that called this workflow, or continued as it; 0 for the first run. */
  get site(): number {
    return siteIn(this.#started?.input) ?? 0;
  }

  get close(): HistoryEvent | undefined {
    const last = this.events.at(-1);
    return last && CLOSE_EVENTS.has(last.type) ? last : undefined;
  }

  get isClosed(): boolean {
    return this.close !== undefined;
  }

  get isCancelRequested(): boolean {
    return this.events.some((event) => event.type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED');
  }

  /** Whether a turn has seen everything that the history has. */
  get isTurnDone(): boolean {
    return this.#isTurnDone;
  }

  /** Why it waits for its budget; undefined while it does not. */
  get waitsForBudget(): string | undefined {
    const isOpen = !this.isClosed && !this.isCancelRequested;
    return isOpen && this.#paused?.by === 'budget' ? this.#paused.reason : undefined;
  }

  /** Whether steps that it has asked for do not begin: its budget was met, and it has not gone on since. */
  get isHeldBack(): boolean {
    return this.#isHeldBack && !this.isCancelRequested;
  }

  isOfBudget(event: HistoryEvent): boolean {
    return this.#ofBudget.has(event);
  }

  /** How often it was told to go on. */
  get resumed(): number {
    return this.#resumed;
  }

  pendingSteps(): PendingStep[] {
    return [...this.#steps.values()];
  }

  pendingShortTimers(): number[] {
    return [...this.#timers.values()].filter((ms) => ms < LONG_MS);
  }

  pendingChildren(): PendingChild[] {
    return [...this.#children.values()];
  }

  pendingMessages(): number[] {
    return [...this.#messages];
  }

  /** Events without those of turns, and without what its budget has told it: when and how often is a matter of time. */
  get own(): HistoryEvent[] {
    return this.events.filter(
      (event) => !TURN_EVENTS.has(event.type) && !NOTES.has(event.type) && !this.#ofBudget.has(event),
    );
  }

  count(type: EventTypeName): number {
    return this.own.filter((event) => event.type === type).length;
  }

  add(event: HistoryEvent): void {
    this.events.push(event);
    if (event.type === 'WORKFLOW_TASK_COMPLETED') this.#isTurnDone = true;
    else if (!COMMAND_EVENTS.has(event.type) && !NOTES.has(event.type)) this.#isTurnDone = false;
    switch (event.type) {
      case 'ACTIVITY_TASK_SCHEDULED':
        this.#steps.set(event.id, { site: siteIn(event.attributes.input) ?? 0, isCancelRequested: false });
        break;
      case 'ACTIVITY_TASK_CANCEL_REQUESTED': {
        const step = this.#steps.get(event.attributes.scheduledEventId);
        if (step) step.isCancelRequested = true;
        break;
      }
      case 'ACTIVITY_TASK_COMPLETED':
      case 'ACTIVITY_TASK_FAILED':
      case 'ACTIVITY_TASK_TIMED_OUT':
      case 'ACTIVITY_TASK_CANCELED':
        this.#steps.delete(event.attributes.scheduledEventId);
        break;
      case 'WORKFLOW_EXECUTION_SIGNALED': {
        const { signalName, input } = event.attributes;
        const { by, onlyBy = this.#paused?.by } = (
          isPauseSignal(signalName) ? JSON.parse(input[0] ?? '{}') : {}
        ) as {
          by?: string;
          onlyBy?: string;
        };
        if ((signalName === RESUME_SIGNAL ? onlyBy : by) === 'budget') this.#ofBudget.add(event);
        this.#paused = pausedAfter(this.#paused, signalName, input);
        this.#isHeldBack = this.#paused !== undefined && (this.#isHeldBack || this.#paused.by === 'budget');
        if (signalName === RESUME_SIGNAL) this.#resumed++;
        break;
      }
      case 'TIMER_STARTED':
        this.#timers.set(event.attributes.timerId, event.attributes.startToFireTimeoutMs);
        break;
      case 'TIMER_FIRED':
      case 'TIMER_CANCELED':
        this.#timers.delete(event.attributes.timerId);
        break;
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED': {
        const { workflowId, parentClosePolicy } = event.attributes;
        this.#children.set(event.id, { workflowId, runId: undefined, parentClosePolicy });
        break;
      }
      case 'CHILD_WORKFLOW_EXECUTION_STARTED': {
        const child = this.#children.get(event.attributes.initiatedEventId);
        if (child) child.runId = event.attributes.workflowExecution.runId;
        break;
      }
      case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
      case 'CHILD_WORKFLOW_EXECUTION_FAILED':
      case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
      case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
        this.#children.delete(event.attributes.initiatedEventId);
        break;
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
      case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        this.#messages.add(event.id);
        break;
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
      case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
      case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
      case 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        this.#messages.delete(event.attributes.initiatedEventId);
        break;
      default:
    }
  }
}

/** The number of the statement that an input, a message or a result was made by. */
export function siteIn(payloads: readonly string[] | undefined): number | undefined {
  const text = payloads?.[0];
  if (text === undefined) return undefined;
  const value = JSON.parse(text) as { site?: unknown } | null;
  return typeof value?.site === 'number' ? value.site : undefined;
}
