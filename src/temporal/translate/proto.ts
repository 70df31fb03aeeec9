/** Numbers, times and durations of Temporal's protocol as the rest of the service has them. */
import type { google, temporal } from '@temporalio/proto';
import type { EventTypeName } from '../../core/history/event.js';
import type { RetryPolicy } from '../../core/run/retry.js';
import type { ClosedStatus, RunStatus } from '../../core/run/run.js';

/** A 64-bit integer, as the protocol's library gives it. */
type Integer = number | { toString(): string } | null | undefined;

export function int(value: Integer): number {
  return typeof value === 'number' ? value : Number(value?.toString() ?? 0);
}

/** Whole milliseconds; what comes after them is cut off. */
export function instant(time: google.protobuf.ITimestamp | null | undefined): number {
  return int(time?.seconds) * 1_000 + Math.floor((time?.nanos ?? 0) / 1_000_000);
}

/** Undefined for none: Temporal writes a duration that was not given as zero. */
export function durationMs(duration: google.protobuf.IDuration | null | undefined): number | undefined {
  const ms = int(duration?.seconds) * 1_000 + Math.ceil((duration?.nanos ?? 0) / 1_000_000);
  return ms === 0 ? undefined : ms;
}

export function toDuration(ms: number): google.protobuf.IDuration {
  const seconds = Math.floor(ms / 1_000);
  return { seconds: seconds as never, nanos: Math.round((ms - seconds * 1_000) * 1_000_000) };
}

export function toTimestamp(at: number): google.protobuf.ITimestamp {
  return toDuration(at);
}

export function retryFromProto(policy: temporal.api.common.v1.IRetryPolicy): RetryPolicy {
  const initialIntervalMs = durationMs(policy.initialInterval) ?? 1_000;
  return {
    initialIntervalMs,
    backoffCoefficient: policy.backoffCoefficient ?? 2,
    maximumIntervalMs: durationMs(policy.maximumInterval) ?? initialIntervalMs * 100,
    maximumAttempts: policy.maximumAttempts ?? 0,
    nonRetryableErrorTypes: policy.nonRetryableErrorTypes ?? [],
  };
}

export function retryToProto(policy: RetryPolicy): temporal.api.common.v1.IRetryPolicy {
  return {
    initialInterval: toDuration(policy.initialIntervalMs),
    backoffCoefficient: policy.backoffCoefficient,
    // Temporal refuses a policy whose longest pause is shorter than its first.
    maximumInterval: toDuration(Math.max(policy.maximumIntervalMs, policy.initialIntervalMs)),
    maximumAttempts: policy.maximumAttempts,
    nonRetryableErrorTypes: policy.nonRetryableErrorTypes,
  };
}

/** By the number in Temporal's WorkflowExecutionStatus enum. A paused run is open. */
const STATUSES: readonly RunStatus[] = [
  'running',
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'continued_as_new',
  'timed_out',
  'running',
];

export function statusFromProto(status: number | null | undefined): RunStatus {
  return STATUSES[status ?? 0] ?? 'running';
}

/** As Temporal's query language spells it. */
export const STATUS_IN_QUERIES: Record<RunStatus, string> = {
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Canceled',
  terminated: 'Terminated',
  continued_as_new: 'ContinuedAsNew',
  timed_out: 'TimedOut',
} satisfies Record<ClosedStatus | 'running', string>;

export type ProtoEvent = temporal.api.history.v1.IHistoryEvent;

type Camel<T extends string> = T extends `${infer Head}_${infer Rest}`
  ? `${Lowercase<Head>}${Capitalize<Camel<Rest>>}`
  : Lowercase<T>;
export type Proto<T extends EventTypeName> = NonNullable<
  ProtoEvent[`${Camel<T>}EventAttributes` & keyof ProtoEvent]
>;
