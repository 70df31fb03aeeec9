/**
 * Whose trace a run or a message belongs to, in the header where Temporal's own OpenTelemetry interceptors have it, so that
 * clients and workers of other makers take part in the same trace. Runs in Node and inside Temporal's workflow sandbox.
 */
import { readTraceContext, type TraceContext } from '../../core/trace-context.js';
import { decoded, type ProtoPayload, toPayload } from './payload.js';

type Fields = Record<string, ProtoPayload>;

const TRACER_HEADER = '_tracer-data';

export function tracerHeader(context: TraceContext | undefined): Fields {
  return context ? { [TRACER_HEADER]: toPayload(JSON.stringify(context)) } : {};
}

export function traceContextIn(fields: Readonly<Fields> | null | undefined): TraceContext | undefined {
  const carrier = decoded(fields?.[TRACER_HEADER]);
  if (typeof carrier !== 'object' || carrier === null) return undefined;
  const { traceparent, tracestate } = carrier as Record<string, unknown>;
  return readTraceContext(traceparent, tracestate);
}

/** As the attribute of an event. */
export function tracedBy(fields: Readonly<Fields> | null | undefined): { traceContext?: TraceContext } {
  const traceContext = traceContextIn(fields);
  return traceContext ? { traceContext } : {};
}
