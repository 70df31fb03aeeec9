/**
 * A run as a tree, from its history: pure, and fed event by event (growth.ts), so that a long history is read in pages of
 * which each is let go before the next.
 */
import type { HistoryEvent } from '../core/history/event.js';
import type { Failure } from '../core/history/failure.js';
import { serializeError } from '../core/history/serialized-error.js';
import { invariant } from '../core/invariant.js';
import { STATUS_OF_CLOSE_EVENT } from '../core/run/run.js';
import type { StatusOf, Trace, TraceNode } from './nodes.js';

export class TraceTree {
  #trace: Trace | undefined;
  /** Nodes that a later event ends, by the event that began them. */
  readonly #open = new Map<number, TraceNode>();
  /** The events that scheduled steps, by the ids of those. */
  readonly #stepIds = new Map<string, number>();

  constructor(readonly runId: string) {}

  /** The tree of all events so far. */
  get trace(): Trace {
    invariant(this.#trace, `the history of run ${this.runId} does not begin with its start`);
    return this.#trace;
  }

  start(trace: Trace): void {
    this.#trace = trace;
  }

  /** Something that has no end of its own. */
  record(node: TraceNode): void {
    this.trace.children.push(node);
  }

  begin(event: HistoryEvent, node: TraceNode): void {
    this.record(node);
    this.#open.set(event.id, node);
    if (event.type === 'ACTIVITY_TASK_SCHEDULED') this.#stepIds.set(event.attributes.activityId, event.id);
  }

  /** The step of that id, if it has not ended. */
  openStep(activityId: string): Extract<TraceNode, { kind: 'step' }> | undefined {
    const eventId = this.#stepIds.get(activityId);
    const node = eventId === undefined ? undefined : this.#open.get(eventId);
    return node?.kind === 'step' ? node : undefined;
  }

  /** The node that event `eventId` began and that has not ended. */
  node<K extends TraceNode['kind']>(kind: K, eventId: number): Extract<TraceNode, { kind: K }> {
    const node = this.#open.get(eventId);
    invariant(node?.kind === kind, `run ${this.runId} ends a ${kind} that event ${eventId} did not begin`);
    return node as Extract<TraceNode, { kind: K }>;
  }

  end<K extends SpanKind>(
    kind: K,
    eventId: number,
    at: number,
    status: StatusOf<K>,
    failure?: Failure,
  ): Extract<TraceNode, { kind: K }> {
    const node = this.node(kind, eventId);
    this.#open.delete(eventId);
    finish(node as TraceNode & Span, at, status);
    if (failure && 'error' in node) node.error = serializeError(failure);
    return node;
  }

  close({ type, at }: HistoryEvent, failure?: Failure, continuedAsRunId: string | null = null): void {
    const status = STATUS_OF_CLOSE_EVENT[type];
    invariant(status, `${type} closes no run`);
    finish(this.trace, at, status);
    if (failure) this.trace.error = serializeError(failure);
    this.trace.continuedAsRunId = continuedAsRunId;
  }
}

type SpanKind = Extract<TraceNode, Span>['kind'];

interface Span {
  status: string;
  startedAt: number;
  endedAt: number | null;
  durationMs: number | null;
}

function finish(node: Span, at: number, status: string): void {
  node.status = status;
  node.endedAt = at;
  node.durationMs = at - node.startedAt;
}
