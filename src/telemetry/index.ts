/** What the service tells about itself: metrics for Prometheus, spans for OpenTelemetry, failures for the log. */
export { unheardSdk } from './api.js';
export { FailureLog } from './failure-log.js';
export { Metrics, type MetricsOptions } from './metrics.js';
export { type RequestSpan, registeredSpans, type Spans } from './spans.js';
