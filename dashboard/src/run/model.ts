/**
 * What happened in a run, as a person thinks of it: steps, timers, children and messages, each from its beginning to its
 * end. It is the fold of the events, one at a time, so that it grows with a run that goes on.
 */
import type { EventTypeName, HistoryEvent, WhyReason } from 'perdure/client';

export type ItemKind = 'step' | 'timer' | 'child' | 'signal' | 'update' | 'request' | 'pause' | 'mark';
/** `left` is what had not ended when the run did. */
export type ItemState =
  | 'open'
  | 'completed'
  | 'failed'
  | 'timed_out'
  | 'cancelled'
  | 'terminated'
  | 'noted'
  | 'left';

/** What `why` says of a step that has not ended. */
export type UnderWay = Extract<WhyReason, { code: 'stepQueued' | 'stepRunning' | 'stepBackingOff' }>;

export interface Item {
  kind: ItemKind;
  /** The event that it began with. */
  id: string;
  name: string;
  state: ItemState;
  /** Epoch milliseconds. */
  from: number;
  /** When the attempt that counts began; null while none is known. */
  startedAt: number | null;
  to: number | null;
  /** The attempt that counts; those before it failed. */
  attempt: number;
  /** Which execution of the step it is, from 1. */
  occurrence: number;
  /** Events of it after the first: its start, and its end. */
  startedId: string | null;
  endId: string | null;
  activityId: string | null;
  /** Of a timer. */
  firesAt: number | null;
  /** Of a child. */
  execution: { workflowId: string; runId: string | null } | null;
  workflowType: string | null;
  /** What is known of a step that has not ended, beside what its events tell. */
  underWay?: UnderWay;
}

export interface Lineage {
  parent?: { workflowId: string; runId: string };
  /** The run before this one in the chain. */
  continuedFrom?: string;
  initiator?: string;
  /** The run that this one was made from by a reset. */
  resetFrom?: string;
  /** The run that took over from this one. */
  newRunId?: string;
}

export interface Model {
  items: Item[];
  /** By the id of the event that each began with. */
  byId: Map<string, Item>;
  startedAt: number | null;
  closedAt: number | null;
  closeEventId: string | null;
  isClosed: boolean;
  lineage: Lineage;
  /** How often each step has been executed. */
  occurrences: Map<string, number>;
}

export function emptyModel(): Model {
  return {
    items: [],
    byId: new Map(),
    startedAt: null,
    closedAt: null,
    closeEventId: null,
    isClosed: false,
    lineage: {},
    occurrences: new Map(),
  };
}

type Attributes = Record<string, unknown>;

export function attributesOf(event: HistoryEvent): Attributes {
  const key = Object.keys(event).find((each) => each.endsWith('EventAttributes'));
  return (key === undefined ? {} : (event as unknown as Record<string, Attributes>)[key]) ?? {};
}

const named = (value: unknown): string => (value as { name?: string } | undefined)?.name ?? '';
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** `1.5s`. */
export const seconds = (value: unknown): number =>
  typeof value === 'string' ? Number.parseFloat(value) * 1_000 : 0;

type Taker = (model: Model, event: HistoryEvent, attributes: Attributes, at: number) => void;

function begin(
  model: Model,
  event: HistoryEvent,
  at: number,
  item: Partial<Item> & Pick<Item, 'kind' | 'name'>,
): Item {
  const whole: Item = {
    id: event.eventId,
    state: 'open',
    from: at,
    startedAt: null,
    to: null,
    attempt: 1,
    occurrence: 1,
    startedId: null,
    endId: null,
    activityId: null,
    firesAt: null,
    execution: null,
    workflowType: null,
    ...item,
  };
  model.items.push(whole);
  model.byId.set(whole.id, whole);
  return whole;
}

const note =
  (kind: ItemKind, name: (attributes: Attributes) => string): Taker =>
  (model, event, attributes, at) => {
    begin(model, event, at, { kind, name: name(attributes), state: 'noted', to: at, startedAt: at });
  };

/** Ends what `reference` says. */
const end =
  (state: ItemState, reference: string): Taker =>
  (model, event, attributes, at) => {
    const item = model.byId.get(String(attributes[reference]));
    if (!item) return;
    item.state = state;
    item.to = at;
    item.endId = event.eventId;
  };

const close: Taker = (model, event, attributes, at) => {
  model.isClosed = true;
  model.closedAt = at;
  model.closeEventId = event.eventId;
  model.lineage.newRunId = text(attributes.newExecutionRunId);
  for (const item of model.items) if (item.state === 'open') Object.assign(item, { state: 'left', to: at });
};

const scheduled: Taker = (model, event, attributes, at) => {
  const name = text(attributes.stepName) ?? named(attributes.activityType);
  const occurrence = (model.occurrences.get(name) ?? 0) + 1;
  model.occurrences.set(name, occurrence);
  begin(model, event, at, {
    kind: 'step',
    name,
    occurrence,
    activityId: text(attributes.activityId) ?? null,
  });
};

const started: Taker = (model, event, attributes, at) => {
  const item = model.byId.get(String(attributes.scheduledEventId));
  if (!item) return;
  item.startedAt = at;
  item.startedId = event.eventId;
  item.attempt = Number(attributes.attempt ?? 1);
};

const childStarted: Taker = (model, event, attributes, at) => {
  const item = model.byId.get(String(attributes.initiatedEventId));
  if (!item) return;
  item.startedAt = at;
  item.startedId = event.eventId;
  item.execution = attributes.workflowExecution as Item['execution'];
};

/** The messages by which the service records that a run is paused. */
const PAUSE = 'perdure.pause';
const RESUME = 'perdure.resume';

const openPause = (model: Model) =>
  model.items.findLast(({ kind, state }) => kind === 'pause' && state === 'open');

