/**
 * Spans of attempts, made in the worker that makes the attempt: what the code of a step does under OpenTelemetry, itself or
 * by a library, is told under them. Without an SDK in the worker nothing here is called, and whoever gives out attempts
 * can tell of them instead.
 */
import type { Tracer } from '@opentelemetry/api';
import type { AttemptOutcome, TracedRun } from '../engine.js';
import { api, hasSdk } from './api.js';
import { contextOfRun } from './run-context.js';

export interface Attempt extends TracedRun {
  workflowType: string;
  stepName: string;
  attempt: number;
}

export type { AttemptOutcome } from '../engine.js';

export interface AttemptSpan {
  /** Calls it as a part of the attempt. */
  within<T>(call: () => T): T;
  /** `errorType` is the name of what it failed with. */
  end(outcome: AttemptOutcome, errorType?: string): void;
}

export interface AttemptSpans {
  begin(attempt: Attempt, startedAt?: number): AttemptSpan;
}

/** Undefined when no SDK is there to take spans. */
export function registeredAttemptSpans(): AttemptSpans | undefined {
  if (!api || !hasSdk(api)) return undefined;
  const tracer = api.trace.getTracer('perdure');
  return { begin: (attempt, startedAt) => begin(api!, tracer, attempt, startedAt) };
}

function begin(
  { context, trace, SpanKind, SpanStatusCode }: NonNullable<typeof api>,
  tracer: Tracer,
  attempt: Attempt,
  startTime?: number,
): AttemptSpan {
  const parent = contextOfRun(api!, attempt);
  const span = tracer.startSpan(
    `step ${attempt.workflowType}#${attempt.stepName}`,
    { kind: SpanKind.CONSUMER, startTime, attributes: attributesOf(attempt) },
    parent,
  );
  return {
    within: (call) => context.with(trace.setSpan(parent, span), call),
    end(outcome, errorType) {
      span.setAttribute('perdure.step.outcome', outcome);
      if (errorType !== undefined) span.setAttribute('error.type', errorType);
      if (outcome !== 'completed') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
      span.end();
    },
  };
}

/** Names of what ran. What callers and user code gave is in none of them. */
function attributesOf({
  workflowId,
  runId,
  workflowType,
  stepName,
  attempt,
}: Attempt): Record<string, string | number> {
  return {
    'perdure.workflow.id': workflowId,
    'perdure.run.id': runId,
    'perdure.workflow.type': workflowType,
    'perdure.step.name': stepName,
    'perdure.step.attempt': attempt,
  };
}
