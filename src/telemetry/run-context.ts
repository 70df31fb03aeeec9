/** The trace that the spans of a run belong to, as a context for new spans. */
import type { Context, SpanContext } from '@opentelemetry/api';
import { spanIdsOf, type TraceContext, traceparentOf } from '../core/trace-context.js';
import type { TracedRun } from '../engine.js';
import { api } from './api.js';

/**
 * The spans of a run are children of the call that began it. Without one they are a trace of their own, whose id is the
 * run's id without its hyphens, so that whoever has the run finds it.
 */
export function contextOfRun({ trace, ROOT_CONTEXT }: NonNullable<typeof api>, run: TracedRun): Context {
  return trace.setSpanContext(
    ROOT_CONTEXT,
    (run.traceContext && spanContextOf(run.traceContext)) ?? own(run.runId),
  );
}

function own(runId: string): SpanContext {
  const hex = runId.replaceAll('-', '');
  return { traceId: hex, spanId: hex.slice(16), traceFlags: 1, isRemote: true };
}

export function spanContextOf(context: TraceContext): SpanContext | undefined {
  const ids = spanIdsOf(context);
  if (!ids || !api) return undefined;
  const { traceId, spanId, flags: traceFlags } = ids;
  const traceState = context.tracestate === undefined ? undefined : api.createTraceState(context.tracestate);
  return { traceId, spanId, traceFlags, isRemote: true, ...(traceState && { traceState }) };
}

export function traceContextOf(span: SpanContext): TraceContext {
  const { traceId, spanId, traceFlags: flags, traceState } = span;
  const tracestate = traceState?.serialize();
  return { traceparent: traceparentOf({ traceId, spanId, flags }), ...(tracestate && { tracestate }) };
}
