/**
 * The shape of a trace: a run as a tree, in the words of docs/traces.md. What is written here is what readers of the
 * files rely on; a change that they would notice raises `TRACE_VERSION`.
 */
import type { CostRecord } from '../core/cost/cost.js';
import type { Total } from '../core/cost/sums.js';
import type { ParentClosePolicy } from '../core/history/event.js';
import type { SerializedError } from '../core/history/serialized-error.js';
import type { ClosedStatus } from '../core/run/run.js';
import type { Payload } from '../core/values/json.js';

export const TRACE_VERSION = 2;

/** A user's value. It is JSON text already and goes into the trace as it is, unread. */
export class RawJson {
  constructor(readonly text: Payload) {}
}

export type Value = RawJson | null;

interface Execution {
  workflowId: string;
  runId: string | null;
}

/** How long something took: from one instant to another, in epoch milliseconds, or still under way when the run closed. */
interface Span<Status extends string> {
  status: Status | 'open';
  startedAt: number;
  endedAt: number | null;
  durationMs: number | null;
}

interface Node<Kind extends string> {
  kind: Kind;
  /** The event of the history that it began with, as the history spells it. */
  eventId: string;
}

/** One attempt of a step, as far as the history knows it: the last one, and why the one before it failed. */
export interface AttemptNode {
  attempt: number;
  /** Null where the history records no more than that it ended. */
  startedAt: number | null;
  endedAt: number | null;
  error: SerializedError | null;
}

export interface StepNode
  extends Node<'step'>,
    Span<'completed' | 'failed' | 'timed_out' | 'cancelled' | 'cancel_requested'> {
  name: string;
  type: string;
  input: Value;
  output: Value;
  error: SerializedError | null;
  attempts: AttemptNode[];
  /** What all its attempts have spent; absent where they said nothing. */
  costs?: StepCosts;
}

export interface StepCosts {
  totals: Total[];
  usage: Record<string, number>;
  records: CostRecord[];
}

export interface TimerNode extends Node<'timer'>, Span<'fired' | 'cancelled'> {
  timerId: string;
  /** What it was set to. */
  timeoutMs: number;
}

export interface ChildNode
  extends Node<'child'>,
    Span<Exclude<ClosedStatus, 'continued_as_new'> | 'not_started'>,
    Execution {
  name: string;
  catalog: string;
  parentClosePolicy: ParentClosePolicy;
  input: Value;
  output: Value;
  error: SerializedError | null;
}

export interface SignalNode extends Node<'signal'> {
  name: string;
  receivedAt: number;
  input: Value;
  /** The workflow that sent it; null for a call of the API. */
  from: Execution | null;
}

export interface UpdateNode extends Node<'update'>, Span<'completed' | 'failed'> {
  name: string;
  updateId: string;
  input: Value;
  output: Value;
  error: SerializedError | null;
}

export interface CancelRequestNode extends Node<'cancel_request'> {
  receivedAt: number;
  cause: string;
}

/** A signal that the run sent to another one. */
export interface SentSignalNode extends Node<'sent_signal'>, Span<'delivered' | 'failed'>, Execution {
  name: string;
  input: Value;
  error: SerializedError | null;
}

/** A cancellation that the run asked another one for, such as a child. */
export interface SentCancelNode extends Node<'sent_cancel'>, Span<'delivered' | 'failed'>, Execution {
  error: SerializedError | null;
}

export interface MarkerNode extends Node<'marker'> {
  name: string;
  recordedAt: number;
  details: unknown;
}

/** A turn that did not count: its code threw, or no longer fits the history, or the run was reset there. */
export interface FailedTurnNode extends Node<'failed_turn'> {
  failedAt: number;
  cause: string;
  error: SerializedError;
}

export type TraceNode =
  | StepNode
  | TimerNode
  | ChildNode
  | SignalNode
  | UpdateNode
  | CancelRequestNode
  | SentSignalNode
  | SentCancelNode
  | MarkerNode
  | FailedTurnNode;

/** The states of a kind of node. */
export type StatusOf<K extends TraceNode['kind']> = Extract<TraceNode, { kind: K; status: string }>['status'];

export interface Trace extends Span<ClosedStatus>, Execution {
  version: typeof TRACE_VERSION;
  kind: 'workflow';
  name: string;
  catalog: string;
  runId: string;
  /** Of the workflow's own retry policy. */
  attempt: number;
  firstRunId: string;
  /** The run before this one, over continue-as-new and retry. */
  continuedFromRunId: string | null;
  /** The run that this one led to. */
  continuedAsRunId: string | null;
  parent: Execution | null;
  input: Value;
  output: Value;
  error: SerializedError | null;
  /** In the order in which they began. */
  children: TraceNode[];
}
