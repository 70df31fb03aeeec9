/** Calls as parts of distributed traces: a span for each where an SDK takes them, and the trace that what it causes belongs to. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readTraceContext, type TraceContext } from '../core/trace-context.js';
import { type RequestSpan, registeredSpans } from '../telemetry/index.js';
import type { CallQueue } from './door/call-queue.js';

const open = new WeakMap<FastifyRequest, RequestSpan>();

/** Makes a span of every request that `app` gets, if anybody takes spans. */
export function traceRequests(
  app: FastifyInstance,
  queue: CallQueue,
  routeOf: (request: FastifyRequest) => string,
): void {
  const spans = registeredSpans();
  if (!spans) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const span = spans.request(request.method, request.headers, queue.waitedMs(request.raw));
    open.set(request, span);
    span.within(done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    open.get(request)?.end(routeOf(request), reply.raw.statusCode);
    done();
  });
}

/**
 * What the call makes others do is a part of the call's own span. Without an SDK here the caller's is passed on as it came:
 * the workers may have one.
 */
export function callerTrace(request: FastifyRequest): TraceContext | undefined {
  const { traceparent, tracestate } = request.headers;
  return open.get(request)?.context ?? readTraceContext(traceparent, tracestate);
}
