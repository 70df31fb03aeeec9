/**
 * What the process as a whole uses, as prom-client tells it of every Node program, with a look of our own after the event loop:
 * prom-client's wakes a process that has nothing to do a hundred times a second, and tells the time between two looks with the delay.
 *
 * How late a timer is tells the delay. What keeps the loop for less than the time between two looks is seen in proportion to that.
 */
import { createHistogram } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { monotonicMs } from '../core/clock.js';

/** A look by a process that sleeps costs it 0.2 ms, for caches that are cold. */
const LOOK_EVERY_MS = 500;
const NS_PER_MS = 1e6;
const NS_PER_SECOND = 1e9;

/** The longest time that prom-client's own look can be told to wait. It cannot be told to leave it. */
const HARDLY_EVER_MS = 2 ** 31 - 1;

/** Once per process, by whoever owns it. */
export function watchProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: HARDLY_EVER_MS });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith('nodejs_eventloop_lag_')) registry.removeSingleMetric(name);
  watchEventLoop(registry);
}

/** Each collection tells what was seen since the one before. */
function watchEventLoop(registry: Registry): void {
  const lateness = createHistogram();
  let latestNs = 1;
  let dueAt = monotonicMs() + LOOK_EVERY_MS;
  setInterval(() => {
    const now = monotonicMs();
    latestNs = Math.max(1, Math.round((now - dueAt) * NS_PER_MS));
    lateness.record(latestNs);
    dueAt = now + LOOK_EVERY_MS;
  }, LOOK_EVERY_MS).unref();

  // Registered first, so that it sets the others before they are read.
  new Gauge({
    name: 'nodejs_eventloop_lag_seconds',
    help: 'The delay of the event loop at the last look',
    registers: [registry],
    collect() {
      this.set(latestNs / NS_PER_SECOND);
      // Whoever collects twice between two looks gets the same twice.
      if (lateness.count === 0) return;
      for (const { gauge, read } of ofAll) gauge.set(read() / NS_PER_SECOND);
      lateness.reset();
    },
  });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `nodejs_eventloop_lag${name}_seconds`, help, registers: [registry] });
  const ofAll = [
    { gauge: gauge('_min', 'The least delay of the event loop'), read: () => lateness.min },
    { gauge: gauge('_max', 'The longest delay of the event loop'), read: () => lateness.max },
    { gauge: gauge('_mean', 'The mean delay of the event loop'), read: () => lateness.mean },
    { gauge: gauge('_stddev', 'The standard deviation of its delays'), read: () => lateness.stddev },
    ...[50, 90, 99].map((percent) => ({
      gauge: gauge(
        `_p${percent}`,
        `The delay of the event loop that ${percent} % of the looks found at most`,
      ),
      read: () => lateness.percentile(percent),
    })),
  ];
}
