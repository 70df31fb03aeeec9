/**
 * Whose distributed trace something belongs to, in the words of W3C Trace Context. A caller's is kept with the run, so that
 * what the run does, for months and on any machine, is told under the call that began it.
 */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`. */
  traceparent: string;
  tracestate?: string;
}

export interface SpanIds {
  traceId: string;
  spanId: string;
  flags: number;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ONLY_ZEROS = /^0+$/;
/** What every party of a trace has to pass on; a longer one is left out as a whole. */
const MAX_TRACESTATE_LENGTH = 512;
const PRINTABLE = /^[\x20-\x7e]+$/;

/** Undefined for anything that is none: the standard wants a broken one ignored, not refused. */
export function readTraceContext(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const ids = typeof traceparent === 'string' ? spanIdsOf({ traceparent }) : undefined;
  if (!ids) return undefined;
  const context: TraceContext = { traceparent: traceparentOf(ids) };
  if (typeof tracestate !== 'string' || tracestate.length > MAX_TRACESTATE_LENGTH) return context;
  if (PRINTABLE.test(tracestate)) context.tracestate = tracestate;
  return context;
}

export function spanIdsOf({ traceparent }: TraceContext): SpanIds | undefined {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (ONLY_ZEROS.test(traceId!) || ONLY_ZEROS.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, flags: Number.parseInt(flags!, 16) };
}

export function traceparentOf({ traceId, spanId, flags }: SpanIds): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}
