/**
 * OpenTelemetry spans, through the API package alone: an SDK that the operator loads before the program gets them.
 *
 * 1. Whether there is one is asked once, at the start; without it nothing here is called.
 * 2. The turns and steps of a run are one trace, whose id is the run's id without its hyphens: the run outlives the
 *    call that started it, and whoever has the run finds its trace.
 * 3. Attributes name what ran. What callers and user code gave is in none of them.
 */
import {
  context,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { EngineObserver, RunRef } from '../engine.js';

/** Undefined when no SDK is there to take spans. */
export function registeredSpans(): Spans | undefined {
  const provider = trace.getTracerProvider();
  const nobody = new ProxyTracerProvider().getDelegate();
  const isRegistered = !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== nobody;
  return isRegistered ? new Spans(trace.getTracer('perdure')) : undefined;
}

export interface RequestSpan {
  /** Calls it as part of the request. */
  within(call: () => void): void;
  end(route: string, status: number): void;
}

export class Spans {
  constructor(private readonly tracer: Tracer) {}

  /** An observer that makes spans of what it is told, and passes it on. */
  observing(next: EngineObserver): EngineObserver {
    return {
      ...next,
      turnEnded: (workflowType, durationMs, run) => {
        next.turnEnded?.(workflowType, durationMs, run);
        this.#ended(`turn ${workflowType}`, durationMs, run).end();
      },
      attemptEnded: (step, outcome, durationMs, run) => {
        next.attemptEnded?.(step, outcome, durationMs, run);
        const span = this.#ended(`step ${step}`, durationMs, run);
        span.setAttribute('perdure.step.outcome', outcome);
        if (outcome !== 'completed') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
        span.end();
      },
    };
  }

  request(method: string, headers: Record<string, unknown>): RequestSpan {
    const parent = propagation.extract(context.active(), headers);
    const attributes = { 'http.request.method': method };
    const span = this.tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    return {
      within: (call) => context.with(trace.setSpan(parent, span), call),
      end: (route, status) => {
        span.updateName(`${method} ${route}`);
        span.setAttributes({ 'http.route': route, 'http.response.status_code': status });
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  /** A span that ends now and began `durationMs` ago. */
  #ended(name: string, durationMs: number, { workflowId, runId }: RunRef): Span {
    const hex = runId.replaceAll('-', '');
    const run = { traceId: hex, spanId: hex.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
    return this.tracer.startSpan(
      name,
      {
        kind: SpanKind.CONSUMER,
        startTime: Date.now() - durationMs,
        attributes: { 'perdure.workflow.id': workflowId, 'perdure.run.id': runId },
      },
      trace.setSpanContext(context.active(), run),
    );
  }
}