const paused: Taker = (model, event, _attributes, at) => {
  // Pausing what is paused changes nothing.
  if (!openPause(model)) begin(model, event, at, { kind: 'pause', name: 'paused', startedAt: at });
};

const resumed: Taker = (model, event, _attributes, at) => {
  const item = openPause(model);
  if (item) Object.assign(item, { state: 'completed', to: at, endId: event.eventId });
};

const TAKERS: Partial<Record<EventTypeName, Taker>> = {
  WORKFLOW_EXECUTION_STARTED: (model, _event, attributes, at) => {
    model.startedAt = at;
    model.lineage.parent = attributes.parentWorkflowExecution as Lineage['parent'];
    model.lineage.continuedFrom = text(attributes.continuedExecutionRunId);
    model.lineage.initiator = text(attributes.initiator);
  },
  WORKFLOW_EXECUTION_COMPLETED: close,
  WORKFLOW_EXECUTION_FAILED: close,
  WORKFLOW_EXECUTION_TIMED_OUT: close,
  WORKFLOW_EXECUTION_CANCELED: close,
  WORKFLOW_EXECUTION_TERMINATED: close,
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: close,
  WORKFLOW_TASK_FAILED: (model, event, attributes, at) => {
    if (attributes.cause === 'RESET_WORKFLOW') {
      model.lineage.resetFrom = text(attributes.baseRunId);
      note('mark', () => 'reset')(model, event, attributes, at);
    } else note('mark', () => 'turn failed')(model, event, attributes, at);
  },
  ACTIVITY_TASK_SCHEDULED: scheduled,
  ACTIVITY_TASK_STARTED: started,
  ACTIVITY_TASK_COMPLETED: end('completed', 'scheduledEventId'),
  ACTIVITY_TASK_FAILED: end('failed', 'scheduledEventId'),
  ACTIVITY_TASK_TIMED_OUT: end('timed_out', 'scheduledEventId'),
  ACTIVITY_TASK_CANCELED: end('cancelled', 'scheduledEventId'),
  TIMER_STARTED: (model, event, attributes, at) => {
    const firesAt = at + seconds(attributes.startToFireTimeout);
    begin(model, event, at, { kind: 'timer', name: 'timer', startedAt: at, firesAt });
  },
  TIMER_FIRED: end('completed', 'startedEventId'),
  TIMER_CANCELED: end('cancelled', 'startedEventId'),
  START_CHILD_WORKFLOW_EXECUTION_INITIATED: (model, event, attributes, at) => {
    const workflowType = named(attributes.workflowType);
    const execution = { workflowId: String(attributes.workflowId), runId: null };
    begin(model, event, at, { kind: 'child', name: workflowType, workflowType, execution });
  },
  START_CHILD_WORKFLOW_EXECUTION_FAILED: end('failed', 'initiatedEventId'),
  CHILD_WORKFLOW_EXECUTION_STARTED: childStarted,
  CHILD_WORKFLOW_EXECUTION_COMPLETED: end('completed', 'initiatedEventId'),
  CHILD_WORKFLOW_EXECUTION_FAILED: end('failed', 'initiatedEventId'),
  CHILD_WORKFLOW_EXECUTION_CANCELED: end('cancelled', 'initiatedEventId'),
  CHILD_WORKFLOW_EXECUTION_TIMED_OUT: end('timed_out', 'initiatedEventId'),
  CHILD_WORKFLOW_EXECUTION_TERMINATED: end('terminated', 'initiatedEventId'),
  WORKFLOW_EXECUTION_SIGNALED: (model, event, attributes, at) => {
    if (attributes.signalName === PAUSE) paused(model, event, attributes, at);
    else if (attributes.signalName === RESUME) resumed(model, event, attributes, at);
    else note('signal', ({ signalName }) => String(signalName))(model, event, attributes, at);
  },
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: (model, event, attributes, at) => {
    const request = attributes.acceptedRequest as { input?: { name?: string } } | undefined;
    const name = text(attributes.updateName) ?? request?.input?.name ?? 'update';
    begin(model, event, at, { kind: 'update', name, startedAt: at });
  },
  WORKFLOW_EXECUTION_UPDATE_COMPLETED: end('completed', 'acceptedEventId'),
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: note('mark', () => 'stop asked for'),
  WORKFLOW_EXECUTION_PAUSED: paused,
  WORKFLOW_EXECUTION_UNPAUSED: resumed,
  MARKER_RECORDED: note('mark', ({ markerName }) => String(markerName)),
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: (model, event, attributes, at) => {
    begin(model, event, at, { kind: 'request', name: `signal ${attributes.signalName} sent`, startedAt: at });
  },
  EXTERNAL_WORKFLOW_EXECUTION_SIGNALED: end('completed', 'initiatedEventId'),
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: end('failed', 'initiatedEventId'),
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: (model, event, _attributes, at) => {
    begin(model, event, at, { kind: 'request', name: 'stop sent', startedAt: at });
  },
  EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: end('completed', 'initiatedEventId'),
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: end('failed', 'initiatedEventId'),
};

export function take(model: Model, event: HistoryEvent): void {
  TAKERS[event.eventTypeName]?.(model, event, attributesOf(event), Date.parse(event.eventTime));
}

/** What an event is about, in a word or two. */
export function subjectOf(event: HistoryEvent): string {
  const attributes = attributesOf(event);
  const subjects = [
    attributes.stepName,
    attributes.signalName,
    attributes.updateName,
    named(attributes.workflowType),
    attributes.workflowId,
    attributes.timerId === undefined ? undefined : `timer ${attributes.timerId}`,
    attributes.markerName,
    attributes.cause,
    attributes.reason,
  ];
  return subjects.filter((each) => typeof each === 'string' && each !== '').join(' · ');
}
