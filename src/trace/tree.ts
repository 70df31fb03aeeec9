/**
 * A run as a tree, from its history: pure, and fed event by event, so that a long history is read in pages of which
 * each is let go before the next. What each event does to the tree stands in growth.ts.
 */
import type { EventTypeName, HistoryEvent } from '../core/event.js';
import type { Failure } from '../core/failure.js';
import { invariant } from '../core/invariant.js';
import { STATUS_OF_CLOSE_EVENT } from '../core/run.js';
import { serializeError } from '../core/serialized-error.js';
import { GROWTH } from './growth.js';
import { iso, type StatusOf, type Trace, type TraceNode } from './nodes.js';

export class TraceTree {
  #trace: Trace | undefined;
  /** Nodes that a later event ends, by the event that began them. */
  readonly #open = new Map<number, TraceNode>();

  constructor(readonly runId: string) {}

  /** The tree of all events so far. */
  get trace(): Trace {
    invariant(this.#trace, `the history of run ${this.runId} does not begin with its start`);
    return this.#trace;
  }

  add(event: HistoryEvent): void {
    // What is not in the table says nothing about the run.
    const grow = (GROWTH as Partial<Record<EventTypeName, Grow<EventTypeName>>>)[event.type];
    grow?.(this, event);
  }

  // ── what events do ───────────────────────────────────────────────────────────────────────────────

  start(trace: Trace): void {
    this.#trace = trace;
  }

  /** Something that has no end of its own. */
  record(node: TraceNode): void {
    this.trace.children.push(node);
  }

  begin({ id }: HistoryEvent, node: TraceNode): void {
    this.record(node);
    this.#open.set(id, node);
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

export type Grow<T extends EventTypeName> = (
  tree: TraceTree,
  event: Extract<HistoryEvent, { type: T }>,
) => void;

type SpanKind = Extract<TraceNode, Span>['kind'];

interface Span {
  status: string;
  startedAt: string;
  endedAt: string | null;
  durationMs: number | null;
}

function finish(node: Span, at: number, status: string): void {
  node.status = status;
  node.endedAt = iso(at);
  node.durationMs = at - Date.parse(node.startedAt);
}
