import { type Span, type SpanOptions, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { afterEach, describe, expect, it } from 'vitest';
import { costOf } from '../core/cost/cost.js';
import { Metrics, registeredSpans, unheardSdk } from './index.js';

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

  it('have what the engine has to do, each under its own name', async () => {
    const metrics = new Metrics();
    metrics.watchEngine(() => ({
      ...{ workers: 1, turnsQueued: 2, stepsQueued: 3, turnsUnderWay: 4, stepsUnderWay: 5 },
      ...{ runsInMemory: 6, runsDamaged: 7, runsHeldBack: 8 },
    }));
    const lines = (await metrics.text()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'perdure_workers 1',
        'perdure_queue_depth{kind="turn"} 2',
        'perdure_queue_depth{kind="step"} 3',
        'perdure_tasks_under_way{kind="turn"} 4',
        'perdure_tasks_under_way{kind="step"} 5',
        'perdure_runs_in_memory 6',
        'perdure_runs_damaged 7',
        'perdure_runs_held_back 8',
      ]),
    );
  });
});

describe('the metric of what is spent', () => {
  const spent = (kind: string, currency: string, amount: string) => [
    { ...costOf({ amount, kind, currency }) },
  ];
  const seriesOf = async (metrics: Metrics) =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('perdure_cost_total{'));

  it('adds up exactly, by type, kind and currency', async () => {
    const metrics = new Metrics();
    for (let i = 0; i < 3; i++) metrics.observer.spent!('order', spent('llm', 'USD', '0.1'));
    metrics.observer.spent!('order', spent('llm', 'EUR', '2'));
    metrics.observer.spent!('order', spent('other', 'USD', '4'));
    expect(await seriesOf(metrics)).toEqual([
      'perdure_cost_total{workflow_type="order",kind="llm",currency="USD"} 0.3',
      'perdure_cost_total{workflow_type="order",kind="llm",currency="EUR"} 2',
      'perdure_cost_total{workflow_type="order",kind="other",currency="USD"} 4',
    ]);
  });

  it('has a bounded number of series, whatever steps say, and loses no amount', async () => {
    const metrics = new Metrics();
    const letters = [...'ABCDEFGHIJ'];
    const currencies = letters.flatMap((a) => letters.map((b) => `X${a}${b}`));
    let said = 0;
    for (let type = 0; type < 5; type++) {
      for (let kind = 0; kind < 20; kind++) {
        for (const currency of currencies) {
          metrics.observer.spent!(`type${type}`, spent(`kind${kind}`, currency, '1'));
          said++;
        }
      }
    }
    const series = await seriesOf(metrics);
    expect(series.length).toBeLessThanOrEqual(1_000 + currencies.length);
    expect(series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)).toBe(said);
  });
});

describe('spans', () => {
  it('are not made where nobody takes them', () => {
    expect(registeredSpans()).toBeUndefined();
    expect(unheardSdk()).toBeUndefined();
  });

  it('that would get lost since an SDK was loaded with another copy of the API are warned of', () => {
    const registered = Symbol.for('opentelemetry.js.api.1');
    const everywhere = globalThis as Record<symbol, unknown>;
    const before = everywhere[registered];
    // An API takes nothing from one that is older than itself.
    everywhere[registered] = { version: '1.0.1', trace: {} };
    try {
      expect(registeredSpans()).toBeUndefined();
      expect(unheardSdk()).toMatch(/loaded with @opentelemetry\/api 1\.0\.1.*npm ls @opentelemetry\/api/);
    } finally {
      everywhere[registered] = before;
    }
  });

  it('are taken by an SDK of the same copy, and nothing is warned of', () => {
    trace.setGlobalTracerProvider(recorder([]));
    expect(registeredSpans()).toBeDefined();
    expect(unheardSdk()).toBeUndefined();
  });

  it('tell of turns, steps and calls; those of a run are one trace', () => {
    const made: Record<string, unknown>[] = [];
    trace.setGlobalTracerProvider(recorder(made));
    const spans = registeredSpans()!;
    const passedOn: string[] = [];
    const observer = spans.observing({
      turnEnded: ({ workflowType }) => void passedOn.push(workflowType),
      attemptEnded: ({ stepName }) => void passedOn.push(stepName),
    });
    const attempt = { workflowType: 'order', stepName: 'pay', attempt: 2, durationMs: 70, run: RUN };
    observer.turnEnded!({ workflowType: 'order', durationMs: 5, run: RUN, causes: [] });
    observer.attemptEnded!({ ...attempt, outcome: 'failed', hasSpan: false });
    // Its worker has told of this one.
    observer.attemptEnded!({ ...attempt, outcome: 'failed', hasSpan: true });
    let isWithin = false;
    const request = spans.request('GET', {}, 0);
    request.within(() => {
      isWithin = true;
    });
    request.end('/workflow/:id/status', 503);

    expect(isWithin).toBe(true);
    expect(passedOn).toEqual(['order', 'pay', 'pay']);
    const run = { 'perdure.workflow.id': 'order-1', 'perdure.run.id': RUN.runId };
    const traceId = '018900000000700080000123456789ab';
    expect(made).toMatchObject([
      { name: 'turn order', traceId, attributes: run, isEnded: true },
      {
        name: 'step order#pay',
        traceId,
        attributes: { ...run, 'perdure.step.outcome': 'failed', 'perdure.step.attempt': 2 },
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

  it('of calls begin when these came', () => {
    const made: Record<string, unknown>[] = [];
    trace.setGlobalTracerProvider(recorder(made));
    const before = Date.now();
    registeredSpans()!.request('GET', {}, 5_000);
    registeredSpans()!.request('GET', {}, 0.01);
    const [waited, handledAtOnce] = made.map(({ startTime }) => startTime);
    expect(waited).toBeGreaterThanOrEqual(before - 5_000);
    expect(waited).toBeLessThanOrEqual(Date.now() - 5_000);
    expect(handledAtOnce).toBeUndefined();
  });
});

/** As much of an SDK as takes down what is asked of it. */
function recorder(made: Record<string, unknown>[]): TracerProvider {
  const startSpan: Tracer['startSpan'] = (name, options: SpanOptions = {}, context) => {
    const attributes: Record<string, unknown> = { ...options.attributes };
    const record: Record<string, unknown> = {
      name,
      attributes,
      startTime: options.startTime,
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
