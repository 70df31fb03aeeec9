import { type Span, type SpanOptions, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { afterEach, describe, expect, it } from 'vitest';
import { Metrics, registeredSpans } from './index.js';

const RUN = { workflowId: 'order-1', runId: '01890000-0000-7000-8000-0123456789ab' };

afterEach(() => trace.disable());

describe('metrics', () => {
  it('have a bounded number of labels', async () => {
    const metrics = new Metrics();
    for (let i = 0; i < 2_000; i++) metrics.observer.runStarted!(`type${i}`);
    const lines = (await metrics.text())
      .split('\n')
      .filter((line) => line.startsWith('perdure_runs_started'));
    expect(lines).toHaveLength(501);
    expect(lines.at(-1)).toBe('perdure_runs_started_total{workflow_type="other"} 1500');
  });
});

describe('spans', () => {
  it('are not made where nobody takes them', () => {
    expect(registeredSpans()).toBeUndefined();
  });

  it('tell of turns, steps and calls; those of a run are one trace', () => {
    const made: Record<string, unknown>[] = [];
    trace.setGlobalTracerProvider(recorder(made));
    const spans = registeredSpans()!;
    const passedOn: string[] = [];
    const observer = spans.observing({
      turnEnded: (type) => void passedOn.push(type),
      attemptEnded: (step) => void passedOn.push(step),
    });
    observer.turnEnded!('order', 5, RUN);
    observer.attemptEnded!('order#pay', 'failed', 70, RUN);
    let isWithin = false;
    const request = spans.request('GET', {});
    request.within(() => {
      isWithin = true;
    });
    request.end('/workflow/:id/status', 503);

    expect(isWithin).toBe(true);
    expect(passedOn).toEqual(['order', 'order#pay']);
    const run = { 'perdure.workflow.id': 'order-1', 'perdure.run.id': RUN.runId };
    const traceId = '018900000000700080000123456789ab';
    expect(made).toMatchObject([
      { name: 'turn order', traceId, attributes: run, isEnded: true },
      {
        name: 'step order#pay',
        traceId,
        attributes: { ...run, 'perdure.step.outcome': 'failed' },
        status: { code: 2 },
        isEnded: true,
      },
      {
        name: 'GET /workflow/:id/status',
        attributes: { 'http.route': '/workflow/:id/status', 'http.response.status_code': 503 },
        status: { code: 2 },
        isEnded: true,
      },
    ]);
  });
});

/** As much of an SDK as takes down what is asked of it. */
function recorder(made: Record<string, unknown>[]): TracerProvider {
  const startSpan: Tracer['startSpan'] = (name, options: SpanOptions = {}, context) => {
    const attributes: Record<string, unknown> = { ...options.attributes };
    const record: Record<string, unknown> = {
      name,
      attributes,
      traceId: context && trace.getSpanContext(context)?.traceId,
    };
    made.push(record);
    const span = {
      setAttribute: (key: string, value: unknown) => Object.assign(attributes, { [key]: value }),
      setAttributes: (more: object) => Object.assign(attributes, more),
      setStatus: (status: object) => Object.assign(record, { status }),
      updateName: (newName: string) => Object.assign(record, { name: newName }),
      end: () => Object.assign(record, { isEnded: true }),
    };
    return span as unknown as Span;
  };
  return { getTracer: () => ({ startSpan }) as unknown as Tracer };
}
