/**
 * What Prometheus collects. Owns the names of the metrics and that they stay few.
 *
 * 1. Labels come from what is deployed (workflow types, steps, routes), never from what callers send, and there are at
 *    most so many of each; the rest is counted as `other`.
 * 2. What is a state and not an event is read when somebody collects, not kept up to date in between.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import { add, amountOf, type Decimal, decimalText, ZERO } from '../core/cost/decimal.js';
import type { EngineLoad, EngineObserver } from '../engine.js';
import { Histogram } from './histogram.js';
import { watchProcess } from './process-metrics.js';

/** Values of one label. */
const MAX_LABEL_VALUES = 500;
/** Of what is spent, over its three labels; beyond there is one for each currency at most. */
const MAX_COST_SERIES = 1_000;

const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2];
const COMMIT_RUNS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const TURN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const STEP_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

export interface MetricsOptions {
  /** Also what the process as a whole uses: once per process, by whoever owns it. */
  ofProcess?: boolean;
}

export class Metrics {
  readonly #registry = new Registry();
  #observer: EngineObserver | undefined;
  readonly #requests: Histogram;
  readonly #routes = new BoundedNames();

  constructor({ ofProcess = false }: MetricsOptions = {}) {
    if (ofProcess) watchProcess(this.#registry);
    this.#requests = this.#histogram(
      'http_request_duration_seconds',
      'Time to the end of an answer; streams are left out',
      REQUEST_SECONDS,
      ['method', 'route', 'status'],
    );
  }

  /** To be given to an engine in this process; one elsewhere has metrics of its own, and none of these. */
  get observer(): EngineObserver {
    this.#observer ??= this.#engineObserver();
    return this.#observer;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  requestEnded(method: string, route: string, status: number, durationMs: number): void {
    this.#requests.observe([method, this.#routes.bound(route), String(status)], durationMs / 1000);
  }

  watchServer(server: { openStreams(): number; waitingCalls(): number }): void {
    this.#gauge('streams_open', 'Streams of histories that are open', () => server.openStreams());
    this.#gauge('calls_waiting', 'Calls that wait for a run or an event', () => server.waitingCalls());
  }

  watchEngine(load: () => EngineLoad): void {
    this.#gauge('workers', 'Workers that are connected', () => load().workers);
    this.#gauge('runs_in_memory', 'Runs whose state is kept in memory', () => load().runsInMemory);
    this.#gauge(
      'runs_damaged',
      'Runs set apart since what is stored of them is damaged',
      () => load().runsDamaged,
    );
    this.#gauge(
      'runs_held_back',
      'Open runs whose next turn no connected code can make',
      () => load().runsHeldBack,
    );
    this.#gaugeByKind('queue_depth', 'Tasks that wait for a worker', () => {
      const { turnsQueued, stepsQueued } = load();
      return { turn: turnsQueued, step: stepsQueued };
    });
    this.#gaugeByKind('tasks_under_way', 'Tasks that workers have', () => {
      const { turnsUnderWay, stepsUnderWay } = load();
      return { turn: turnsUnderWay, step: stepsUnderWay };
    });
  }

  watchWorkers(restarts: () => number): void {
    new Counter({
      name: 'perdure_worker_restarts_total',
      help: 'Worker processes of this machine that were replaced because they ended',
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(restarts());
      },
    });
  }

  #engineObserver(): EngineObserver {
    const types = new BoundedNames();
    const steps = new BoundedNames();
    const started = this.#counter('runs_started_total', 'Runs that were started', ['workflow_type']);
    const closed = this.#counter('runs_closed_total', 'Runs that have closed', ['workflow_type', 'status']);
    const turns = this.#histogram(
      'turn_duration_seconds',
      'From handing a turn out to its answer',
      TURN_SECONDS,
      ['workflow_type'],
    );
    const attempts = this.#histogram(
      'step_attempt_duration_seconds',
      'From the start of an attempt to its end',
      STEP_SECONDS,
      ['step', 'outcome'],
    );
    const spent = this.#spentCounter();
    const commitTime = this.#histogram('commit_duration_seconds', 'Time of a commit', COMMIT_SECONDS);
    const commitRuns = this.#histogram('commit_runs', 'Runs that share a commit', COMMIT_RUNS);
    return {
      runStarted: (type) => started.inc({ workflow_type: types.bound(type) }),
      runClosed: (type, status) => closed.inc({ workflow_type: types.bound(type), status }),
      turnEnded: ({ workflowType, durationMs }) =>
        turns.observe([types.bound(workflowType)], durationMs / 1000),
      attemptEnded: ({ workflowType, stepName, outcome, durationMs }) =>
        attempts.observe([steps.bound(`${workflowType}#${stepName}`), outcome], durationMs / 1000),
      spent: (type, costs) => {
        for (const { kind, currency, amount } of costs) spent(types.bound(type), kind, currency, amount);
      },
      committed: (runs, ms) => {
        commitTime.observe([], ms / 1000);
        commitRuns.observe([], runs);
      },
    };
  }

  /** Kept as exact decimals: many small amounts would not add up as the numbers that Prometheus is told. */
  #spentCounter(): (workflowType: string, kind: string, currency: string, amount: string) => void {
    const currencies = new BoundedNames();
    const sums = new Map<string, { labels: Record<string, string>; sum: Decimal }>();
    new Counter({
      name: 'perdure_cost_total',
      help: 'What steps have said that they spent',
      labelNames: ['workflow_type', 'kind', 'currency'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels, sum } of sums.values()) this.inc(labels, Number(decimalText(sum)));
      },
    });
    return (workflowType, kind, currency, amount) => {
      // Three labels with all their values would be more series than anybody can keep: what is least looked at goes first.
      const finerToCoarser = [
        [workflowType, kind],
        [workflowType, 'other'],
        ['other', 'other'],
      ] as const;
      for (const [type, of] of finerToCoarser) {
        const labels = { workflow_type: type, kind: of, currency: currencies.bound(currency) };
        const key = Object.values(labels).join(' ');
        const known = sums.get(key);
        if (!known && sums.size >= MAX_COST_SERIES && type !== 'other') continue;
        sums.set(key, { labels, sum: add(known?.sum ?? ZERO, amountOf(amount)) });
        return;
      }
    };
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: `perdure_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, bounds: number[], labelNames: string[] = []): Histogram {
    return new Histogram(this.#registry, { name: `perdure_${name}`, help, bounds, labelNames });
  }

  #gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name: `perdure_${name}`,
      help,
      registers: [this.#registry],
      collect() {
        this.set(value());
      },
    });
  }

  #gaugeByKind(name: string, help: string, values: () => Record<'turn' | 'step', number>): void {
    new Gauge({
      name: `perdure_${name}`,
      help,
      labelNames: ['kind'],
      registers: [this.#registry],
      collect() {
        for (const [kind, value] of Object.entries(values())) this.set({ kind }, value);
      },
    });
  }
}

class BoundedNames {
  readonly #known = new Set<string>();

  bound(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= MAX_LABEL_VALUES) return 'other';
    this.#known.add(name);
    return name;
  }
}
