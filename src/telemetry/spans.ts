/**
 * OpenTelemetry spans of the server, through the API package alone: an SDK that the operator loads before the program gets
 * them.
 *
 * 1. Whether there is one is asked once, at the start; without it nothing here is called.
 * 2. The turns and steps of a run belong to the trace of the call that began it (run-context.ts). Callers of signals and
 *    updates have traces of their own, which the turns that take them link to.
 * 3. An attempt has one span. It is made where the attempt is made if there is an SDK, else here; and here, too, when it was
 *    lost with its worker.
 * 4. Attributes name what ran. What callers and user code gave is in none of them.
 */
import type { Tracer } from '@opentelemetry/api';
import type { TraceContext } from '../core/trace-context.js';
import type { EngineObserver } from '../engine.js';
import { api, hasSdk } from './api.js';
import { registeredAttemptSpans } from './attempt-spans.js';
import { contextOfRun, spanContextOf, traceContextOf } from './run-context.js';

export interface RequestSpan {
  /** Calls it as part of the request. */
  within(call: () => void): void;
  /** What the request makes others do is a part of this. */
  readonly context: TraceContext;
  end(route: string, status: number): void;
}

export interface Spans {
  /** An observer that makes spans of what it is told, and passes it on. */
  observing(next: EngineObserver): EngineObserver;
  /** Of a request that has waited for so long before it is handled now. */
  request(method: string, headers: Record<string, unknown>, waitedMs: number): RequestSpan;
}

/** Undefined when no SDK is there to take spans. */
export function registeredSpans(): Spans | undefined {
  if (!api || !hasSdk(api)) return undefined;
  const tracer = api.trace.getTracer('perdure');
  return {
    observing: (next) => observing(api!, tracer, next),
    request: (method, headers, waitedMs) => requestSpan(api!, tracer, method, headers, waitedMs),
  };
}

type Api = NonNullable<typeof api>;

function observing(api: Api, tracer: Tracer, next: EngineObserver): EngineObserver {
  const attempts = registeredAttemptSpans()!;
  return {
    ...next,
    turnEnded(turn) {
      next.turnEnded?.(turn);
      const { run, workflowType, durationMs, causes } = turn;
      const { workflowId, runId } = run;
      tracer
        .startSpan(
          `turn ${workflowType}`,
          {
            kind: api.SpanKind.CONSUMER,
            startTime: Date.now() - durationMs,
            attributes: { 'perdure.workflow.id': workflowId, 'perdure.run.id': runId },
            links: causes.flatMap((cause) => {
              const context = spanContextOf(cause);
              return context ? [{ context }] : [];
            }),
          },
          contextOfRun(api, run),
        )
        .end();
    },
    attemptEnded(ended) {
      next.attemptEnded?.(ended);
      const { run, workflowType, stepName, attempt, outcome, durationMs, hasSpan } = ended;
      if (hasSpan && outcome !== 'lost') return;
      attempts
        .begin({ ...run, workflowType, stepName, attempt }, Date.now() - durationMs)
        .end(outcome, ended.errorType);
    },
  };
}

function requestSpan(
  api: Api,
  tracer: Tracer,
  method: string,
  headers: Record<string, unknown>,
  waitedMs: number,
): RequestSpan {
  const { context, propagation, trace, SpanKind, SpanStatusCode } = api;
  const parent = propagation.extract(context.active(), headers);
  const attributes = { 'http.request.method': method };
  // The SDK's own clock is finer, where there was no wait to speak of.
  const startTime = waitedMs >= 1 ? Date.now() - waitedMs : undefined;
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes, startTime }, parent);
  return {
    within: (call) => context.with(trace.setSpan(parent, span), call),
    get context() {
      return traceContextOf(span.spanContext());
    },
    end: (route, status) => {
      span.updateName(`${method} ${route}`);
      span.setAttributes({ 'http.route': route, 'http.response.status_code': status });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}
